"""What scores are of, if not of a whole suite, and so whether published ones stand beside them."""

from hardy.scores.score import Circumstances
from hardy.suites.suite import Suite

LEVELS = {
    "corruptions": ("severity", "severities"),
    "perturbations": ("difficulty", "difficulties"),
}


def parts_told(suite: Suite, around: Circumstances) -> list[str]:
    """What is less than the whole suite, or other than it."""
    told = []
    if around.sampled:
        told.append(f"sampled: {around.sample}")
    if around.labels == "own":
        told.append("own classes")
    if around.total:
        told.append(f"{around.images:,} of {around.total:,} images")
    if suite.shift is not None:
        return told
    if not around.names:
        return [*told, "clean images only"]
    if {*around.names} != {*suite.counted}:
        told.append(f"{len(around.names)} of {len(suite.counted)} {suite.kind}")
    if around.levels != usual_levels(suite):
        told.append(f"{LEVELS[suite.kind][0]} {', '.join(map(str, around.levels))}")
    return told


def why_apart(suite: Suite, around: Circumstances, *, mean: bool = True) -> str:
    """Say why published numbers cannot be compared with ours, or "" where they can.

    With `mean`, ours are means over corruptions, not numbers of single ones.
    """
    if around.labels == "own":
        return "these images have classes of their own"
    if not around.names:
        return "" if suite.shift else f"they are of {suite.kind}, these of clean images only"
    if around.levels != (levels := usual_levels(suite)):
        wanted, got = (", ".join(map(str, one)) for one in (levels, around.levels))
        return f"they are of the {LEVELS[suite.kind][1]} {wanted}, these of {got}"
    if mean and {*around.names} != {*suite.counted}:
        return (
            f"they are means over all {len(suite.counted)} {suite.kind}, these over "
            f"{len(around.names)}"
        )
    return ""


def published_left_out(why: str) -> str:
    """Say that published numbers are not shown, and `why`."""
    return f"Published numbers are left out: {why}"


def usual_levels(suite: Suite) -> tuple[int, ...]:
    """The levels that papers average over: all severities, or the first difficulty of sequences."""
    if suite.kind != "corruptions":
        return (1,)
    return suite.edition.severities(suite.corruptions[0])
