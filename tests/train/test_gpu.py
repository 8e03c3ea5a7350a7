"""Training on a GPU, where steps are recorded and replayed; `make test-gpu-train` runs these."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from hardy.train import METHODS, loop
from hardy.train.crops import DECODED_THERE, ScaleCrop
from hardy.train.cuda_graphs import WARM_UP, Recorded, running
from hardy.train.loop import run_training
from hardy.train.method import Draw
from hardy.train.teacher import load_teacher
from hardy.train.training_data import Streaming, open_data, read_data
from tests.train.small import NARROW, narrow, write_arrays
from tests.train.test_dropout import DROPPING, dropping
from tests.train.test_loop import killed_in, same, weights

__all__ = ["dropping", "narrow"]

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA"),
    # torch's compiler imports what torch itself has deprecated, and looks at gradients that it then
    # hides the warning of, which an error cannot be.
    pytest.mark.filterwarnings("ignore:.*torch.jit.script_method:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning"),
]
GPU = torch.device("cuda")
# What would take minutes at its default, or begin after the last step.
QUICK = {
    "ant": {"restart_steps": "5"},
    "ant3x3": {"restart_steps": "5"},
    "groupwise_inhibition": {"start": "1", "every": "2"},
    "pix_mix": {"fractals": "8"},
    "deep_augment": {"steps": "8", "damaged": "4"},
}
NEEDED = {"corrupted": {"suite": "cifar10_c", "corruption": "fog"}}


def walk(calls: int, *, recorded: bool) -> torch.Tensor:
    """A random walk with the steps of `calls` inputs."""
    generator = torch.Generator(GPU).manual_seed(1)
    place = torch.zeros(8, device=GPU)

    def move(by: torch.Tensor) -> None:
        place.add_(by * torch.rand(8, generator=generator, device=GPU))

    with running(GPU):
        step = Recorded(move, generator) if recorded else move
        for number in range(calls):
            step(torch.full((8,), float(number), device=GPU))
    torch.cuda.synchronize()
    return place


@pytest.mark.parametrize("calls", [WARM_UP, WARM_UP + 1, WARM_UP + 9])
def test_what_is_replayed_is_what_would_have_been_done(calls) -> None:
    assert torch.equal(walk(calls, recorded=True), walk(calls, recorded=False))


# Both phases of ant, and an extra step in every other step.
LIKE_PLAIN = {
    "standard": {},
    "augmix": {},
    "ant": {"restart_steps": "5"},
    "groupwise_inhibition": {"start": "1", "every": "2"},
    "hybrid_augment": {},
    "prime": {},
    "noisy_mix": {},
    "pix_mix": {"fractals": "8"},
    "afa": {},
    "best": {},
    "deep_augment": {"steps": "8", "damaged": "4"},
}


@pytest.mark.parametrize("name", LIKE_PLAIN)
def test_a_recorded_run_learns_as_a_plain_one(tmp_path, narrow, name) -> None:
    """Equal in the first epoch: later, differences of rounding have grown into other trainings."""
    data = read_data(str(write_arrays(tmp_path, count=24 * 12 + 7)), GPU)
    recipe = replace(NARROW, epochs=3)
    losses = {}
    for deterministic in (False, True):
        out = tmp_path / f"run-{deterministic}"
        chosen = replace(recipe, deterministic=deterministic)
        log = run_training(name, data, out, chosen, settings=LIKE_PLAIN[name], device=GPU).log
        losses[deterministic] = [row["loss"] for row in log]
    assert losses[False][0] == pytest.approx(losses[True][0], rel=0.01)
    for one in losses.values():
        assert min(one) < 0.9 * one[0]  # both learn, by more than they may differ


def test_a_recorded_run_that_was_stopped_goes_on(tmp_path, narrow, monkeypatch) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    data = read_data(str(write_arrays(tmp_path, count=24 * 12)), GPU)
    whole = run_training("augmix", data, tmp_path / "whole", NARROW, device=GPU).log
    with pytest.raises(KeyboardInterrupt):
        run_training("augmix", data, tmp_path / "cut", NARROW, device=GPU, track=killed_in(2))
    resumed = run_training("augmix", data, tmp_path / "cut", NARROW, device=GPU)
    assert resumed.epochs == 1
    assert resumed.log[1]["loss"] == pytest.approx(whole[1]["loss"], rel=0.05)


@pytest.mark.parametrize("name", sorted(METHODS.names()))
def test_every_method_resumes_to_the_bit(tmp_path, narrow, monkeypatch, name) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    data = read_data(str(write_arrays(tmp_path, count=24 * 3 + 5)), GPU)
    recipe = replace(NARROW, epochs=3, deterministic=True)
    begin = partial(
        run_training,
        name,
        data,
        hyper=recipe,
        settings=QUICK.get(name, NEEDED.get(name, {})),
        device=GPU,
    )
    begin(out=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        begin(out=tmp_path / "cut", track=killed_in(3))
    assert begin(out=tmp_path / "cut").epochs == 1
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


@pytest.mark.parametrize("name", sorted(METHODS.names()))
def test_every_method_is_recorded(tmp_path, narrow, monkeypatch, name) -> None:
    recorded: list[str] = []
    record = Recorded._record

    def noted(self: Recorded, tensors) -> None:
        recorded.append(name)
        record(self, tensors)

    monkeypatch.setattr(Recorded, "_record", noted)
    data = read_data(str(write_arrays(tmp_path, count=24 * 6 + 5)), GPU)
    recipe = replace(NARROW, precision="bfloat16")
    settings = QUICK.get(name, NEEDED.get(name, {}))
    log = run_training(name, data, tmp_path / "run", recipe, settings=settings, device=GPU).log
    assert len(log) == 2
    assert (tmp_path / "run" / "model.safetensors").exists()
    assert recorded


def test_what_nets_draw_by_themselves_is_seeded_too(tmp_path, dropping) -> None:
    data = read_data(str(write_arrays(tmp_path, count=24 * 12)), GPU)
    run_training("standard", data, tmp_path / "whole", DROPPING, device=GPU)
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, tmp_path / "cut", DROPPING, device=GPU, track=killed_in(3))
    torch.rand(1, device=GPU)
    before = torch.cuda.get_rng_state()
    assert run_training("standard", data, tmp_path / "cut", DROPPING, device=GPU).epochs == 1
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    recorded = replace(DROPPING, deterministic=False)
    log = run_training("standard", data, tmp_path / "recorded", recorded, device=GPU).log
    assert log[-1]["loss"] < 0.9 * log[0]["loss"]
    assert torch.equal(torch.cuda.get_rng_state(), before)


def test_autoaugment_and_a_teacher(tmp_path, narrow) -> None:
    data = read_data(str(write_arrays(tmp_path, count=24 * 6 + 5)), GPU)
    run_training("standard", data, tmp_path / "teacher", NARROW, device=GPU)
    teacher = load_teacher(f"hardy:{tmp_path / 'teacher'}", 1.0, GPU, "float32")
    given = {"device": GPU, "teacher": teacher}
    recipe = replace(NARROW, autoaugment="cifar", mixup=0.2)
    log = run_training("augmix", data, tmp_path / "recorded", recipe, **given).log
    plain = replace(recipe, deterministic=True)
    whole = run_training("augmix", data, tmp_path / "whole", plain, **given).log
    assert log[0]["loss"] == pytest.approx(whole[0]["loss"], rel=0.02)
    with pytest.raises(KeyboardInterrupt):
        run_training("augmix", data, tmp_path / "cut", plain, **given, track=killed_in(2))
    run_training("augmix", data, tmp_path / "cut", plain, **given)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


def smooth_photos(folder: Path) -> Path:
    """40 JPEGs and 8 other files of several sizes, on which decoders hardly differ."""
    for number in range(48):
        height, width = 200 + 3 * number, 330 - 2 * number
        rows, columns = np.linspace(0, 200, height), np.linspace(0, 50 + number, width)
        down, along = np.meshgrid(rows, columns, indexing="ij")
        pixels = np.stack([down + along / 2, down + 20, 2 * along], 2)
        place = folder / "abc"[number % 3]
        place.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
        if number % 6:
            image.save(place / f"{number}.jpg", quality=95, progressive=number % 5 == 0)
        else:
            image.save(place / f"{number}.png")
    return folder


def test_nvjpeg_shows_what_libjpeg_does(tmp_path, narrow) -> None:
    where = smooth_photos(tmp_path / "photos")
    shown = {}
    for way in DECODED_THERE:
        data = open_data(str(where), GPU, Streaming(crop=ScaleCrop(64), decode=way))
        feed = data.feed(16, Draw(0, GPU))
        shown[way] = [(images.int(), labels) for images, labels in feed.epoch(0)]
    for way in ("both", "gpu"):
        for (images, labels), (others, theirs) in zip(shown["threads"], shown[way], strict=True):
            assert torch.equal(labels, theirs)
            assert (images - others).abs().max() <= 8
            assert (images - others).abs().float().mean() < 1
    recipe = replace(NARROW, batch=16, deterministic=True)
    begin = partial(run_training, "standard", data, hyper=recipe, device=GPU)
    begin(out=tmp_path / "whole")
    begin(out=tmp_path / "again")
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "again"))


def test_a_recorded_run_is_fed_by_nvjpeg(tmp_path, narrow) -> None:
    where = smooth_photos(tmp_path / "photos")
    streaming = Streaming(crop=ScaleCrop(32), decode="both")
    recipe = replace(NARROW, batch=8, epochs=4, lr=0.01)
    data = open_data(str(where), GPU, streaming)
    log = run_training("standard", data, tmp_path / "run", recipe, device=GPU).log
    assert len(log) == 4
