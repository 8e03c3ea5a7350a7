"""Words: numbers and names as sentences have them, titles of sections, and how runs were made."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hardy.metrics.metric import OUTLIERS, SHIFTS
from hardy.models.model import DefenceFacts
from hardy.report.gathered import ModelEntry, Section
from hardy.scores.columns import AnyMetric
from hardy.scores.paired_scores import cut_at_word, differences
from hardy.scores.part_of_suite import published_left_out
from hardy.scores.score import Circumstances, Score

_LONGEST = 36  # letters of a name inside a plot
_NAMED = 10  # models that a sentence names
_NUMBERS = "different numbers of images"  # as `differences` begins
_LONGEST_TITLE = 120  # letters of what tells a section apart
LABELS = {"git_commit": "Git commit that was checked out where it was run"}
NOT_STATED = "not stated"
OWN_CLASSES = "(own classes)"  # how they end of models whose images have classes of their own
ADAPTED = "(adapted)"  # how the names of models end that take statistics of the test images


def spoken(name: str) -> str:
    """The name as people write it: "gaussian noise", and "rain" for noc_rain.

    Without the prefix no two names of a suite are alike, as it has either all of NOC's or none.
    """
    return name.removeprefix("noc_").replace("_", " ")


def short(name: str, longest: int = _LONGEST) -> str:
    """Cut a name for legends and axes, but keep that the model is adapted. Tables have it whole."""
    if len(name) <= longest:
        return name
    end = f" {ADAPTED}" if ADAPTED in name else ""
    return f"{name[: longest - 1 - len(end)].rstrip()}…{end}"


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does: a, b and c."""
    return " and ".join(", ".join(names).rsplit(", ", 1))


def some(names: Sequence[str]) -> str:
    """Names in a sentence, or how many they are."""
    return listed(names) if len(names) <= 3 else f"{len(names)} models"


def trained_on(seen: Sequence[str] | None) -> str:
    """The corruptions that a model was trained on."""
    return NOT_STATED if seen is None else ", ".join(map(spoken, seen)) or "none"


def defended(defence: str | None, adapted: bool) -> str:
    """Say what stands before a model, and first of all whether it adapts to the test images."""
    if not adapted:
        return defence or "none"
    return f"adapted to the test images: {defence or NOT_STATED}"


def defence_name(defences: Sequence[DefenceFacts], adapted: bool) -> str:
    """The defence as one types it: "clahe" or "clahe+bn_adapt:16"."""
    if not defences:
        return NOT_STATED if adapted else "none"
    return short("+".join(one.label for one in defences))


def left_out(why: str) -> str:
    """A further sentence of a caption, where published numbers are not shown."""
    return f" {published_left_out(why)}." if why else ""


def not_compared(some: bool) -> str:
    """A further sentence of a caption, where some models are adapted."""
    return " Models adapted to the test images are not compared here." if some else ""


def number(value: float) -> str:
    """One decimal, or two for numbers below 1."""
    return f"{value:.1f}" if abs(value) >= 1 or value == 0 else f"{value:.2f}"


def with_unit(value: float, score: Score) -> str:
    return number(value) + (f" {score.unit}" if score.unit else "")


def axis_title(metric: AnyMetric) -> str:
    return metric.title + (f" ({metric.unit})" if metric.unit else "")


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def section_name(section: Section) -> str:
    """The short title of a section, for links."""
    suite = section.suite
    name = f"{suite.title} {suite.kind}, own classes" if section.own_classes else suite.title
    return name if section.of == 1 else f"{name}, {section.number} of {section.of}"


def _without_hashes(apart: Sequence[str]) -> list[str]:
    """What keeps runs apart, for readers, who can do nothing with hashes. Of other numbers of
    images the sets are others anyway."""
    numbers = any(one.startswith(_NUMBERS) for one in apart)
    return [
        re.sub(r" \([0-9a-f]+… and [0-9a-f]+…\)", "", one)
        for one in apart
        if not (numbers and "image sets" in one)
    ]


def ways_left_out(drawn: Section, others: Sequence[Section]) -> str:
    """A further sentence for a picture of one section, where its suite has others."""
    if not others:
        return ""
    told = []
    for section in others:
        labels = [entry.label for entry in section.entries]
        names = [*labels[:_NAMED], *([f"{len(labels) - _NAMED} more"] * (len(labels) > _NAMED))]
        why = differences(drawn.entries[0].main, section.entries[0].main)
        told.append(f"{listed(names)} ({'; '.join(_without_hashes(why))})")
    return (
        f" Drawn is 1 of {1 + len(others)} ways in which models were run on {drawn.suite.title}, "
        f"on {count(drawn.circumstances.images, 'image')}. Left out: {'; '.join(told)}."
    )


def section_title(section: Section) -> str:
    """The title of a section; where a suite has several, with what it is of, and what else is
    different from the first."""
    if section.of == 1:
        return section_name(section)
    around = section.circumstances
    whole = f" of {around.total:,}" if around.total else ""
    what = f"{around.images:,}{whole} images"
    if section.suite.shift is None:
        what += f", {count(len(around.names), around.kind[:-1])}"
    told_already = [one for one in section.apart if one.startswith(_NUMBERS)]
    unlike = [one for one in _without_hashes(section.apart) if one not in told_already]
    told = cut_at_word(spoken("; ".join([what, *unlike])), _LONGEST_TITLE)
    return f"{section_name(section)}: {told}"


class Described(NamedTuple):
    facts: list[tuple[str, str]]
    sessions: list[list[tuple[str, str]]]


def describe_run(entry: ModelEntry) -> Described:
    run, around = entry.run, entry.main.circumstances
    details = run.details
    whole = f" of {around.total:,}" if around.total else ""
    natural = around.kind in (SHIFTS, OUTLIERS)
    facts = [
        ("Model", run.model),
        ("Model identity", str(details["model_identity"])),
        ("Preprocessing", str(details["preprocessing"])),
        ("Precision", str(details["precision"])),
        *([] if run.prompts is None else [("Prompts", run.prompts)]),
        ("Defence", defended(run.defence, run.adapted)),
        ("Corruptions it was trained on", trained_on(run.seen)),
        ("Suite", f"{around.suite}, version {around.version}"),
        ("Suite contents", around.suite_hash),
        ("Images", f"{around.images:,}{whole}"),
        ("Images' ids, labels, pixels", around.images_hash),
        ("Recipe", around.recipe),
        ("Images as shown" if natural else "Corrupted images", around.made),
        (
            "Labels",
            "the suite's classes" if details["labels"] == "suite" else "the images' own classes",
        ),
        *_cells(around),
        ("Reference", around.reference or "none"),
        ("Intervals", f"95 %, {entry.main.resampling}"),
    ]
    return Described(facts, [_lines(session) for session in details["sessions"] if session])


def _cells(around: Circumstances) -> list[tuple[str, str]]:
    """What was done to the images; natural ones are shown as they are."""
    if around.kind in (SHIFTS, OUTLIERS):
        return []
    levels = "severity" if around.kind == "corruptions" else "difficulty"
    names = listed([spoken(name) for name in around.names])
    return [(around.kind.capitalize(), f"{names}; {levels} {', '.join(map(str, around.levels))}")]


def _lines(session: Mapping[str, Any]) -> list[tuple[str, str]]:
    said = {name: _text(value) for name, value in session.items() if value is not None}
    return [(LABELS.get(name, spoken(name).capitalize()), text) for name, text in said.items()]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(one)}" for name, one in value.items())
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)
