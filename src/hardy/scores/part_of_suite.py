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
        told.append("sampled")
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


def usual_levels(suite: Suite) -> tuple[int, ...]:
    """The levels that papers average over: all severities, or the first difficulty of sequences."""
    if suite.kind != "corruptions":
        return (1,)
    return suite.edition.severities(suite.corruptions[0])
