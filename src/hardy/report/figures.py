"""All figures of a section, and the one that somebody asks for by name."""

from __future__ import annotations

from collections.abc import Callable

from hardy.errors import InputError
from hardy.registry import unknown
from hardy.report import attack_section as attacks
from hardy.report import reliability as calibration
from hardy.report.bars import bars
from hardy.report.figure import Figure
from hardy.report.gathered import Report, Section
from hardy.report.scatter import scatter
from hardy.report.severity import curves, heat

# What `hardy plot` calls them, in the order of the page.
KINDS: dict[str, Callable[[Section], list[Figure]]] = {
    "bars": lambda section: bars(section) if section.kind == "corruptions" else [],
    "stability": lambda section: bars(section) if section.kind == "perturbations" else [],
    "curves": curves,
    "heat": heat,
    "scatter": scatter,
    "calibration": calibration.figures,
    "noise": attacks.figures,
}


def figures(section: Section) -> list[Figure]:
    """All that the section has numbers for, in the order of the page."""
    return [figure for make in KINDS.values() for figure in make(section)]


def choose_figure(
    report: Report, kind: str, *, suite: str | None = None, score: str | None = None
) -> Figure:
    """The one that `hardy plot` draws: of the first section and score unless others are named."""
    if kind not in KINDS:
        raise unknown("kind of plot", kind, tuple(KINDS))
    sections = [part for part in report.sections if suite in (None, part.suite.name)]
    if not sections:
        raise unknown("suite among these runs", str(suite), _suites(report))
    found = [figure for part in sections for figure in KINDS[kind](part)]
    if not found:
        there = [one for one, make in KINDS.items() if any(make(part) for part in sections)]
        raise InputError(
            f"expected runs that the plot {kind} can be made of, got "
            f"{', '.join(part.suite.name for part in sections)}; these have {', '.join(there)}"
        )
    if score is None:
        return found[0]
    named = [figure for figure in found if figure.score == score]
    if not named:
        raise unknown(f"score of the plot {kind}", score, tuple(one.score for one in found))
    return named[0]


def _suites(report: Report) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.suite.name for part in report.sections))
