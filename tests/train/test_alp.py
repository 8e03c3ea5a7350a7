"""Adversarial logit pairing: the attack, and the formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hardy.errors import InputError
from hardy.train.method import Draw, make_method
from hardy.train.methods.alp import AdversarialLogitPairing
from tests.train.small import CPU
from tests.train.tiny import bytes_of, linear_net, no_waiting, softmax, tiny_net


def ready(**settings: str) -> AdversarialLogitPairing:
    method = make_method("alp", settings)
    assert isinstance(method, AdversarialLogitPairing)
    method.begin(Draw(0, CPU), (3, 8, 8))
    return method


class Linear:
    """A linear net, once for torch and once by hand; the gradient of the cross-entropy with respect
    to the input is W'(p − y)."""

    def __init__(self) -> None:
        self.net = linear_net()
        self.weight, self.bias = (part.detach().double().numpy() for part in self.net.parameters())

    def logits(self, pixels: np.ndarray) -> np.ndarray:
        return pixels @ self.weight.T + self.bias

    def attacked(self, pixels, start, labels, epsilon: float, step: float, steps: int):
        lowest, highest = np.maximum(pixels - epsilon, 0), np.minimum(pixels + epsilon, 1)
        found = lowest + (highest - lowest) * start
        for _ in range(steps):
            slope = (softmax(self.logits(found)) - np.eye(3)[labels]) @ self.weight
            found = np.clip(found + step * np.sign(slope), lowest, highest)
        return found


def test_attack_and_loss_equal_their_formulas() -> None:
    linear, images, labels = Linear(), bytes_of(6), np.arange(6) % 3
    pixels = images.numpy().reshape(6, -1) / 255
    start = ready().draw.uniform(6, 3, 8, 8).double().numpy().reshape(6, -1)  # the same draws
    wanted = linear.attacked(pixels, start, labels, 0.1, 0.03, 4)
    settings = {"epsilon": "0.1", "step": "0.03", "steps": "4", "weight": "0.7"}
    targets = torch.from_numpy(labels)
    found = ready(**settings).attack(linear.net, images.float() / 255, targets)
    np.testing.assert_allclose(found.flatten(1).numpy(), wanted, atol=1e-5)
    logits = linear.logits(np.concatenate([pixels, wanted]))
    picked = softmax(logits)[np.arange(12), np.tile(labels, 2)]
    pairing = ((logits[6:] - logits[:6]) ** 2).sum() / (6 * 3)
    loss = ready(**settings).loss(linear.net, images, targets)
    assert loss.item() == pytest.approx(-np.log(picked).mean() + 0.7 * pairing, rel=1e-4)


def test_the_attack_stays_in_its_box_and_raises_the_loss() -> None:
    linear, images = Linear(), bytes_of(20)
    pixels, labels = images.float() / 255, torch.arange(20) % 3
    found = ready().attack(linear.net, pixels, labels)
    assert found.min() >= 0
    assert found.max() <= 1
    assert (found - pixels).abs().max() == pytest.approx(8 / 255, rel=1e-4)
    losses = [
        torch.nn.functional.cross_entropy(linear.net(given), labels, reduction="none")
        for given in (pixels, found)
    ]
    assert (losses[1] > losses[0]).all()


def test_the_attack_leaves_the_net_as_it_is_and_meets_it_in_eval_mode() -> None:
    net = tiny_net().train()
    modes = []
    net.register_forward_hook(lambda module, given, made: modes.append(module.training))
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    method, images, labels = ready(steps="3"), bytes_of(4), torch.arange(4) % 3
    method.attack(net, images.float() / 255, labels)
    assert modes == [False] * 3
    assert net.training
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())
    assert all(weight.grad is None for weight in net.parameters())
    method.loss(net, images, labels).backward()
    assert modes[3:] == [False] * 3 + [True]
    assert all(weight.grad is not None for weight in net.parameters())


def test_every_image_has_its_partner() -> None:
    linear, images = Linear(), bytes_of(5)
    batches = []
    linear.net.register_forward_hook(lambda module, given, made: batches.append(given[0].detach()))
    ready(steps="2").loss(linear.net, images, torch.arange(5) % 3)
    assert [len(batch) for batch in batches] == [5, 5, 10]
    clean, adversarial = batches[-1].chunk(2)
    assert torch.equal(clean, images.float() / 255)
    changes = (adversarial - clean).flatten(1).abs().amax(1)
    assert changes.tolist() == pytest.approx([8 / 255] * 5, rel=1e-4)


def test_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    method, net = ready(steps="2"), tiny_net()
    with no_waiting(monkeypatch):
        method.loss(net, bytes_of(4), torch.arange(4) % 3).backward()


def test_settings() -> None:
    found = ready(steps="3").described()
    assert found == {"epsilon": 8 / 255, "step": 2 / 255, "steps": 3, "weight": 0.5}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": "0"}, "expected epsilon above 0, got 0.0"),
        ({"step": "nan"}, "expected step above 0, got nan"),
        ({"weight": "-1"}, "expected weight above 0, got -1.0"),
        ({"steps": "0"}, "expected steps of at least 1, got 0"),
        ({"steps": "2.5"}, 'alp: steps as a whole number, got "2.5"'),
    ],
)
def test_what_cannot_be_is_refused(settings, message) -> None:
    with pytest.raises(InputError, match=message):
        ready(**settings)
