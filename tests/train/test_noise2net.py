"""Noise2Net: random nets, one for each image, against loops over images, channels and pixels."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.method import Classifier, Draw, make_method
from hardy.train.methods.noise2net import Noise2Net, convolve
from tests.train.small import CPU
from tests.train.tiny import bytes_of, linear_net, no_waiting, tiny_net

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)


class Tape(Draw):
    """Keeps what it gave away."""

    def __init__(self) -> None:
        super().__init__(0, CPU)
        self.uniforms: list[Tensor] = []
        self.whole: list[Tensor] = []

    def uniform(self, *shape: int) -> Tensor:
        self.uniforms.append(super().uniform(*shape))
        return self.uniforms[-1]

    def integers(self, below: int, *shape: int) -> Tensor:
        self.whole.append(super().integers(below, *shape))
        return self.whole[-1]


def ready(draw: Draw | None = None, **settings: str) -> Noise2Net:
    method = make_method("noise2net", settings)
    assert isinstance(method, Noise2Net)
    method.classifier = Classifier(tiny_net(), MEAN, STD)
    method.begin(draw or Draw(0, CPU), (3, 8, 8))
    return method


def normalised(planes: np.ndarray) -> np.ndarray:
    """(C, H, W), each plane to mean 0 and variance 1."""
    middle = planes.mean((1, 2), keepdims=True)
    return (planes - middle) / np.sqrt(planes.var((1, 2), keepdims=True) + 1e-5)


def by_loops(planes: np.ndarray, weights: np.ndarray, dilation: int) -> np.ndarray:
    """One image (C, H, W), weights (out, in, k, k), zeros around."""
    outputs, _, side, _ = weights.shape
    _, height, width = planes.shape
    made = np.zeros((outputs, height, width))
    for row in range(side):
        for column in range(side):
            down, right = ((at - side // 2) * dilation for at in (row, column))
            for y in range(height):
                for x in range(width):
                    if 0 <= y + down < height and 0 <= x + right < width:
                        made[:, y, x] += weights[:, :, row, column] @ planes[:, y + down, x + right]
    return made


def through_one_net(image: np.ndarray, tape: Tape, number: int) -> np.ndarray:
    """The image of that number, by the draws of the tape in their order."""
    uniforms = iter([drawn[number].double().numpy() for drawn in tape.uniforms])
    whole = iter([int(drawn[number]) for drawn in tape.whole])
    epsilon = 0.75 / 2 + 0.75 / 2 * next(uniforms)
    for _ in range(4):
        planes = normalised(by_loops(image, (2 * next(uniforms) - 1)[:, :, None, None], 1))
        parts = list(np.maximum(planes, 0).reshape(4, 16, *image.shape[1:]))
        for place in (1, 2, 3):
            given = parts[place] + (parts[place - 1] if place > 1 else 0)
            weights = 2 * next(uniforms) - 1
            assert weights.shape == (16, 16, 3, 3)
            if next(whole) == 0:
                weights = weights[:, :, 1:2, 1:2]
            parts[place] = np.maximum(normalised(by_loops(given, weights, next(whole) + 1)), 0)
        back = (2 * next(uniforms) - 1)[:, :, None, None]
        image = image + epsilon * normalised(by_loops(np.concatenate(parts), back, 1))
    assert next(uniforms, None) is None
    return image


def test_each_image_goes_through_its_own_net() -> None:
    tape, images = Tape(), bytes_of(5)
    made = ready(tape).augment(images.float() / 255)
    mean, std = (np.array(figures)[:, None, None] for figures in (MEAN, STD))
    for number in range(3):  # the second half begins with image 2
        start = (images[2 + number].numpy() / 255 - mean) / std
        wanted = through_one_net(start, tape, number) * std + mean
        np.testing.assert_allclose(made[2 + number].numpy(), wanted, atol=1e-4)


def test_half_of_the_batch_is_changed_without_gradient_and_without_clipping() -> None:
    pixels = (bytes_of(9).float() / 255).requires_grad_()
    made = ready().augment(pixels)
    assert torch.equal(made[:4], pixels[:4])
    assert (made[4:] != pixels[4:]).flatten(1).any(1).all()
    assert not made.requires_grad
    assert made.min() < 0
    assert made.max() > 1


def test_convolutions_of_all_dilations_equal_torchs() -> None:
    draws = torch.Generator().manual_seed(0)
    features = torch.randn(3, 5, 7, 9, generator=draws)
    weights = torch.randn(3, 4, 5, 3, 3, generator=draws)
    made = convolve(features, weights, torch.tensor([3, 1, 2]))
    for number, dilation in enumerate((3, 1, 2)):
        image, own = features[number : number + 1], weights[number]
        wanted = functional.conv2d(image, own, padding=dilation, dilation=dilation)
        torch.testing.assert_close(made[number : number + 1], wanted, atol=1e-4, rtol=1e-4)


def test_what_is_drawn() -> None:
    tape = Tape()
    ready(tape).augment(torch.full((200, 3, 4, 4), 0.5))
    kernels, dilations = (
        torch.cat([k.flatten() for k in tape.whole[::2]]),
        torch.cat(tape.whole[1::2]),
    )
    assert len(kernels) == len(dilations) == 100 * 12
    assert torch.bincount(kernels).tolist() == pytest.approx([600, 600], rel=0.15)
    assert torch.bincount(dilations).tolist() == pytest.approx([400, 400, 400], rel=0.15)
    before = len(tape.uniforms)
    ready(tape).augment(torch.full((200, 3, 4, 4), 0.5))
    assert not torch.equal(tape.uniforms[1], tape.uniforms[before + 1])  # another net next time


@pytest.mark.parametrize("largest", [0.75, 0.2])
def test_epsilon_is_uniform_between_its_half_and_itself(largest, monkeypatch) -> None:
    method = ready(epsilon=str(largest))
    monkeypatch.setattr(method, "block", torch.ones_like)
    made = method.through_nets(torch.zeros(2000, 3, 1, 1))
    assert (made == made[:, :1]).all()
    epsilon = made[:, 0, 0, 0] / 4  # blocks
    assert epsilon.min() == pytest.approx(largest / 2, rel=0.01)
    assert epsilon.max() == pytest.approx(largest, rel=0.01)
    assert epsilon.mean() == pytest.approx(0.75 * largest, rel=0.02)


def test_the_loss_is_cross_entropy_of_what_it_made() -> None:
    method, images, labels = ready(), bytes_of(6), torch.arange(6) % 3
    net = linear_net()
    loss = method.loss(net, images, labels)
    wanted = functional.cross_entropy(net(ready().augment(images.float() / 255)), labels)
    torch.testing.assert_close(loss, wanted)
    loss.backward()
    assert all(weight.grad is not None for weight in net.parameters())


def test_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    method = ready()
    with no_waiting(monkeypatch):
        method.loss(method.classifier, bytes_of(4), torch.arange(4) % 3).backward()


def test_settings() -> None:
    assert ready().described() == {"epsilon": 0.75}
    for value in ("0", "-1", "nan"):
        with pytest.raises(InputError, match="expected epsilon above 0, got "):
            ready(epsilon=value)
