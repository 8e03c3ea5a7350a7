"""Nets that draw random numbers by themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from hardy.train import NETS, loop
from hardy.train.blurpool import STRIDES, Halving
from hardy.train.loop import run_training
from hardy.train.method import Draw
from hardy.train.processes import Ranks
from tests.train.small import CPU, NARROW, make_narrow, small_data
from tests.train.test_loop import killed_in, same, weights

DROPPING = replace(NARROW, net="dropping", epochs=3, deterministic=True)


def make_dropping(classes: int, halving: Halving = STRIDES) -> nn.Module:
    net = make_narrow(classes, halving)
    net.head = nn.Sequential(nn.Dropout(0.5), net.head)
    return net


@pytest.fixture
def dropping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    monkeypatch.setitem(NETS._objects, "dropping", make_dropping)


@pytest.mark.usefixtures("dropping")
def test_a_killed_run_resumes_to_the_same_weights_whatever_else_was_drawn(tmp_path) -> None:
    data = small_data(tmp_path)
    run_training("standard", data, tmp_path / "whole", DROPPING)
    torch.rand(1)
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, tmp_path / "cut", DROPPING, track=killed_in(3))
    torch.rand(1)
    before = torch.random.get_rng_state()
    assert run_training("standard", data, tmp_path / "cut", DROPPING).epochs == 1
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_it_draws_otherwise_in_other_epochs_processes_and_runs() -> None:
    draws = [Draw(0, CPU), Draw(1, CPU), Draw(0, CPU, Ranks(1, 2))]
    drawn = set()
    for draw in draws:
        for epoch in (0, 1):
            with draw.lent(epoch):
                drawn.add(float(torch.rand(())))
    assert len(drawn) == 6
