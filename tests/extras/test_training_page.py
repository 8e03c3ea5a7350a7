"""The page on training loops runs from top to bottom, with the libraries that it speaks of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import hardy
from tests.pages import blocks


# These libraries warn of one another, and of torch, which is no fault of ours.
@pytest.mark.filterwarnings("default")
def test_the_page_runs_and_is_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torchvision: None
) -> None:
    for library in ("lightning", "accelerate", "albumentations"):
        pytest.importorskip(library, reason=f"needs {library}: make test-extras")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for language, text in blocks("docs/training-loop.md"):
        assert language == "python"
        exec(compile(text, "training-loop.md", "exec"), names)
    for folder, called in (
        (Path(names["trainer"].log_dir) / "hardy", "Net"),
        (Path("vit/hardy"), "ViTForImageClassification"),
    ):
        found = sorted(hardy.runs(folder), key=lambda run: run.model)
        assert [run.model for run in found] == [f"{called} epoch 001", f"{called} epoch 002"]
        for run in found:
            low, high = run.score()["mean error"].interval
            assert high - low < 10
    errors = [run.score()["mean error"].value for run in found]
    assert names["curve"] == pytest.approx(errors)
    assert names["trainer"].callback_metrics["cifar10_c/mean_error"] < 90, "it has learnt"
    assert Path(names["best"].best_model_path).is_file()
    assert names["seen"] == [40] * 10
    assert names["snowy"].dtype == torch.float32
    assert names["blurred"].shape == (32, 32, 3)
