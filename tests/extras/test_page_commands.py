"""The blocks of commands on the pages that are marked `run by: make test-extras`: wandb and MLflow
are the real ones, offline; CLIP has random weights, which lie where Hugging Face keeps them."""

from __future__ import annotations

import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from hardy import cli
from hardy.models import text_cache
from hardy.store.reader import find_runs
from tests.page_sets import VALIDATION, WNIDS
from tests.pages import blocks_run_by, write_classifier

# These libraries warn of one another, which is no fault of ours.
pytestmark = pytest.mark.filterwarnings("default")
CLIP = "laion/CLIP-ViT-B-32-laion2B-s34B-b79K"
NEEDED = ("wandb", "mlflow", "sqlalchemy", "open_clip", "transformers")
EVALUATED = "eval onnx:model.onnx --suite imagenet_c --images imagenet/val --store runs"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torchvision: None) -> Path:
    """A folder with imagenet/val, model.onnx and a run of it; CLIP is in the hub's cache."""
    for library in NEEDED:
        if find_spec(library) is None:
            pytest.skip(f"needs {library}: make test-extras")
    noise = np.random.default_rng(0).integers(0, 256, (240, 300, 3)).astype(np.uint8)
    for number, wnid in enumerate(WNIDS, 1):
        (tmp_path / "imagenet/val" / wnid).mkdir(parents=True)
        Image.fromarray(noise).save(
            tmp_path / "imagenet/val" / wnid / VALIDATION.format(number), "JPEG"
        )
    write_classifier(tmp_path / "model.onnx")
    use_clip(tmp_path, monkeypatch)
    monkeypatch.setattr(text_cache, "text_cache", lambda: tmp_path / "text_features")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    for name in ("WANDB_PROJECT", "WANDB_DIR", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def use_clip(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `hf download` would have left: a snapshot, and a reference that names it."""
    from huggingface_hub import constants

    from tests.models.clip_folders import save

    kept, commit = folder / "hub" / f"models--{CLIP.replace('/', '--')}", "0" * 40
    (kept / "refs").mkdir(parents=True)
    (kept / "refs/main").write_text(commit)
    shutil.copytree(save(folder / "clip"), kept / "snapshots" / commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / "hub"))


def type_line(line: str) -> None:
    program, *words = shlex.split(line, comments=True)
    assert program == "hardy", line
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, f"{line}\n{done.output}{done.exception!r}"


def test_the_commands_run(folder: Path) -> None:
    type_line(f"hardy {EVALUATED}")
    found = blocks_run_by("make test-extras")
    assert {name for name, _ in found} >= {"docs/sharing.md", "docs/evaluating.md"}
    for _, text in found:
        for line in text.splitlines():
            type_line(line)
    assert sorted(run.model for run in find_runs(folder / "runs")) == [
        *(f"clip:{CLIP}", f"clip:{CLIP} with single", "onnx:model.onnx")
    ]
    import mlflow
    import wandb

    wandb.teardown()
    assert list(folder.glob("wandb/offline-run-*"))
    client = mlflow.MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    (experiment,) = [one for one in client.search_experiments() if one.name != "Default"]
    logged = client.search_runs([experiment.experiment_id])
    assert [run.info.run_name for run in logged] == ["onnx:model.onnx on imagenet_c"]
