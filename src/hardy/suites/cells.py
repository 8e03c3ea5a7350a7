"""Cells: one corruption at one severity, or one perturbation at one level."""

from collections.abc import Iterable
from typing import NamedTuple

from hardy.errors import InputError
from hardy.registry import unknown
from hardy.suites import editions_of
from hardy.suites.suite import Suite

# What `only` may say instead of names.
GROUPS = ("counted", "validation", "all")


class Cell(NamedTuple):
    name: str
    level: int  # the severity of a corruption, the difficulty of a noise sequence

    def __str__(self) -> str:
        return f"{self.name}:{self.level}"


CLEAN = Cell("clean", 0)  # no corruption: what the others are measured against
IS_CLEAN = f"{CLEAN.name}/"  # how the ids of clean images begin that lie beside shifted ones
NONE = "none"  # what a model is trained with that sees no corruption


def levels(suite: Suite, name: str) -> tuple[int, ...]:
    """All levels a name has in a suite."""
    if suite.kind == "corruptions":
        return suite.edition.severities(name)
    if suite.shift is not None:
        return (1,)
    return tuple(range(1, len(suite.edition.steps(name).levels) + 1))


def cell_folder(suite: Suite, cell: Cell) -> str:
    """`fog/3`; of sequences `tilt`, and `shot_noise_2` for the harder levels of noise."""
    if suite.kind == "corruptions":
        return f"{cell.name}/{cell.level}"
    return cell.name if cell.level == 1 else f"{cell.name}_{cell.level}"


def choose_cells(
    suite: Suite, only: Iterable[str] = ("counted",), severities: Iterable[int] | None = None
) -> tuple[Cell, ...]:
    """The cells of a suite, in its own order; by default all levels of what counts."""
    groups = {
        "counted": suite.counted,
        "validation": suite.validation,
        "all": suite.counted + suite.validation,
    }
    wanted: set[str] = set()
    for word in only:
        if word not in groups and word not in groups["all"]:
            if suite.kind == "corruptions" and (having := editions_of(word)) is not None:
                raise _other_suites(word, suite, having)
            raise unknown(f"{suite.kind[:-1]} of {suite.name}", word, (*groups["all"], *GROUPS))
        wanted.update(groups.get(word, (word,)))
    if not wanted:
        one = suite.kind.removesuffix("s")
        raise InputError(f"expected at least one {one} of {suite.name}, got no name at all")
    chosen = None if severities is None else set(severities)
    cells = tuple(
        Cell(name, level)
        for name in groups["all"]
        if name in wanted
        for level in levels(suite, name)
        if chosen is None or level in chosen
    )
    if not cells or (chosen or set()) - {cell.level for cell in cells}:
        there = sorted({level for name in wanted for level in levels(suite, name)})
        got = ", ".join(map(str, sorted(chosen or ()))) or "none"
        raise InputError(
            f"expected severities among {', '.join(map(str, there))} for "
            f"{', '.join(sorted(wanted))}, got {got}"
        )
    return cells


def _other_suites(corruption: str, suite: Suite, having: tuple[str, ...]) -> InputError:
    """The error for a corruption that there is, and that a suite has not."""
    where = f", with edition {' or '.join(having)}" if having else ", with its [constants]"
    return InputError(
        f'no corruption of {suite.name} "{corruption}": it is one, but this suite has others '
        f"({', '.join(suite.corruptions)}); list it as counted in a suite file of your own{where}"
    )
