"""Cells as users type them: "fog:3", "fog:1-5", "fog:1,3", "fog", "fog,snow", "all:3"."""

import re
from collections.abc import Sequence

from hardy.errors import InputError
from hardy.suites import SEVERITIES, editions, load
from hardy.suites import edition as find_edition
from hardy.suites.cells import GROUPS, Cell


def typed_cells(names: str | Sequence[str], severity: int | None) -> list[Cell]:
    """Each cell once; without `severity` each word says its own, and a name alone means all."""
    typed = names.split() if isinstance(names, str) else names
    words = [part for word in typed for part in _between_commas(word)]
    if not words:
        raise InputError('expected a corruption such as "fog:3", got no name at all')
    suite = load("imagenet_c")
    groups = dict(zip(GROUPS, (suite.counted, suite.validation, suite.corruptions), strict=True))
    cells: list[Cell] = []
    for word in words:
        name, colon, text = word.partition(":") if severity is None else (word, "", "")
        said: Sequence[int] | None = None if severity is None else (severity,)
        if colon or word.isdecimal():
            said = _severities(text, word)
        some = groups.get(name, (name,))
        cells += [Cell(one, level) for one in some for level in said or _all_of(one)]
    return list(dict.fromkeys(cells))


def _all_of(name: str) -> Sequence[int]:
    """The severities that a corruption has: some have one."""
    having = editions(name)
    return find_edition(having[0]).severities(name) if having else SEVERITIES


def _between_commas(word: str) -> list[str]:
    """The corruptions in a word: "fog:1,3,snow:2" is two, as a comma parts them only where a letter
    follows, or nothing. Where some have severities and others none, it is an error: nobody knows
    whose they are."""
    parts = [part for part in map(_bare, re.split(r",(?=[a-zA-Z]|$)", word)) if part]
    alone = [part for part in parts if ":" not in part]
    if alone and len(alone) < len(parts):
        _, _, text = next(part for part in parts if ":" in part).partition(":")
        apart = " ".join(f"{part}:{text}" if part in alone else part for part in parts)
        raise InputError(
            f'expected severities for each corruption or for none, such as "{apart}", got "{word}"'
        )
    return parts


def _bare(part: str) -> str:
    """Without a comma too many."""
    return part.strip(",")


def _severities(text: str, word: str) -> Sequence[int]:
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch("([0-9])(?:-([0-9]))?", part)
        between = range(int(ends[1]), int(ends[2] or ends[1]) + 1) if ends else ()
        if not between:
            raise InputError(
                f'expected NAME:SEVERITY such as fog:3, fog:1-5, fog:1,3 or all:3, got "{word}"'
            )
        found += between
    return found
