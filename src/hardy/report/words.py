"""Numbers and names as sentences have them."""

from __future__ import annotations

from collections.abc import Sequence

from hardy.metrics import Score

LONGEST = 36  # letters of a name inside a plot


def spoken(name: str) -> str:
    """gaussian_noise as people write it."""
    return name.replace("_", " ")


def short(name: str, longest: int = LONGEST) -> str:
    """For legends and axes; tables have the whole name."""
    return name if len(name) <= longest else f"{name[: longest - 1].rstrip()}…"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(", ".join(names).rsplit(", ", 1))


def left_out(why: str) -> str:
    """A sentence more, where published numbers are not shown."""
    return f" Published numbers are left out: {why}." if why else ""


def number(value: float) -> str:
    """One decimal, and a second where the first would be all there is."""
    return f"{value:.1f}" if abs(value) >= 1 or value == 0 else f"{value:.2f}"


def with_unit(value: float, score: Score) -> str:
    return number(value) + (f" {score.unit}" if score.unit else "")


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
