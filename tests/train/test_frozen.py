"""Nets of which a part is not to learn."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from hardy.train import NETS, loop
from hardy.train.blurpool import STRIDES, Halving
from hardy.train.loop import run_training
from tests.train.small import NARROW, make_narrow, small_data
from tests.train.test_loop import FEW, killed_in, weights


def make_half_frozen(classes: int, halving: Halving = STRIDES) -> torch.nn.Module:
    net = make_narrow(classes, halving)
    net.stem.requires_grad_(False)
    return net


@pytest.mark.parametrize("method", ["standard", "ant", "alp"])
def test_frozen_weights_stay_as_they_are(method, tmp_path, monkeypatch) -> None:
    """Also those methods leave them frozen that hold the net still for a while."""
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    monkeypatch.setitem(NETS._objects, "half_frozen", make_half_frozen)
    data, recipe = small_data(tmp_path), replace(NARROW, net="half_frozen", deterministic=True)
    settings, out = FEW.get(method), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_training(method, data, out, recipe, settings=settings, track=killed_in(2))
    assert run_training(method, data, out, recipe, settings=settings).epochs == 1
    made = weights(out)
    run_training("standard", data, tmp_path / "still", replace(recipe, epochs=1, lr=1e-30))
    fresh = weights(tmp_path / "still")
    assert torch.equal(made["stem.weight"], fresh["stem.weight"])
    assert not torch.equal(made["head.weight"], fresh["head.weight"])
