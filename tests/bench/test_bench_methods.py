"""The measurement of methods runs, and leaves none out."""

from __future__ import annotations

import pytest

from bench import methods
from bench.methods import PARTS, main
from hardy.train import METHODS
from tests.train.small import narrow

__all__ = ["narrow"]

# They leave a batch as it is: the net is all of a step, or the work is done between steps.
NOTHING = {"standard", "groupwise_inhibition", "corrupted"}


def test_every_method_is_measured_or_does_nothing_in_a_step() -> None:
    assert {*PARTS} | NOTHING == {*METHODS}
    assert not {*PARTS} & NOTHING


def test_it_says_the_share_of_each(
    narrow: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(methods, "WARM_UP", 0)
    monkeypatch.setattr(methods, "SIDE", 8)
    few = {"deep_augment": {"steps": 0, "damaged": 1}}
    monkeypatch.setattr(methods, "SETTINGS", few)
    names = [name for name in PARTS if name != "pix_mix"]  # whose fractals the user's cache keeps
    assert main([*names, "--net=narrow", "--batch=6", "--repeats=1"]) == 0
    about, head, *rows = capsys.readouterr().out.splitlines()
    assert "narrow, batches of 6, 8 px, CPU" in about
    assert "bar 25 %" in head
    assert [row.split()[0] for row in rows] == names
    assert all(" ms " in row and "%" in row for row in rows)
