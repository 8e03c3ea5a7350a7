"""Stability training: the formula, and the noise."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hardy.errors import InputError
from hardy.train.method import Draw, make_method
from hardy.train.methods.stability_training import Stability
from tests.train.small import CPU
from tests.train.tiny import bytes_of, linear_net, no_waiting, softmax, tiny_net


def ready(**settings: str) -> Stability:
    method = make_method("stability", settings)
    assert isinstance(method, Stability)
    method.begin(Draw(0, CPU), (3, 8, 8))
    return method


def test_the_loss_equals_its_formula_and_so_does_its_gradient() -> None:
    """Differences of the formula, in which both predictions depend on the weights, give it."""
    images, labels = bytes_of(6), np.arange(6) % 3
    net = linear_net()
    clean = images.numpy().reshape(6, -1) / 255
    noise = ready().draw.uniform(6, 3, 8, 8).double().numpy().reshape(6, -1)  # the same draws
    noisy = np.clip(clean + 0.3 * (2 * noise - 1), 0, 1)
    weight, bias = (part.detach().double().numpy() for part in net[1].parameters())

    def formula(bias: np.ndarray) -> float:
        p, q = softmax(clean @ weight.T + bias), softmax(noisy @ weight.T + bias)
        label_loss = -np.log(p[np.arange(6), labels]).mean()
        return float(label_loss - 2 * (p * np.log(q)).sum(1).mean())

    loss = ready(amplitude="0.3", weight="2").loss(net, images, torch.from_numpy(labels))
    assert loss.item() == pytest.approx(formula(bias), rel=1e-5)
    loss.backward()
    steps = 1e-6 * np.eye(3)
    slopes = [(formula(bias + step) - formula(bias - step)) / 2e-6 for step in steps]
    assert net[1].bias.grad.tolist() == pytest.approx(slopes, abs=1e-5)


def test_the_noise_is_uniform_and_clipped() -> None:
    method = ready(amplitude="0.1")
    grey = torch.full((20, 3, 16, 16), 0.5)
    noise = method.noisy(grey) - grey
    assert 0.0999 < noise.max() <= 0.1 + 1e-6
    assert -0.0999 > noise.min() >= -0.1 - 1e-6
    assert noise.mean() == pytest.approx(0, abs=0.003)
    assert noise.std() == pytest.approx(0.1 / 3**0.5, rel=0.02)
    ends = torch.cat([torch.zeros(4, 3, 16, 16), torch.ones(4, 3, 16, 16)])
    made = method.noisy(ends)
    assert made.min() == 0
    assert made.max() == 1
    assert (made[:4] == 0).float().mean() == pytest.approx(0.5, abs=0.05)


def test_clean_and_noisy_images_are_one_batch() -> None:
    batches = []

    def model(pixels: torch.Tensor) -> torch.Tensor:
        batches.append(pixels)
        return pixels.flatten(1)[:, :3]

    images = bytes_of(5)
    ready().loss(model, images, torch.arange(5) % 3)
    (batch,) = batches
    assert batch.shape == (10, 3, 8, 8)
    assert torch.equal(batch[:5], images.float() / 255)
    assert (batch[5:] != batch[:5]).flatten(1).any(1).all()


def test_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    method, net = ready(), tiny_net()
    with no_waiting(monkeypatch):
        method.loss(net, bytes_of(4), torch.arange(4) % 3).backward()


def test_settings() -> None:
    assert ready().described() == {"amplitude": 0.05, "weight": 0.05}
    assert ready(amplitude="0.01", weight="0.1").described() == {"amplitude": 0.01, "weight": 0.1}


@pytest.mark.parametrize("setting", ["amplitude", "weight"])
@pytest.mark.parametrize("value", ["0", "-0.1", "nan", "inf"])
def test_what_cannot_be_is_refused(setting, value) -> None:
    with pytest.raises(InputError, match=f"expected (finite )?{setting} above 0, got "):
        ready(**{setting: value})
