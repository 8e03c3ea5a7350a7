"""How runs were made: in a few words for a title, line by line for the end of a page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from hardy.report.gathered import Entry, Section
from hardy.report.words import count, defended, listed, short, spoken, trained_on

LONGEST = 120  # letters of what tells a section apart
LABELS = {"git_commit": "Git commit of the folder it was run in"}


def section_name(section: Section) -> str:
    """Short, for links."""
    suite = section.suite
    name = f"{suite.title} {suite.kind}, own classes" if section.own_classes else suite.title
    return name if section.of == 1 else f"{name}, {section.number} of {section.of}"


def section_title(section: Section) -> str:
    """Of several sections of a suite each says how it is unlike the first."""
    if section.of == 1:
        return section_name(section)
    around = section.circumstances
    # Hashes say nothing in a title.
    unlike = [re.sub(r" \([0-9a-f]+… and [0-9a-f]+…\)", "", one) for one in section.apart]
    what = f"{around.images:,} images, {count(len(around.names), around.kind[:-1])}"
    return f"{section_name(section)}: {short(spoken('; '.join(unlike)), LONGEST) or what}"


class Described(NamedTuple):
    facts: list[tuple[str, str]]
    sessions: list[list[tuple[str, str]]]


def describe_run(entry: Entry) -> Described:
    run, around = entry.run, entry.main.circumstances
    details = run.details
    whole = f" of {around.total:,}" if around.total else ""
    levels = "severity" if around.kind == "corruptions" else "difficulty"
    facts = [
        ("Model", run.model),
        ("Model identity", str(details["model_identity"])),
        ("Preprocessing", str(details["preprocessing"])),
        ("Precision", str(details["precision"])),
        ("Defence", defended(run.defence, run.adapted)),
        ("Corruptions it was trained on", trained_on(run.seen)),
        ("Suite", f"{around.suite}, version {around.version}"),
        ("Suite contents", around.suite_hash),
        ("Images", f"{around.images:,}{whole}"),
        ("Images' ids, labels, pixels", around.images_hash),
        ("Recipe", around.recipe),
        ("Corrupted images", around.made),
        ("Labels", f"the {'suite' if details['labels'] == 'suite' else 'images'}'s own classes"),
        (
            around.kind.capitalize(),
            f"{listed([spoken(name) for name in around.names])}; {levels} "
            f"{', '.join(map(str, around.levels))}",
        ),
        ("Reference", around.reference or "none"),
        ("Intervals", f"95 %, {entry.main.resampling}"),
    ]
    return Described(facts, [list(_lines(session)) for session in details["sessions"] if session])


def _lines(session: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (LABELS.get(name, spoken(name).capitalize()), _text(value))
        for name, value in session.items()
        if value is not None
    ]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(one)}" for name, one in value.items())
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)
