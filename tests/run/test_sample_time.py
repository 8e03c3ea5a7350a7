"""How long a sampled run takes: by a clock on which each prediction takes a second."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hardy import progress
from hardy.evaluation import evaluate
from hardy.progress import in_time
from hardy.run import memory_room, sample_tasks, sampled_run
from hardy.run.plan import ImageTimes
from hardy.scores.stored_sample import find_sample
from tests.run.runs import FEW, Counting
from tests.suites.helpers import write_rows


class Timed(Counting):
    """A model that takes a second for each image."""

    now = 0.0

    def logits(self, images: Any, preprocessing: Any = None) -> Any:
        Timed.now += len(images)
        return super().logits(images)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(progress, "mention", lines.append)
    monkeypatch.setattr(sampled_run, "time", SimpleNamespace(monotonic=lambda: Timed.now))
    times = ImageTimes(3e-3, 1e-3, 0.0)
    monkeypatch.setattr(sampled_run, "time_few", lambda models, subject, on_device: times)
    return lines


@pytest.fixture
def how(tmp_path: Path) -> dict[str, Any]:
    return {"images": write_rows(tmp_path, 1500), "store": tmp_path / "runs", **FEW}


def test_each_group_of_models_has_the_time(
    how: dict[str, Any], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_room, "MOST", 1)
    models = [Timed("fake:10"), Timed("fake:10:1"), Timed("fake:10:2")]
    found = evaluate(models=models, until=0.5, at_most="1500s", **how)
    assert not found.failed
    for run in found:
        sample = find_sample(run.stored)
        assert sample is not None
        assert 1000 < sample.predictions[0] <= 1800
    assert told.count(f"the time is over: {in_time(1500)}") == 3


def test_of_many_models_those_with_too_little_have_failed(
    how: dict[str, Any], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate("fake:10:1", until=4, **how)
    monkeypatch.setattr(sample_tasks, "_TOGETHER", 20)
    found = evaluate(models=[Timed("fake:10"), "fake:10:1"], until=3, at_most="1s", **how)
    assert [run.model for run in found] == ["fake:10:1"]
    assert list(found.failed) == ["fake:10"]
    expected = r"expected at least 10 images under every cell for scores of a sample, got \d under"
    assert re.match(expected, found.failed["fake:10"])


def times_left(told: list[str]) -> list[tuple[int, str]]:
    """How many predictions of a model were still to make, and how long that was to take."""
    lines = [re.search(r"after (.*) predictions, about (.*) needed, (.*) left", x) for x in told]
    found = [line.groups() for line in lines if line]
    assert len(found) > 1
    return [
        (int(needed.replace(",", "")) - int(done.replace(",", "")), left)
        for done, needed, left in found
    ]


def test_the_time_left_is_that_of_all_models(how: dict[str, Any], told: list[str]) -> None:
    evaluate([Timed("fake:10"), Timed("fake:10:1")], until=1, **how)
    for missing, left in times_left(told):
        assert left == in_time(2 * missing)


def test_a_model_that_fails_takes_no_more_time(how: dict[str, Any], told: list[str]) -> None:
    """It is counted in the round in which it fails: the last one tells."""

    class Failing(Timed):
        def logits(self, images: Any, preprocessing: Any = None) -> Any:
            if told:
                raise RuntimeError("asleep after the first round")
            return super().logits(images)

    found = evaluate(models=[Timed("fake:10"), Failing("fake:10:2")], until=1, **how)
    assert list(found.failed) == ["fake:10:2"]
    missing, left = times_left(told)[-1]
    assert left in {in_time(share * missing) for share in np.linspace(0.8, 1.1, 1000)}


def test_a_model_that_failed_is_not_timed(
    how: dict[str, Any], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    timed: list[list[str]] = []

    class Failing(Counting):
        def logits(self, images: Any, preprocessing: Any = None) -> Any:
            if begun:
                raise RuntimeError("asleep")
            return super().logits(images)

    def track(steps: Any, total: int, unit: str = "", amount: Any = len) -> Any:
        begun.append(total)
        return steps

    def time_models(models: Any, subject: Any, on_device: int) -> ImageTimes:
        timed.append([model.name for model in models])
        return ImageTimes(3e-3, 1e-3, 0.0)

    monkeypatch.setattr(sampled_run, "time_few", time_models)
    evaluate(models=["fake:10", Failing("fake:10:2")], until=2, track=track, **how)
    assert timed == [["fake:10"]]
