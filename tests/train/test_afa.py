"""AFA: its waves, its second batch norms, and what a trained net has of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.loop import run_training
from hardy.train.method import Classifier, Draw, make_method
from hardy.train.methods.auxiliary_fourier import AuxiliaryFourier, give_second_norms
from tests.train.small import CPU, NARROW, narrow, small_data
from tests.train.test_loop import killed_in, same, weights
from tests.train.tiny import bytes_of, linear_net, no_waiting, tiny_net

__all__ = ["narrow"]
HALF = (0.5, 0.5, 0.5)


def ready(net: nn.Module | None = None, **settings: str) -> AuxiliaryFourier:
    method = make_method("afa", settings)
    assert isinstance(method, AuxiliaryFourier)
    method.classifier = Classifier(net or tiny_net(), HALF, HALF)
    method.begin(Draw(0, CPU), (3, 8, 8))
    return method


def test_waves_are_those_of_the_formula() -> None:
    method = ready(strength="0.3")
    pixels = torch.full((5, 3, 8, 8), 0.5)
    method.draw.integers = lambda below, *shape: torch.full(shape, 2)
    shares = iter([0.25, 0.6])
    method.draw.uniform = lambda *shape: torch.full(shape, next(shares))
    v, u = np.mgrid[:8, :8]
    angle = -math.pi * 0.25
    wave = np.sin(2 * math.pi * 3 / 8 * (u * math.cos(angle) + v * math.sin(angle)) - math.pi / 4)
    strength = -0.3 * math.log(1 - 0.6)
    wanted = 0.5 + strength * 8 / 32 * wave / np.linalg.norm(wave)
    np.testing.assert_allclose(method.waved(pixels)[2, 1], wanted, atol=1e-6)


def test_waves_are_clipped_and_differ_between_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    method, pixels = ready(), bytes_of(40) / 255
    with no_waiting(monkeypatch):
        made = method.waved(pixels)
    assert made.min() >= 0
    assert made.max() <= 1
    change = method.waved(torch.full((400, 3, 8, 8), 0.5)) - 0.5
    assert not torch.equal(change[:, 0], change[:, 1])


def test_halves_are_normalised_apart_and_the_second_leaves_no_trace() -> None:
    plain, net = nn.BatchNorm2d(3), nn.Sequential(nn.BatchNorm2d(3))
    (norm,) = give_second_norms(net).values()
    batch = torch.randn(8, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    batch[4:] = 5 + 3 * batch[4:]
    norm.halved = True
    made = net(batch)
    torch.testing.assert_close(made[:4], plain(batch[:4]))
    torch.testing.assert_close(
        made[4:], functional.batch_norm(batch[4:], None, None, training=True)
    )
    torch.testing.assert_close(norm.running_mean, plain.running_mean)
    assert list(net.state_dict()) == [f"0.{name}" for name in plain.state_dict()]
    norm.halved = False
    assert torch.equal(net.eval()(batch), plain.eval()(batch))


def test_the_loss_of_afa_is_the_mean_of_both() -> None:
    images, labels = bytes_of(6), torch.arange(6) % 3
    method, again = ready(), ready()
    again.classifier.load_state_dict(method.classifier.state_dict())
    loss = method.loss(method.classifier.train(), images, labels)
    plain = again.classifier.train()
    parts = [
        functional.cross_entropy(plain(x), labels)
        for x in (images / 255, again.waved(images / 255))
    ]
    torch.testing.assert_close(loss, sum(parts) / 2)


def test_second_norms_are_trained_and_kept_while_it_trains(narrow, tmp_path, monkeypatch) -> None:
    from hardy.train import loop

    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    data, recipe = small_data(tmp_path), replace(NARROW, epochs=3, deterministic=True)
    run_training("afa", data, tmp_path / "whole", recipe)
    with pytest.raises(KeyboardInterrupt):
        run_training("afa", data, tmp_path / "cut", recipe, track=killed_in(3))
    saved = load_file(tmp_path / "cut/checkpoint.safetensors")
    second = {name: one for name, one in saved.items() if name.startswith("method.second.")}
    assert second
    for name, one in second.items():
        assert not torch.equal(one, torch.full_like(one, float(name.endswith("weight"))))
        assert saved[name.replace("method.second.", "momentum.method ")].any()
    run_training("afa", data, tmp_path / "cut", recipe)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    run_training("standard", data, tmp_path / "standard", recipe)
    assert weights(tmp_path / "whole").keys() == weights(tmp_path / "standard").keys()


def test_another_method_may_show_the_first_half(tmp_path, narrow) -> None:
    method = ready(main="trivial_augment")
    assert {"single_frequency_greyscale", "contrast"} <= set(method.seen)
    data, recipe = small_data(tmp_path), replace(NARROW, epochs=1)
    settings = {"main": "prime"}
    run_training("afa", data, tmp_path / "both", recipe, settings=settings)
    run_training("afa", data, tmp_path / "alone", recipe)
    assert not same(weights(tmp_path / "both"), weights(tmp_path / "alone"))


@pytest.mark.parametrize(
    ("settings", "net", "message"),
    [
        ({"main": "gauss_single"}, None, "shows one view of an image, .* got gauss_single"),
        ({"strength": "0"}, None, "expected strength above 0"),
        ({}, linear_net(), "afa: expected a net with batch norms, got Sequential"),
        (
            {},
            nn.Sequential(nn.SyncBatchNorm(3)),
            "expected a net whose batch norms are torch's, got SyncBatchNorm",
        ),
    ],
)
def test_what_afa_refuses(settings, net, message) -> None:
    with pytest.raises(InputError, match=message):
        ready(net, **settings)
