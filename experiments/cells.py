"""How figures and settings stand in the tables of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.about import seen_by
from experiments.compared import scores_of
from experiments.kept import Records
from hardy.scores.paired_scores import Comparison
from hardy.scores.score import Score

# Of the common recipe: what differs from it stands among the settings.
USUAL = {"antialias": 1, "seed": 0}


def row(name: str, records: Records, columns: Iterable[str]) -> list[str]:
    scores, seen = scores_of(name, records), seen_by(records[name])
    shown = [scores.get(column) for column in columns]
    return [figure(score) + (score.mark(seen) if score else "") for score in shown]


def figure(score: Score | Comparison | None) -> str:
    return "-" if score is None else score.figure()


def setting(record: Mapping[str, Any]) -> str:
    other = {k: v for k, v in record["recipe"].items() if v != USUAL.get(k, v)}
    return ", ".join(f"{name} {value}" for name, value in (record["settings"] | other).items())
