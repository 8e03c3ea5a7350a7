"""The device's way through the runner, with torch on the CPU in the place of a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.models import load_model
from hardy.models.model import facts_of
from hardy.run import predicting
from hardy.run.batching import Predictor
from hardy.run.reduce import reduce
from hardy.run.reduce_torch import reduce_tensor
from hardy.run.subject import Subject
from hardy.scores.scoring import Run
from hardy.suites import edition, load
from hardy.suites.cells import Cell
from hardy.variants.base_picture import BasePicture
from hardy.variants.generated import Generated
from tests.engine.torch_device import no_waiting
from tests.photos import random_images
from tests.store.stores import contents_hash
from tests.suites.helpers import opened, write_photos, write_rows

GPU = "cuda:0" if torch.cuda.is_available() else "cpu"


class Linear(torch.nn.Module):
    """Whole weights on whole pixels: the logits are exact in any order."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.preprocessing = {"mean": (0.0, 0.0, 0.0), "std": (1 / 255, 1 / 255, 1 / 255)}
        draws = np.random.default_rng(0).integers(-4, 5, (3, classes)).astype(np.float32)
        self.weight = torch.nn.Parameter(torch.from_numpy(draws))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return torch.round(pixels[:, :, ::8, ::8]).sum(dim=(2, 3)) @ self.weight / 1024


@pytest.fixture
def on_device(monkeypatch: pytest.MonkeyPatch) -> None:
    near = Subject.near
    monkeypatch.setattr(
        Subject, "near", lambda self, models: replace(near(self, models), device=GPU)
    )


def run(
    images: Path, store: Path, model: torch.nn.Module | None = None, device: str = GPU, **what: Any
) -> Run:
    module = (model or Linear()).to(device)
    found = evaluate(module, images=images, store=store, device=device, **what)
    assert isinstance(found, Run)
    return found


SUITES: list[dict[str, Any]] = [
    {"suite": "cifar10_c", "only": ["fog", "gaussian_noise", "elastic_transform"]},
    {"suite": "cifar10_p", "only": ["tilt", "snow", "shot_noise"]},
]


@pytest.mark.parametrize("what", SUITES)
def test_the_same_predictions(what: dict[str, Any], tmp_path: Path, request: Any) -> None:
    images = write_rows(tmp_path, 20)
    host = run(images, tmp_path / "host", device="cpu", **what)
    request.getfixturevalue("on_device")
    device = run(images, tmp_path / "device", **what)
    cells = list(host.stored.cells)
    columns = ["rank", "top5", "log_prob", "square_sum", "top5_prob"]
    for cell in cells:
        one, two = (each.stored.read([cell], columns) for each in (host, device))
        for name in ("rank", "top5"):
            np.testing.assert_array_equal(one[name], two[name])
        for name in columns[2:]:
            np.testing.assert_allclose(one[name], two[name], rtol=1e-5)
    assert device.stored.details["sessions"][0]["engine"] in ("torch cpu", "triton cuda")
    assert host.stored.details["sessions"][0]["engine"] == "cpu"


# The second is of pictures at another size, and its blur is finished by Pillow.
@pytest.mark.parametrize(
    ("suite", "names"),
    [("imagenet_p", ["tilt", "brightness"]), ("tiny_imagenet_p", ["motion_blur", "tilt"])],
)
def test_photographs_of_several_sizes_stand_together(
    suite: str, names: list[str], tmp_path: Path, request: Any
) -> None:
    images = write_photos(tmp_path / "val", 5)
    what: dict[str, Any] = {
        "suite": suite,
        "only": names,
        "own_classes": True,
        "model": Linear(2),
    }
    host = run(images, tmp_path / "host", device="cpu", **what)
    request.getfixturevalue("on_device")
    device = run(images, tmp_path / "device", **what)
    for cell in host.stored.cells:
        one, two = (each.stored.read([cell], ["top1", "log_prob"]) for each in (host, device))
        np.testing.assert_array_equal(one["top1"], two["top1"])
        np.testing.assert_allclose(one["log_prob"], two["log_prob"], rtol=1e-4, atol=1e-6)


def test_sequences_that_do_not_fit_are_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = random_images(5, 32, 32)
    stage = BasePicture(pictures, pictures, None).on(GPU)
    what: dict[str, Any] = {"name": "tilt", "level": 1, "seed": 0, "ids": range(5)}
    whole = stage.all_frames(edition("cifar"), **what)
    sizes = []
    really = BasePicture._maker

    def full(self: BasePicture, *arguments: Any) -> Any:
        sizes.append(len(self.base))
        if len(self.base) > 2:
            raise torch.OutOfMemoryError
        return really(self, *arguments)

    monkeypatch.setattr(BasePicture, "_maker", full)
    assert torch.equal(stage.all_frames(edition("cifar"), **what), whole)
    assert sizes == [5, 2, 2, 1]


@pytest.mark.skipif(GPU == "cpu", reason="only a GPU is waited for")
def test_the_host_waits_for_no_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = write_rows(tmp_path, 20)
    run(images, tmp_path / "first", **SUITES[0])  # constants are moved once, and waited for
    watched: list[str] = []

    def watch(owner: Any, name: str) -> None:
        really = getattr(owner, name)

        def without_waiting(*arguments: Any) -> Any:
            watched.append(name)
            with no_waiting():
                return really(*arguments)

        monkeypatch.setattr(owner, name, without_waiting)

    watch(predicting, "make_cell")
    watch(Predictor, "show")
    run(images, tmp_path / "second", **SUITES[0])
    assert watched == ["make_cell", "show"] * 16


def test_nan_is_named_though_it_is_noticed_late(tmp_path: Path, on_device: None) -> None:
    class Broken(Linear):
        def forward(self, pixels: torch.Tensor) -> torch.Tensor:
            logits = super().forward(pixels)
            logits[4:5] = torch.nan  # in rehearsal there is one image
            return logits

    with pytest.raises(InputError, match="1 of 20 images: 4"):
        run(write_rows(tmp_path, 20), tmp_path / "runs", Broken(), **SUITES[0])


def test_a_stopped_run_resumes(tmp_path: Path, on_device: None) -> None:
    images = write_rows(tmp_path, 20)

    class Stopping(Linear):
        left = 9

        def forward(self, pixels: torch.Tensor) -> torch.Tensor:
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
            return super().forward(pixels)

    with pytest.raises(KeyboardInterrupt):
        run(images, tmp_path / "runs", Stopping(), **SUITES[0])
    kept = run(images, tmp_path / "runs", Stopping(), **(SUITES[0] | {"only": ["fog"]}))
    whole = run(images, tmp_path / "whole", Stopping(), **(SUITES[0] | {"only": ["fog"]}))
    assert set(whole.stored.cells) <= set(kept.stored.cells)
    cells = list(whole.stored.cells)
    one, two = (each.stored.read(cells, ["log_prob"])["log_prob"] for each in (kept, whole))
    np.testing.assert_array_equal(one, two)
    assert contents_hash(kept.stored) == contents_hash(whole.stored) or len(kept.stored.cells) > 6


@pytest.mark.parametrize("classes", [1, 2, 4, 5, 11, 1000])
@pytest.mark.parametrize("frames", [None, 2, 5])
@pytest.mark.parametrize("scale", [0.25, 3.0, 1e30])
def test_reduced_as_on_the_host(classes: int, frames: int | None, scale: float) -> None:
    """Ties, missing labels, few classes: the same columns."""
    rng = np.random.default_rng(classes)
    count = 40 if frames is None else 8 * frames
    logits = rng.integers(-6, 7, (count, classes)).astype(np.float32) * np.float32(scale)
    labels = rng.integers(-1, classes, count)
    expected = reduce(logits, labels, frames=frames)
    there = (torch.from_numpy(each).to(GPU) for each in (logits, labels))
    got = {name: column.cpu() for name, column in reduce_tensor(*there, frames=frames).items()}
    assert got.pop("finite").all()
    assert expected.keys() == got.keys()
    for name, values in expected.items():
        assert got[name].numpy().dtype == values.dtype
        np.testing.assert_allclose(got[name].numpy(), values, rtol=2e-6, atol=1e-7, err_msg=name)


def test_doubts_about_how_a_model_was_brought_are_told_and_stored(tmp_path: Path) -> None:
    images = write_rows(tmp_path, 4)
    model = load_model(Linear(), name="linear", device="cpu")
    model.facts = replace(facts_of(model), doubts=("linear lies on cpu",))
    told: list[str] = []
    found = evaluate(
        model, suite="cifar10_c", only="fog", images=images, store=tmp_path, warn=told.append
    )
    assert told == ["linear lies on cpu"]
    assert "linear lies on cpu" in found.stored.details["sessions"][0]["warnings"]


def test_few_batches_are_made_of_photographs_of_many_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = load("imagenet_p")
    source = opened(write_photos(tmp_path / "val", 5), suite)
    chunk = Generated(suite, source).chunk(range(5))
    sizes = []
    really = BasePicture.all_frames

    def watched(self: BasePicture, *arguments: Any, **named: Any) -> Any:
        sizes.append(tuple(self.base.shape))
        return really(self, *arguments, **named)

    monkeypatch.setattr(BasePicture, "all_frames", watched)
    expected = chunk.make(Cell("translate", 1))
    bases = sorted(set(sizes))
    assert len(bases) > 1
    sizes.clear()
    made = chunk.on(GPU).make(Cell("translate", 1))
    np.testing.assert_array_equal(made.cpu().numpy(), expected)
    assert len(sizes) == len(bases)
    sizes.clear()
    chunk.on(GPU).make(Cell("brightness", 1))
    assert sizes == [(5, 224, 224, 3)]
