"""Figures: plain data that Plotly and Matplotlib both draw, and the registry of those we have.

A figure is one function under `@figure`. It gets a section of a report, which holds models whose
scores were made alike, and yields what to show of them:

    @figure(needs=(CORRUPTIONS,))
    def bars(section):
        \"""Each corruption by itself.\"""
        yield Figure(...)

The page draws that data by Plotly and `hardy plot` by Matplotlib, so a figure has both forms at
once; where none of the four kinds fits, it brings both as a `Form`. It is registered by a row of
`FIGURES`, or by an entry point of a plug-in. A figure across suites, `part="store"`, gets the whole
report instead of a section.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hardy.errors import InputError
from hardy.metrics.statistics import LEAST
from hardy.registry import Registry, Row, unknown
from hardy.report.words import ways_left_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hardy.report.gathered import Section, StoreReport

Value = float | int | str
Position = Literal["top right", "top left", "bottom right", "bottom left"]

SHOWN = 6  # models that are drawn at first; the legend shows the others


@dataclass(frozen=True)
class Series:
    """The numbers of one model, or of a reference or published one, in one panel."""

    name: str
    x: tuple[Value, ...]
    y: tuple[Value, ...]
    style: int | None = None  # the model's number; None: a reference or a published model
    low: tuple[float, ...] | None = None  # the interval of the numbers
    high: tuple[float, ...] | None = None
    x_low: tuple[float, ...] | None = None  # of points, the interval of x
    x_high: tuple[float, ...] | None = None
    labels: tuple[str, ...] | None = None  # written beside the points; empty: none
    positions: tuple[Position, ...] = ()  # where, as seen from the point
    hover: tuple[str, ...] | None = None
    mark: int = 0  # of published models: which of the grey markers
    shown: bool = True  # False: in the legend only, until it is clicked
    faint: bool = False  # the model's lesser line, such as clean beside corrupted

    @property
    def key(self) -> str:
        """Tells series apart: names alone may have been shortened to the same letters."""
        return f"{'-' if self.style is None else self.style} {self.name}"


@dataclass(frozen=True)
class Panel:
    """One pair of axes. A heat map has rows of numbers as `cells`, all others have series."""

    title: str
    series: tuple[Series, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    cells: tuple[tuple[float, ...], ...] | None = None
    note: str = ""  # a second line, such as the area under each curve
    unit: str = "%"  # of lines; "": figures without one
    diagonal: bool = False
    curve: tuple[tuple[float, float], ...] = ()  # behind the points: what is expected
    line: float | None = None  # across the values: the reference
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None


class Form(NamedTuple):
    """How a figure draws each of its panels itself, where none of the kinds can show it."""

    page: Callable[[Panel], tuple[list[dict[str, Any]], dict[str, Any]]]  # Plotly: traces, layout
    paper: Callable[[Axes, Panel], None]  # Matplotlib


@dataclass(frozen=True)
class Figure:
    """Panels of one kind with shared axis titles, and the sentence that says what to see."""

    name: str  # for ids: no two figures of a page may share it
    kind: Literal["bars", "lines", "points", "heat"] | Form
    score: str  # what it shows: "mCE", "T5D"
    title: str
    sees: str
    x_title: str
    y_title: str
    panels: tuple[Panel, ...]
    size: Literal["large", "medium", "small"] = "large"  # of the panels
    has_legend: bool = True

    def legend(self) -> list[Series]:
        """Each series once, as the first panel that has it shows it."""
        found: dict[tuple[int | None, str], Series] = {}
        for panel in self.panels if self.has_legend else ():
            for one in panel.series:
                found.setdefault((one.style, one.name), one)
        return list(found.values())

    def leaves_out(self) -> str:
        """A further sentence for a picture, which has no legend to click on."""
        own = [one for one in self.legend() if one.style is not None]
        drawn = sum(one.shown for one in own)
        return "" if drawn == len(own) else f" Drawn are the first {drawn} of {len(own)} models."


def reaches(
    values: Sequence[Value], low: Sequence[float] | None, high: Sequence[float] | None
) -> tuple[list[float], list[float]] | None:
    """How far intervals go below and above their values."""
    if low is None or high is None:
        return None
    return (
        [max(0.0, float(value) - down) for value, down in zip(values, low, strict=True)],
        [max(0.0, up - float(value)) for value, up in zip(values, high, strict=True)],
    )


class Need(NamedTuple):
    """Data that a section must have for a figure to be drawn."""

    what: str  # in words, for `hardy plot`
    there: Callable[[Any], bool]  # of a section, or of the report for a figure across suites
    note: Callable[[Section], str] = lambda section: ""  # what the page says where it is not there


def _no_clean_accuracy(section: Section) -> str:
    """Tell readers of a section on sequences why it lacks a plot that other sections have."""
    if section.kind != "perturbations":
        return ""
    return (
        "No plot against clean accuracy: these models have no run on the corruptions of the same "
        "images in this store, and sequences have no clean images of their own."
    )


CORRUPTIONS = Need("runs on corruptions", lambda section: section.kind == "corruptions")
SEQUENCES = Need("runs on sequences", lambda section: section.kind == "perturbations")
SEVERITIES = Need(
    "errors at several severities",
    lambda section: section.suite.graded and any(entry.grid for entry in section.entries),
)
EFFECTIVE = Need(
    "accuracies on a natural shift and on clean images of its classes, and enough published ones",
    lambda section: any(section.effective()),
    lambda section: section.no_line(),
)
CONFIDENCES = Need(
    "confidences on corruptions",
    lambda section: any(entry.calibration for entry in section.entries),
)
CLEAN_ACCURACY = Need(
    "the accuracy on clean images",
    lambda section: any(entry.clean_error for entry in section.entries),
    _no_clean_accuracy,
)
SEVERAL_SUITES = Need(
    f"{LEAST} models or more that were run on the same two suites, and differ on both",
    lambda report: bool(report.correlations),
)
TRAININGS = Need("folders of `hardy train`", lambda report: bool(report.trainings))
TYPES = Need(
    "accuracies on seen and unseen subtypes of broad types",
    lambda section: any(
        section.suite.shift is not None
        and section.suite.shift.types is not None
        and entry.clean_error is not None
        for entry in section.entries
    ),
)
ATTACKS = Need(
    "noise that `hardy eval --attack` learned",
    lambda section: any(entry.attacks for entry in section.entries),
)


# Of a section of the page, before all sections, or after them.
_Part = Literal["scores", "attacks", "store", "training"]
_WHOLE = ("store", "training")  # made of the whole report


@dataclass(frozen=True)
class FigureKind:
    """A function from a section, or a report, to figures, what it needs, and where they stand."""

    make: Callable[[Any], Iterable[Figure]]
    needs: tuple[Need, ...]
    part: _Part

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.make.__doc__)

    def __call__(self, shown: Section | StoreReport) -> list[Figure]:
        """The figures; none where something is missing that they need."""
        return [] if self.missing(shown) else list(self.make(shown))

    def missing(self, shown: Section | StoreReport) -> list[Need]:
        return [need for need in self.needs if not need.there(shown)]


def figure(
    *, needs: tuple[Need, ...] = (), part: _Part = "scores"
) -> Callable[[Callable[[Any], Iterable[Figure]]], FigureKind]:
    """Make a function a kind of figure; its docstring's first sentence is what lists say of it."""
    return lambda make: FigureKind(make, needs, part)


# What `hardy plot` calls them, in the order of the page.
FIGURES: Registry[FigureKind] = Registry(
    "figure",
    "hardy.figures",
    of=FigureKind,
    rows={
        "agreement": Row("hardy.report.agreement:agreement"),
        "bars": Row("hardy.report.bars:bars"),
        "stability": Row("hardy.report.bars:stability"),
        "curves": Row("hardy.report.severity:curves"),
        "heat": Row("hardy.report.severity:heat"),
        "scatter": Row("hardy.report.scatter:scatter"),
        "effective": Row("hardy.report.accuracy_line:effective"),
        "subtypes": Row("hardy.report.seen_unseen:subtypes"),
        "calibration": Row("hardy.report.reliability:calibration"),
        "noise": Row("hardy.report.attack_section:noise"),
        "training": Row("hardy.report.training_curves:training"),
    },
)


def figures(section: Section, part: str | None = None) -> list[Figure]:
    """All figures that the section has data for, in the order of the page, or those of one part."""
    return [
        one
        for kind in _kinds("scores", "attacks")
        if part in (None, kind.part)
        for one in kind(section)
    ]


def figures_across(report: StoreReport, part: _Part = "store") -> list[Figure]:
    """The figures that stand before all sections, because they are of several suites; or those of
    trainings."""
    return [one for kind in _kinds(part) for one in kind(report)]


def _kinds(*parts: str) -> list[FigureKind]:
    return [kind for _, kind in FIGURES.usable() if kind.part in parts]


def notes(section: Section) -> list[str]:
    """Sentences that say why a figure is not there, where a reader may look for it."""
    kinds = _kinds("scores", "attacks")
    missing = [need for kind in kinds for need in kind.missing(section)]
    return list(dict.fromkeys(note for need in missing if (note := need.note(section))))


def choose_figure(
    report: StoreReport, kind: str, *, suite: str | None = None, score: str | None = None
) -> Figure:
    """The figure that `hardy plot` draws: of the suite, if several have it, and of the score. Runs
    on a suite that were not made alike do not go together: those on the most images are drawn."""
    make = FIGURES[kind]
    sections = [part for part in report.sections if suite in (None, part.suite.name)]
    if not sections and (suite is not None or not report.trainings):
        suites = dict.fromkeys(part.suite.name for part in report.sections)
        raise unknown("suite among these runs", str(suite), suites)
    made: list[tuple[Section | None, Figure]]
    if make.part in _WHOLE:
        made = [(None, figure) for figure in make(report)]
    else:
        made = [(part, figure) for part in sections for figure in make(part)]
    if not made:
        there = [
            name
            for name, one in FIGURES.usable()
            if (one(report) if one.part in _WHOLE else any(map(one, sections)))
        ]
        needs = " and ".join(need.what for need in make.needs)
        raise InputError(
            f"expected runs that the plot {kind} can be made of{needs and f': {needs}'}, got "
            f"{', '.join(part.suite.name for part in sections) or 'trainings alone'}; these have "
            f"{', '.join(there) or 'none'}"
        )
    found = [(part, figure) for part, figure in made if score in (None, figure.score)]
    if not found:
        raise unknown(f"score of the plot {kind}", score, tuple(one.score for _, one in made))
    fitting = dict.fromkeys(part.suite.name for part, _ in found if part is not None)
    if len(fitting) > 1:
        raise InputError(
            f"expected one suite for the plot {kind}, got {', '.join(fitting)}; name one with "
            "`suite`"
        )
    # Of ways with as many images, the first has the most models.
    drawn, figure = max(found, key=lambda one: one[0].circumstances.images if one[0] else 0)
    if drawn is None:
        return figure
    others = [
        part for part in sections if part.suite.name == drawn.suite.name and part is not drawn
    ]
    return replace(figure, sees=figure.sees + ways_left_out(drawn, others))
