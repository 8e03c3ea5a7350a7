"""What the tests of several methods share: images, a net, formulas, and a watch over waiting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tests.photos import random_images


def bytes_of(count: int, side: int = 8) -> torch.Tensor:
    return torch.from_numpy(random_images(count, side, side)).permute(0, 3, 1, 2)


def tiny_net(classes: int = 3) -> nn.Module:
    """A net with a batch norm, so that it matters in which mode it is."""
    return nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, classes),
    )


def linear_net(values: int = 192, classes: int = 3) -> nn.Sequential:
    """Always the same one."""
    layer = nn.Linear(values, classes)
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_(torch.randn(weight.shape, generator=draws) / values**0.5)
    return nn.Sequential(nn.Flatten(), layer)


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


aten = torch.ops.aten
# What hands a number to the host, or has a shape that depends on numbers.
WAITING = {
    aten._local_scalar_dense,
    aten.equal,
    aten.is_nonzero,
    aten.masked_select,
    aten.nonzero,
    aten._unique2,
}


class _Watch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        by_mask = func.overloadpacket in (aten.index, aten.index_put, aten.index_put_) and any(
            index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]
        )
        if func.overloadpacket in WAITING or by_mask:
            raise AssertionError(f"{func} waits for the device")
        return func(*args, **(kwargs or {}))


@contextmanager
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing may wait for the device, checked on the CPU by the calls that would."""

    def refuse(*arguments: object) -> None:
        raise AssertionError("the host asks for numbers")

    with monkeypatch.context() as patched, _Watch():
        for name in ("tolist", "numpy", "cpu"):  # which on the CPU pass by the dispatcher
            patched.setattr(torch.Tensor, name, refuse)
        yield
