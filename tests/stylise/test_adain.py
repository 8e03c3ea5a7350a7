"""The network of AdaIN: its layers, and its formula against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from hardy.stylise.adain import AdaIN, statistics
from tests.stylise.tiny_adain import random_net


def test_layers_are_those_of_the_paper() -> None:
    with torch.device("meta"):
        net = AdaIN()
    sizes = [
        sum(weight.numel() for weight in part.parameters()) for part in (net.encoder, net.decoder)
    ]
    assert sizes == [3_505_740, 3_505_219]
    assert len(net.encoder) == 31
    names = {name for name in net.state_dict() if name.endswith("weight")}
    assert names == {
        *(f"encoder.{place}.weight" for place in (0, 2, 5, 9, 12, 16, 19, 22, 25, 29)),
        *(f"decoder.{place}.weight" for place in (1, 5, 8, 11, 14, 18, 21, 25, 28)),
    }
    assert isinstance(net.decoder[-1], nn.Conv2d)  # no ReLU behind the last
    assert all(pool.ceil_mode for pool in net.encoder if isinstance(pool, nn.MaxPool2d))


@pytest.mark.parametrize("size", [(16, 16), (17, 31), (24, 9)])
def test_images_keep_their_size(size: tuple[int, int]) -> None:
    net = random_net()
    with torch.no_grad():
        made = net(torch.rand(1, 3, *size), net.style(torch.rand(1, 3, 16, 16)), 1.0)
    assert made.shape == (1, 3, *size)


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_features_get_the_statistics_of_the_style(alpha: float) -> None:
    net = random_net()
    net.encoder = net.decoder = nn.Sequential()
    image, style = (torch.rand(1, 3, 6, 7), 3 * torch.rand(1, 3, 4, 5) + 1)
    made = net(image, net.style(style), alpha)[0].numpy()
    content, other = (one[0].double().numpy().reshape(3, -1) for one in (image, style))

    def moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        variance = values.var(1, ddof=1, keepdims=True) + 1e-5
        return values.mean(1, keepdims=True), np.sqrt(variance)

    (mean, deviation), (its_mean, its_deviation) = moments(content), moments(other)
    dressed = its_deviation * (content - mean) / deviation + its_mean
    wanted = (alpha * dressed + (1 - alpha) * content).reshape(3, 6, 7)
    np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-4)


def test_statistics_of_a_flat_channel_are_not_zero() -> None:
    assert statistics(torch.ones(1, 2, 3, 3)).deviation.min() > 0
