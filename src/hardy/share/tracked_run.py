"""What a tracker of experiments is told of a stored run, whichever tracker it is."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any, NamedTuple

from hardy.scores.cell_errors import CellError, cell_errors
from hardy.scores.result_files import result_of
from hardy.scores.run_scores import Scores
from hardy.scores.score import Score
from hardy.scores.text_tables import to_csv
from hardy.store.reader import StoredRun

_OF_THE_MACHINE = ("platform", "cpu", "gpu", "device", "git_commit")  # of a session


class TrackedTable(NamedTuple):
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def as_csv(self) -> str:
        return to_csv([dict(zip(self.columns, row, strict=True)) for row in self.rows])


class TrackedRun(NamedTuple):
    """Numbers, settings and words of one model on one suite."""

    key: str  # the same for the same run, also after it was resumed
    model: str
    suite: str  # as the names of metrics begin
    metrics: dict[str, float]
    settings: dict[str, Any]  # what stays as long as the run
    state: dict[str, Any]  # what may change when the run is resumed
    tags: list[str]
    words: list[str]  # what the main score is made of, and notes: nothing is left out quietly
    tables: dict[str, TrackedTable]
    result: str  # a result file
    report: str | None = None  # a page on this run

    @property
    def name(self) -> str:
        return f"{self.model} on {self.suite}"

    @property
    def digest(self) -> str:
        """A hash of all there is to tell."""
        return sha256(f"{self.result}{self.report or ''}".encode()).hexdigest()


def tracked(scores: Scores, report: str | None = None) -> TrackedRun:
    run = scores.run
    around = scores.headline[0].circumstances
    suite = plain(run.suite)
    tags = ["hardy", suite]
    tags += ["sampled"] if around.sampled else []
    tags += ["own classes"] if around.labels == "own" else []
    tags += ["adapted to the test images"] if run.adapted else []
    metrics = {f"{suite}/{name}": value for name, value in _numbers(scores).items()}
    tables = {"scores": _score_table(scores)}
    if cells := cell_errors(scores):
        tables["cells"] = TrackedTable(CellError._fields, [tuple(cell) for cell in cells])
    return TrackedRun(
        _key(run),
        run.model,
        suite,
        metrics,
        _settings(scores),
        _state(scores),
        tags,
        [str(scores.headline[0]), *(f"note: {note}" for note in scores.notes)],
        {f"{suite}/{name}": table for name, table in tables.items()},
        json.dumps(result_of(scores), indent=1, ensure_ascii=False) + "\n",
        report,
    )


def plain(name: str) -> str:
    """A name with letters, digits, dots, dashes and underscores only: "CE fog" is CE_fog."""
    return re.sub(r"[^A-Za-z0-9.-]+", "_", name).strip("_")


def _numbers(scores: Scores) -> dict[str, float]:
    """One number per corruption; all others with the ends of their intervals."""
    single = {score.name for some in scores.singles().values() for score in some.values()}
    found: dict[str, float] = {}
    for score in scores.values():
        name = plain(score.name)
        if score.name in single:
            found[name] = score.value
        elif score.part != "single":
            low, high = score.interval
            found |= {name: score.value, f"{name}_low": low, f"{name}_high": high}
    return found


def _score_table(scores: Scores) -> TrackedTable:
    def row(score: Score) -> tuple[Any, ...]:
        trained_on = ", ".join(score.seen(scores.run.seen))
        images = score.circumstances.images
        return (score.name, score.value, *score.interval, score.unit, images, trained_on)

    columns = ("score", "value", "low", "high", "unit", "images", "trained on")
    return TrackedTable(columns, [row(score) for score in scores.values()])


def _key(run: StoredRun) -> str:
    """A hash of the run's identity and of when it was begun: a store elsewhere has other runs."""
    started = [str(one["started"]) for one in run.details["sessions"] if one.get("started")]
    return sha256(f"{run.identity.hash()} {min(started, default='')}".encode()).hexdigest()[:16]


def _settings(scores: Scores) -> dict[str, Any]:
    identity = scores.run.identity
    return {
        "model": identity.model,
        "model_identity": identity.model_identity,
        "suite": identity.suite,
        "suite_version": identity.suite_version,
        "suite_hash": identity.suite_hash,
        "classes": identity.labels,
        "seed": identity.seed,
        "recipe": identity.recipe,
        "made": identity.made,
        "preprocessing": identity.preprocessing,
        "precision": identity.precision,
        "defence": scores.run.defence or "none",
        "run_identity": identity.hash(),
    }


def _state(scores: Scores) -> dict[str, Any]:
    """How much was scored, by which versions, on what machine."""
    around = scores.headline[0].circumstances
    last = scores.run.details["sessions"][-1]
    versions = {f"versions.{name}": text for name, text in (last.get("versions") or {}).items()}
    machine = {name: last[name] for name in _OF_THE_MACHINE if last.get(name) is not None}
    seen = scores.seen
    return {
        "images": around.images,
        "images_of": around.total or around.images,
        "images_hash": around.images_hash,
        "sampled": around.sample or "no",
        "reference": around.reference or "none",
        "resampling": scores.headline[0].resampling,
        "trained_on": "not stated" if seen is None else ", ".join(seen) or "none of the suite",
        **machine,
        **versions,
    }
