"""A result file against the suite that it names: only what we have can stand on a leaderboard."""

from __future__ import annotations

from collections.abc import Iterable

from hardy.errors import InputError
from hardy.registry import unknown
from hardy.scoring.result import Result
from hardy.suites import load, names
from hardy.suites.cells import levels


def check_submitted(result: Result, where: str) -> None:
    """Other contents under the suite's name would be ranked as if they were the suite."""
    around = result.scores[result.headline[0]].circumstances
    if around.suite not in names():
        raise unknown(f"suite of {where}: circumstances.suite", around.suite, names())
    suite = load(around.suite)
    there = suite.counted + suite.validation
    possible = {level for name in there for level in levels(suite, name)}
    for field, got, wanted in (
        ("version", around.version, suite.version),
        ("suite_hash", around.suite_hash, suite.content_hash()),
    ):
        if got != wanted:
            raise InputError(
                f"{where}: circumstances.{field}: expected {wanted}, as {suite.name} is here, got "
                f"{got}; score the run again with this version of hardy"
            )
    seen = result.model["seen_corruptions"] or ()
    _check_names(seen, there, f"{where}: model.seen_corruptions")
    for place, score in enumerate(result.scores.values()):
        spot = f"{where}: scores[{place}]"
        _check_names(score.circumstances.names, there, f"{spot}.names")
        for level in score.circumstances.levels:
            if level not in possible:
                raise InputError(
                    f"{spot}.levels: expected among {sorted(possible)}, got {level}; correct the "
                    "file"
                )


def _check_names(given: Iterable[str], there: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in there:
            raise unknown(f"name in {where}:", name, there)
