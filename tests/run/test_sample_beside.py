"""A sample in a store that has other predictions of the same model: what is scored is named, and so
is what is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hardy
from hardy.evaluation import evaluate
from hardy.run import sampled_run
from hardy.run.plan import ImageTimes
from tests.run.runs import one
from tests.suites.helpers import write_rows


@pytest.fixture
def how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    times = ImageTimes(3e-3, 1e-3, 0.0)
    monkeypatch.setattr(sampled_run, "time_few", lambda models, subject, on_device: times)
    images = write_rows(tmp_path, 400)
    return {"suite": "cifar10_c", "images": images, "store": tmp_path / "runs", "severities": [1]}


def run_of(how: dict[str, Any], *only: str, **more: Any) -> hardy.Run:
    """The run with all that the store has of it, whatever was asked for last."""
    run = one(evaluate("fake:10", only=list(only), **{**how, **more}))
    return replace(run, asked=None)


def scored(run: hardy.Run) -> tuple[str, ...]:
    return run.score().headline[0].circumstances.names


def test_complete_corruptions_are_scored_and_the_sample_beside_them_is_named(
    how: dict[str, Any], tmp_path: Path
) -> None:
    for order in (("sample", "full"), ("full", "sample")):
        own = how | {"store": tmp_path / order[0]}
        calls = {
            "sample": lambda own=own: run_of(own, "fog", until=4),
            "full": lambda own=own: run_of(own, "contrast", "brightness"),
        }
        runs = [calls[name]() for name in order]
        scores = runs[-1].score()
        alone = run_of(how | {"store": tmp_path / "alone"}, "contrast", "brightness").score()
        assert scored(runs[-1]) == ("brightness", "contrast")
        assert scores.sampled is None
        assert scores["mean error"].value == alone["mean error"].value
        assert "left out, as just a sample of it is stored (`until`): fog" in scores.notes
        some = runs[-1].stored.ids[:200]
        assert scores.on(some)["mean error"].circumstances.names == ("brightness", "contrast")
        assert len(scores.on(some).images) == 200


def test_what_is_stored_beside_a_sample_is_named(how: dict[str, Any]) -> None:
    """Validation does not count, part of the images is not all, and another sample is older."""
    run_of(how, "contrast", until=4)
    run_of(how, "speckle_noise")
    run_of(how, "frost", subset=100)
    run = run_of(how, "brightness", "fog", until=4)
    assert scored(run) == ("fog", "brightness")
    left_out = "stored, but not in the sample, and left out: contrast, frost, speckle_noise"
    assert left_out in run.score().notes
    run_of(how, "fog")
    run = run_of(how, "brightness", "fog", until=4)
    assert scored(run) == ("fog", "brightness")
    assert "stored of all images, of which just the sample is scored: fog" in run.score().notes


def test_a_sample_that_was_completed_leaves_an_older_one_out(how: dict[str, Any]) -> None:
    run_of(how, "contrast", until=4)
    run_of(how, "fog", until=4)
    run = run_of(how, "fog")
    assert scored(run) == ("fog",)
    assert run.score().sampled is None
    assert "left out, as just a sample of it is stored (`until`): contrast" in run.score().notes


def test_two_models_are_compared_on_the_sample_that_was_asked_for(how: dict[str, Any]) -> None:
    for model in ("fake:10", "fake:10:1"):
        evaluate(model, only=["contrast"], **how)
    compared = hardy.compare("fake:10", "fake:10:1", only=["fog"], until=4, **how)
    assert compared.headline[0].first.circumstances.names == ("fog",)
