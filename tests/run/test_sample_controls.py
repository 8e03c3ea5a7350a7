"""Another model's full run makes a sample more precise, or the same precision cheaper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.evaluation import evaluate
from hardy.metrics.sampled_means import Control, SampledTable
from hardy.run import sampled_run
from hardy.run.plan import ImageTimes
from hardy.scores.stored_sample import find_sample
from tests.objects import Objects
from tests.run.runs import FEW, Counting, one
from tests.suites.helpers import write_rows


class Similar(Counting):
    """A model that answers as the fake one does, but for every fourth image or so."""

    def __init__(self) -> None:
        super().__init__("fake:10")
        self.name = self.identity = "similar"

    def logits(self, images: Any, preprocessing: Any = None) -> Any:
        said = super().logits(images)
        other = images.astype(np.int64).sum(axis=(1, 2, 3)) % 4 == 0
        return np.where(other[:, None], np.roll(said, 1, axis=1), said)


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    times = ImageTimes(0.0, 1e-3, 0.0)
    monkeypatch.setattr(sampled_run, "time_few", lambda models, subject, on_device: times)
    return write_rows(tmp_path, 1500)


def test_a_full_run_of_a_similar_model_saves_predictions(many: Path, tmp_path: Path) -> None:
    how: dict[str, Any] = {"images": many, **FEW}
    alone = one(evaluate(Similar(), store=tmp_path / "alone", until=1.2, **how))
    evaluate("fake:10", store=tmp_path / "runs", **how)
    helped = one(evaluate(Similar(), store=tmp_path / "runs", until=1.2, **how))
    full = one(evaluate(Similar(), store=tmp_path / "full", **how))
    made = []
    for run in (alone, helped):
        sample = find_sample(run.stored)
        assert sample is not None
        made.append(sample.predictions[0])
        low, high = run.score()["mean error"].interval
        assert low <= full.score()["mean error"].value <= high
        assert (high - low) / 2 <= 1.2
    assert made[1] < 0.85 * made[0]
    assert "with fake:10's full run as control" in helped.score()["mean error"].resampling
    assert any("full run on the same images takes" in note for note in helped.score().notes)
    assert "control" not in alone.score()["mean error"].resampling


def test_a_run_that_is_not_whole_or_of_other_images_is_no_control(
    many: Path, tmp_path: Path
) -> None:
    evaluate("fake:10", store=tmp_path / "runs", images=many, subset=700, **FEW)
    evaluate("fake:10:1", store=tmp_path / "runs", images=many, seed=1, **FEW)
    run = one(evaluate(Similar(), store=tmp_path / "runs", images=many, until=3, **FEW))
    assert "control" not in run.score()["mean error"].resampling


@pytest.mark.parametrize("at_url", [False, True])
def test_a_run_that_is_completed_between_two_looks_becomes_a_control(
    at_url: bool, many: Path, tmp_path: Path, objects: Objects
) -> None:
    store = "s3://bucket/runs" if at_url else str(tmp_path / "runs")
    how: dict[str, Any] = {"images": many, "store": store, **FEW}
    evaluate("fake:10", subset=700, **how)
    run = one(evaluate(Similar(), until=3, **how))
    assert "control" not in run.score()["mean error"].resampling
    evaluate("fake:10", **how)
    assert "with fake:10's full run as control" in run.score()["mean error"].resampling


def test_means_with_a_control_are_unbiased_and_closer() -> None:
    """A thousand samples, from each of which the slope is estimated too."""
    rng = np.random.default_rng(0)
    hard = rng.normal(size=(2000, 1)) + rng.normal(size=(2000, 6))
    ours, theirs = ((hard + rng.normal(size=hard.shape) > edge).astype(float) for edge in (0, 0.5))
    errors: dict[bool, list[float]] = {False: [], True: []}
    weights = np.full(6, 1 / 6)
    weights[0] = 0.0
    for _ in range(1000):
        rows = rng.choice(2000, 300, replace=False)
        values = np.full((300, 6), np.nan)
        seen = (np.arange(300), 1 + np.arange(300) % 5)
        values[seen] = ours[rows][seen]
        control = Control("other", theirs[rows], theirs.mean(axis=0))
        for used in errors:
            table = SampledTable(values, 2000, None, control if used else None)
            errors[used].append(weights[1:] @ (table.means - ours.mean(axis=0))[1:])
            assert table.error_of(weights).error > 0
    plain, better = (np.array(errors[used]) for used in (False, True))
    assert better.std() < 0.9 * plain.std()
    assert abs(better.mean()) < 3 * better.std() / np.sqrt(1000)
