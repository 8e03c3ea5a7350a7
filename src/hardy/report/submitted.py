"""A result file against the suite that it names: only what we have can stand on a leaderboard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hardy.errors import InputError
from hardy.registry import unknown
from hardy.report.words import count
from hardy.scoring.result import Result
from hardy.suites import load, names
from hardy.suites.cells import levels


def on_our_suite(result: Result) -> bool:
    return _suite(result) in names()


def left_out(results: Iterable[Result]) -> list[str]:
    """What is not shown, a sentence for each suite: what is in one of somebody's own, we cannot
    know."""
    counts = Counter(_suite(one) for one in results if not on_our_suite(one))
    return [
        f"{count(number, 'result')} on {suite}, which is no suite of Hardy's: suites of one's own "
        "cannot be compared here"
        for suite, number in sorted(counts.items())
    ]


def _suite(result: Result) -> str:
    return result.scores[result.headline[0]].circumstances.suite


def check_submitted(result: Result, where: str) -> None:
    """Other contents under the suite's name would be ranked as if they were the suite."""
    if not on_our_suite(result):
        return
    around = result.scores[result.headline[0]].circumstances
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
