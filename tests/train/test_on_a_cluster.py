"""What is refused before a cluster is asked. Training on one is tested in tests/cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from hardy.errors import InputError, MissingResource
from hardy.locks import BusyFolder
from hardy.train import record
from hardy.train.record import training_in, wait_until_free
from hardy.train.training import train
from tests.train.small import write_arrays

HOW: dict[str, Any] = {"method": "standard", "net": "wrn_16_4", "device": "cpu"}


def test_processes_are_for_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected `processes` with `on`, got it alone; or start"):
        train(**HOW, data=write_arrays(tmp_path), out=tmp_path / "out", processes=2)


def test_there_is_at_least_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected at least 1 of `processes`, got 0"):
        train(**HOW, data=write_arrays(tmp_path), out=tmp_path / "out", on="ray", processes=0)


def test_without_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingResource, match=r"a run on Ray needs ray, .*\[ray\]"):
        train(**HOW, data=write_arrays(tmp_path), out=tmp_path / "out", on="ray")
    assert not (tmp_path / "out").exists()


def test_a_folder_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever holds it lets go while we wait."""
    holder = training_in(tmp_path)
    holder.__enter__()
    with pytest.raises(BusyFolder, match="another process is training in"), training_in(tmp_path):
        pass
    monkeypatch.setattr(record.time, "sleep", lambda seconds: holder.__exit__(None, None, None))
    wait_until_free(tmp_path)
    with training_in(tmp_path):
        pass
