"""Where the images are made: beside models on a GPU, if these take what lies there."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hardy.evaluation import evaluate
from hardy.models.adapters.function_model import FakeModel
from hardy.models.model import ModelFacts
from hardy.run.selection import open_subject
from hardy.scores.scoring import Run
from hardy.suites import load
from tests.suites.helpers import write_rows

TORCH = SimpleNamespace(device="cuda:0", facts=ModelFacts(takes_tensors=True))
ONNX = SimpleNamespace(device="cuda:0")  # arrays only, wherever it runs
HOST = SimpleNamespace(device="cpu", facts=ModelFacts(takes_tensors=True))


@pytest.mark.parametrize(
    ("models", "device"),
    [
        ([TORCH], "cuda:0"),
        ([TORCH, TORCH], "cuda:0"),
        ([ONNX], None),
        ([TORCH, ONNX], None),
        ([HOST], None),
        ([TORCH, HOST], None),
    ],
)
def test_on_a_gpu_only_for_models_that_take_tensors(
    models: list[Any], device: str | None, tmp_path: Path
) -> None:
    subject = open_subject(load("cifar10_c"), images=write_rows(tmp_path, 4), only=["fog"])
    assert subject.near(models).device == device


@pytest.mark.parametrize("defence", [None, "clahe"])
def test_a_model_of_arrays_on_a_gpu_gets_arrays(
    defence: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeModel, "device", "cuda:0")
    run = evaluate(
        "fake:10",
        suite="cifar10_c",
        images=write_rows(tmp_path, 4),
        store=tmp_path / "runs",
        only=["fog"],
        defend=defence,
    )
    assert isinstance(run, Run)
    assert run.stored.details["sessions"][0]["engine"] == "cpu"
