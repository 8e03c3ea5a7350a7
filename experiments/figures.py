"""The figures of the page, and those of every single corruption, as JSON."""

from __future__ import annotations

from typing import Any

from experiments.about import seen_by
from experiments.compared import differences, judge, scores_of
from experiments.kept import Records, validation_errors
from experiments.plan import TUNED, chosen
from hardy.scores.score import Score


def figures(records: Records) -> dict[str, Any]:
    """All of it without replicates and logs."""

    def plain(name: str) -> dict[str, Any]:
        left_out = ("scores", "log", "format", "name")
        about = {key: value for key, value in records[name].items() if key not in left_out}
        if "method" in about:  # what was recorded may be older, and the page says the same
            about["seen_corruptions"] = list(seen_by(about))
        if "scores" in records[name]:
            about["scores"] = {score.name: _numbers(score)
                               for score in scores_of(name, records).values()}  # fmt: skip
        return about

    return {
        "records": {name: plain(name) for name in records},
        "differences": [
            {"first_run": first, "second_run": second, **one.as_dict()}
            for (first, second), each in differences(records).items()
            for one in each.values()
        ],
        "bars": [{"what": b.what, "figures": b.figures, "holds": b.holds} for b in judge(records)],
        "chosen": {method: chosen(validation_errors(records), method) for method in TUNED},
    }


def _numbers(score: Score) -> dict[str, Any]:
    return {"value": score.value, "low": score.interval.low, "high": score.interval.high,
            "unit": score.unit, "circumstances": str(score.circumstances)}  # fmt: skip
