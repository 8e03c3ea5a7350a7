"""What work runs on, as records say it."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from hardy.execute.machine import machine


@pytest.mark.parametrize(("there", "name"), [(True, "Card"), (False, None)])
def test_the_graphics_card(there: bool, name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(is_available=lambda: there, get_device_name=lambda: "Card")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert machine()["gpu"] == name
