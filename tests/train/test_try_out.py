"""Nets that cannot take the images, or not so few of them: said before a run begins."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from hardy.errors import InputError
from hardy.train import NETS
from hardy.train.loop import run_training
from hardy.train.processes import Ranks
from hardy.train.trial import try_out
from tests.train.small import CPU, NARROW, small_data


class OfOneSize(torch.nn.Module):
    """It wants 8 x 8 pixels, and normalises over the images alone."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(192, 4), torch.nn.BatchNorm1d(4)
        )
        self.head = torch.nn.Linear(4, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x))


@pytest.mark.parametrize(
    ("side", "batch", "message"),
    [
        (16, 24, "of_one_size cannot train on 2 of the images, 16 x 16"),
        (8, 63, "cannot train on 1 of the images.* another batch than 63 of 64"),
    ],
)
def test_a_net_that_cannot_take_the_images(tmp_path, monkeypatch, side, batch, message) -> None:
    monkeypatch.setitem(NETS._objects, "of_one_size", lambda classes, halving: OfOneSize(classes))
    recipe = replace(NARROW, net="of_one_size", batch=batch)
    with pytest.raises(InputError, match=message):
        run_training("standard", small_data(tmp_path, side=side), tmp_path / "run", recipe)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("count", "batch"), [(63, 3), (66, 32), (64, 2)])
def test_a_process_that_gets_one_image(tmp_path, monkeypatch, count, batch) -> None:
    """It is one of every batch, or of the last of an epoch, for two processes."""
    monkeypatch.setitem(NETS._objects, "of_one_size", lambda classes, halving: OfOneSize(classes))
    recipe = replace(NARROW, net="of_one_size", batch=batch)
    data = small_data(tmp_path, side=8, count=count)
    net = OfOneSize(3)
    try_out(net, data, recipe, CPU, Ranks(0, 1))
    with pytest.raises(InputError, match="cannot train on 1 of the images"):
        try_out(net, data, recipe, CPU, Ranks(0, 2))
