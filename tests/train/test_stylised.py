"""Stylised images in a batch: which, how many, and for whom."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import typer
from typer.testing import CliRunner

from hardy.cli.train_command import train_model
from hardy.errors import InputError
from hardy.train.loop import run_training
from hardy.train.method import Draw, make_method
from hardy.train.methods.ant import Ant
from hardy.train.other_images import TakesStylised, give_stylised, need_taker
from hardy.train.training_data import Data
from tests.train.small import CPU, NARROW, narrow, small_data, write_arrays
from tests.train.tiny import linear_net, no_waiting

__all__ = ["narrow"]


def painted(count: int = 5, side: int = 8, classes: int = 9) -> Data:
    """Image k is all of 200 + k and has label k + 2."""
    images = (200 + torch.arange(count)).byte().view(-1, 1, 1, 1).expand(-1, side, side, 3)
    return Data(images.contiguous(), torch.arange(count) + 2, classes, "painted", "0" * 64)


def ready(stylised: Data | None = None) -> TakesStylised:
    method = TakesStylised()
    method.begin(Draw(0, CPU), (3, 8, 8))
    if stylised is not None:
        give_stylised(method, stylised, painted(), CPU)
    return method


@pytest.mark.parametrize(("batch", "last"), [(70, 15), (128, 27), (24, 5), (2, 0)])
def test_the_last_of_a_batch_are_stylised_with_their_labels(batch, last) -> None:
    pixels, labels = torch.full((batch, 3, 8, 8), 0.1), torch.zeros(batch, dtype=torch.int64)
    made, told = ready(painted()).with_stylised(pixels, labels)
    assert made.shape == pixels.shape
    assert torch.equal(made[: batch - last], pixels[: batch - last])
    assert torch.equal(told[: batch - last], labels[: batch - last])
    # The crop may show the black edge of the padding, but never all of it.
    bright = (made[batch - last :].flatten(1) * 255).amax(1) if last else torch.zeros(0)
    assert torch.equal(bright.round().long() - 200 + 2, told[batch - last :])
    assert torch.equal(pixels, torch.full((batch, 3, 8, 8), 0.1))


def test_each_batch_brings_others_of_all_of_them_cropped_and_flipped() -> None:
    method = ready(painted())
    pixels, labels = torch.zeros(70, 3, 8, 8), torch.zeros(70, dtype=torch.int64)
    batches = [method.with_stylised(pixels, labels) for _ in range(20)]
    told = torch.stack([labels[55:] for _, labels in batches])
    assert torch.bincount(told.flatten() - 2).tolist() == pytest.approx([60] * 5, rel=0.35)
    assert len({tuple(row.tolist()) for row in told}) == 20
    edges = torch.cat([made[55:, 0] == 0 for made, _ in batches])
    for edge in (edges[:, 0], edges[:, -1], edges[:, :, 0], edges[:, :, -1]):
        assert edge.all(1).float().mean() == pytest.approx(1 / 3, abs=0.1)


def test_without_stylised_images_nothing_is_drawn_or_changed() -> None:
    method = ready()
    pixels, labels = torch.rand(7, 3, 8, 8), torch.arange(7)
    made, told = method.with_stylised(pixels, labels)
    assert made is pixels
    assert told is labels
    assert torch.equal(method.draw.uniform(3), Draw(0, CPU).uniform(3))


def test_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    method = ready(painted())
    with no_waiting(monkeypatch):
        method.with_stylised(torch.zeros(70, 3, 8, 8), torch.zeros(70, dtype=torch.int64))


@pytest.mark.parametrize(
    ("stylised", "message"),
    [
        (painted(classes=8), "images of the classes of the others, 9, got 8"),
        (replace(painted(), input="clahe"), "of the input of the others, None, got clahe"),
        (painted(side=16), r"of the shape of the others, \(3, 8, 8\), got \(3, 16, 16\)"),
    ],
)
def test_stylised_images_must_fit_the_others(stylised, message) -> None:
    method = ready()
    with pytest.raises(InputError, match=message):
        give_stylised(method, stylised, painted(), CPU)
    assert method.stylised is None


def test_labels_of_other_classes_are_refused_by_their_names() -> None:
    named = replace(painted(), names=tuple("abcdefghi"))
    other = replace(painted(), names=tuple("abdcefghi"))
    with pytest.raises(InputError, match=r"label 2 is 'c', got 'd'; name the classes alike, or"):
        give_stylised(ready(), other, named, CPU)
    for stylised, data in ((named, named), (painted(), named), (named, painted())):
        method = ready()
        give_stylised(method, stylised, data, CPU)
        assert method.stylised is stylised


def test_stylised_images_must_lie_on_the_device() -> None:
    elsewhere = replace(painted(), images=torch.empty(10**6, 8, 8, 3, device="meta").byte())
    with pytest.raises(InputError, match=r"fit on the cpu device beside the others, got 0\.2 GB"):
        give_stylised(ready(), elsewhere, painted(), CPU)


def test_other_methods_are_refused() -> None:
    with pytest.raises(InputError, match="takes stylised images, such as ant, got Standard"):
        need_taker(make_method("standard"))
    with pytest.raises(InputError, match="takes stylised images, such as ant, got Stability"):
        give_stylised(make_method("stability"), painted(), painted(), CPU)


@pytest.mark.parametrize("name", ["ant", "ant3x3"])
def test_the_classifier_gets_them_and_the_generator_does_not(name, monkeypatch) -> None:
    method = make_method(name, {"restart_steps": "0"})
    assert isinstance(method, Ant)
    method.epochs = 1
    method.begin(Draw(0, CPU), (3, 8, 8))
    give_stylised(method, painted(), painted(), CPU)
    net, batches, fooled = linear_net(classes=9), [], []
    method.begin_epoch(0, net, iter(()))
    net.register_forward_hook(lambda module, given, made: batches.append(given[0]))
    monkeypatch.setattr(method, "fool", lambda *given: fooled.append(given))
    images, labels = torch.zeros(70, 3, 8, 8).byte(), torch.zeros(70, dtype=torch.int64)
    loss = method.loss(net, images, labels)
    ((_, pixels, true),) = fooled
    assert torch.equal(pixels, images.float())
    assert torch.equal(true, labels)
    (mixed,) = batches
    assert (mixed[:35].flatten(1).norm(dim=1) > 1).all()  # noise, as the images are black
    assert (mixed[35:55] == 0).all()
    told = (mixed[55:].flatten(1).amax(1) * 255).round().long() - 200 + 2
    wanted = torch.nn.functional.cross_entropy(net(mixed), torch.cat([labels[:55], told]))
    torch.testing.assert_close(loss, wanted)


def test_a_run_says_what_was_mixed_in_and_resumes_with_that_only(narrow, tmp_path) -> None:
    data, once = small_data(tmp_path), replace(NARROW, epochs=1)
    stylised = replace(data, images=255 - data.images, sha256="f" * 64)
    settings = {"restart_steps": "0"}
    for number, given in enumerate((None, stylised)):
        run_training("ant", data, tmp_path / str(number), once, settings=settings, stylised=given)
    described = [json.loads((tmp_path / n / "run.json").read_text())["stylised"] for n in "01"]
    assert described == [None, "f" * 64]
    weights = [(tmp_path / number / "model.safetensors").read_bytes() for number in "01"]
    assert weights[0] != weights[1]
    with pytest.raises(InputError, match="stylised is None and was 'ffff"):
        run_training("ant", data, tmp_path / "1", once, settings=settings)


def test_a_refusal_leaves_nothing(narrow, tmp_path) -> None:
    data = small_data(tmp_path)
    with pytest.raises(InputError, match="takes stylised images"):
        run_training("standard", data, tmp_path / "out", NARROW, stylised=data)
    assert not (tmp_path / "out").exists()


def test_the_command(narrow, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_arrays(tmp_path)
    write_arrays(tmp_path / "painted", count=9)
    app = typer.Typer()
    app.command()(train_model)
    common = "--data set.npz --out out --net narrow --device cpu --epochs 1 --batch 24"

    def run(method: str, *more: str) -> int:
        arguments = [method, *common.split(), "--stylised", *more]
        return CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code

    with pytest.raises(InputError, match="such as ant, got AugMix"):
        run("augmix", "nowhere")
    np.savez("bare.npz", images=np.zeros((4, 16, 16, 3), np.uint8))
    with pytest.raises(InputError, match=r"bare.npz: expected stylised images with their labels"):
        run("ant", "bare.npz")
    assert not (tmp_path / "out").exists()
    assert run("ant3x3", "painted/set.npz", "--set", "restart_steps=1") == 0
    found = json.loads((tmp_path / "out" / "run.json").read_text())
    assert found["stylised"] not in (None, found["data"]["sha256"])
