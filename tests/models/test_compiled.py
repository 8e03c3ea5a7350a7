"""Modules that torch.compile made: the same model, shown whole batches only."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hardy.errors import HardyError
from hardy.models import load_model
from tests.photos import random_images

# What torch 2.15 has to say of a Python 3.13.0.
pytestmark = pytest.mark.filterwarnings("ignore:Guards may run slower:RuntimeWarning")


class Counting(torch.nn.Module):
    """Remembers the sizes it was called with."""

    preprocessing = {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(3, 4)
        self.sizes: list[int] = []
        self.room = 1000

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        self.sizes.append(len(pixels))
        if len(pixels) > self.room:
            raise torch.OutOfMemoryError
        logits: torch.Tensor = self.linear(pixels.mean(dim=(2, 3)))
        return logits


def compiled(module: torch.nn.Module, how: str) -> torch.nn.Module:
    """Not really, which would need a C++ compiler; but it looks so."""
    if how == "wrapped":
        return torch.compile(module, backend="eager", disable=False)
    module.compile(backend="eager")
    return module


@pytest.mark.parametrize("how", ["wrapped", "in place"])
def test_a_compiled_module_is_the_same_model(how: str) -> None:
    images = random_images(20, 9, 9)
    plain = load_model(Counting(), batch=8)
    fast = load_model(compiled(Counting(), how), batch=8)
    assert (fast.name, fast.identity) == (plain.name, plain.identity)
    assert fast.preprocessing == plain.preprocessing
    np.testing.assert_allclose(fast.logits(images), plain.logits(images), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("how", ["wrapped", "in place"])
def test_it_sees_one_shape(how: str) -> None:
    module = Counting()
    model = load_model(compiled(module, how), batch=8)
    for count in (1, 8, 20):
        assert model.logits(random_images(count, 9, 9)).shape == (count, 4)
    assert module.sizes == [8] * 5
    plain = Counting()
    load_model(plain, batch=8).logits(random_images(20, 9, 9))
    assert plain.sizes == [8, 8, 4]


def test_filled_batches_that_do_not_fit_are_halved() -> None:
    module = Counting()
    module.room = 20
    model = load_model(compiled(module, "wrapped"))
    assert model.logits(random_images(3, 9, 9)).shape == (3, 4)
    assert module.sizes == [64, 32, 16]
    module.room = 0
    with pytest.raises(HardyError, match="no memory left for a batch of 1"):
        model.logits(random_images(3, 9, 9))
