"""Numbers and names as sentences have them."""

from __future__ import annotations

from collections.abc import Sequence

from hardy.models.model import DefenceFacts
from hardy.scores.score import Score

LONGEST = 36  # letters of a name inside a plot
NOT_STATED = "not stated"
ADAPTED = "(adapted)"  # how the names of models end that take statistics of the test images


def spoken(name: str) -> str:
    """gaussian_noise as people write it, and noc_rain: a suite has either all of NOC's or none."""
    return name.removeprefix("noc_").replace("_", " ")


def short(name: str, longest: int = LONGEST) -> str:
    """For legends and axes; tables have the whole name. That a model is adapted stays."""
    if len(name) <= longest:
        return name
    end = f" {ADAPTED}" if ADAPTED in name else ""
    return f"{name[: longest - 1 - len(end)].rstrip()}…{end}"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(", ".join(names).rsplit(", ", 1))


def trained_on(seen: Sequence[str] | None) -> str:
    """The corruptions that a model was trained on."""
    return NOT_STATED if seen is None else ", ".join(map(spoken, seen)) or "none"


def defended(defence: str | None, adapted: bool) -> str:
    """What stands before a model; that it adapts to the images of the test comes first."""
    if not adapted:
        return defence or "none"
    return f"adapted to the test images: {defence or NOT_STATED}"


def defence_name(defences: Sequence[DefenceFacts], adapted: bool) -> str:
    """As one types it, "clahe" or "clahe+bn_adapt:16"."""
    if not defences:
        return NOT_STATED if adapted else "none"
    return short("+".join(one.label for one in defences))


def left_out(why: str) -> str:
    """A sentence more, where published numbers are not shown."""
    return f" Published numbers are left out: {why}." if why else ""


def not_compared(some: bool) -> str:
    """A sentence more, where there are models that are adapted."""
    return " Models adapted to the test images are not compared here." if some else ""


def number(value: float) -> str:
    """One decimal, and a second where the first would be all there is."""
    return f"{value:.1f}" if abs(value) >= 1 or value == 0 else f"{value:.2f}"


def with_unit(value: float, score: Score) -> str:
    return number(value) + (f" {score.unit}" if score.unit else "")


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
