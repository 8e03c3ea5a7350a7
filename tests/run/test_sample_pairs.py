"""`hardy.compare` with `until`, where there is nothing to compare in the end: one line says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hardy
from hardy.errors import HardyError, InputError
from hardy.evaluation import evaluate
from hardy.run import memory_room, sample_tasks
from tests.run.runs import FEW, Counting
from tests.suites.helpers import write_rows


@pytest.fixture
def how(tmp_path: Path) -> dict[str, Any]:
    return {"images": write_rows(tmp_path, 400), "store": tmp_path / "runs", **FEW}


class Track:
    """Knows whether predictions have begun."""

    begun = False

    def __call__(self, steps: Any, total: int, unit: str = "", amount: Any = len) -> Any:
        self.begun = True
        return steps


class Failing(Counting):
    """A model that fails as soon as the sample begins."""

    def __init__(self, track: Track) -> None:
        super().__init__("fake:10:1")
        self._track = track

    def logits(self, images: Any, preprocessing: Any = None) -> Any:
        if self._track.begun:
            raise RuntimeError("asleep\nand more")
        return super().logits(images)


def in_a_line(error: pytest.ExceptionInfo[Any]) -> bool:
    return "\n" not in str(error.value)


def test_a_model_that_fails(how: dict[str, Any]) -> None:
    track = Track()
    failing = Failing(track)

    def answer(images: Any) -> Any:
        return failing.logits(images)

    with pytest.raises(HardyError, match="answer raised RuntimeError: asleep") as error:
        hardy.compare("fake:10", answer, until=2, track=track, **how)
    assert in_a_line(error)


def test_too_little_time(how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_tasks, "_TOGETHER", 20)
    expected = (
        r"at least 10 images under every cell for scores of a sample, got \d under .*; "
        r"the same call goes on, with a larger `at_most` further"
    )
    with pytest.raises(InputError, match=expected) as error:
        hardy.compare("fake:10", "fake:10:1", until=2, at_most="0.001s", **how)
    assert in_a_line(error)
    assert hardy.compare("fake:10", "fake:10:1", until=4, **how).headline


@pytest.mark.parametrize("together", [1, 2])
def test_of_many_models_no_two_that_can_be_compared(
    together: int, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One fails, or both do not fit in memory; neither may end in a sample that says nothing."""
    monkeypatch.setattr(memory_room, "MOST", together)
    track = Track()
    models = ["fake:10", "fake:10:1" if together == 1 else Failing(track)]
    with pytest.raises(InputError, match=r"expected two models for the difference .* got fake:10 "):
        evaluate(models=models, until="difference=2", track=track, **how)
