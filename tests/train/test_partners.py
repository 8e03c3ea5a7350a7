"""A method with partners hands on to them what the loop says, and keeps their state by name."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hardy.train.method import Method, make_method


class Noted(Method):
    """A partner that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def begin_epoch(self, epoch, model, batches) -> None:
        self.told.append(epoch)

    def epoch_state(self) -> dict[str, Tensor]:
        return {"within": torch.tensor(1)}

    def restore_epoch(self, epoch, state) -> None:
        self.told.append((epoch, *state))

    def state(self) -> dict[str, Tensor]:
        return {"kept": torch.tensor(2)}

    def restore(self, state) -> None:
        self.told.append(tuple(state))


@pytest.mark.parametrize(("name", "settings"), [("afa", {"main": "prime"}), ("best", {})])
def test_partners_are_told_of_epochs_and_their_state_is_kept(name: str, settings: dict) -> None:
    method = make_method(name, settings)
    method.norms = {}  # AFA's own state, of which there is none before it begins
    one, other = Noted(), Noted()
    method.partners.methods = {"one": one, "other": other}
    method.begin_epoch(3, torch.nn.Identity(), iter(()))
    within, kept = method.epoch_state(), method.state()
    assert [*within] == ["one.within", "other.within"]
    assert [*kept] == ["one.kept", "other.kept"]
    method.restore(kept)
    method.restore_epoch(4, within)
    assert one.told == other.told == [3, ("kept",), (4, "within")]
