"""A run that is shared, by processes or by shares, is the run that one process makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.run import subject as subjects
from hardy.run.device_places import find_places
from hardy.store.worst_images import read_worst
from tests.run.runs import FEW, one
from tests.store.stores import contents_hash
from tests.suites.helpers import write_rows

SUITES: dict[str, dict[str, Any]] = {
    "corruptions": FEW,
    "sequences": {"suite": "cifar10_p", "only": ["tilt", "brightness"]},
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subjects, "SMALL", 4)


@pytest.mark.parametrize("suite", SUITES)
def test_shares_together_are_the_whole(suite: str, tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 14)
    given: dict[str, Any] = {**SUITES[suite], "images": rows}
    whole = one(evaluate("fake:10", store=tmp_path / "whole", **given))
    stored = []
    for share in ("1/3", "3/3", "2/3", "2/3"):
        run = one(evaluate("fake:10", store=tmp_path / "shared", shard=share, **given)).stored
        stored.append(int(run.complete(run.cells).sum()))
    assert stored[0] < stored[1] < stored[2] == stored[3] == 14
    assert contents_hash(run) == contents_hash(whole.stored)
    assert [session["shard"] for session in run.details["sessions"]] == ["1/3", "3/3", "2/3", "2/3"]
    assert read_worst(run.folder) == read_worst(whole.folder)


def test_devices_share_a_run(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 14)
    given: dict[str, Any] = {**FEW, "images": rows}
    models = ["fake:10", "fake:10:3"]
    whole = evaluate(models, store=tmp_path / "whole", **given)
    shared = evaluate(models, store=tmp_path / "shared", devices="cpu,cpu", **given)
    assert [contents_hash(a.stored) for a in whole] == [contents_hash(b.stored) for b in shared]
    assert [read_worst(a.folder) for a in whole] == [read_worst(b.folder) for b in shared]
    parts = {path: path.stat().st_mtime_ns for path in shared[0].folder.glob("parts/*")}
    evaluate(models, store=tmp_path / "shared", devices="cpu,cpu", **given)
    assert {p: p.stat().st_mtime_ns for p in shared[0].folder.glob("parts/*")} == parts


DRAWN = """
import torch

def make():
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 10))
"""


def test_every_process_has_the_same_weights(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(DRAWN)  # other ones at each call
    given: dict[str, Any] = {**FEW, "images": write_rows(tmp_path, 8), "store": tmp_path / "runs"}
    with pytest.raises(InputError, match=r"the same model in every process, got one with other"):
        evaluate(f"torch:{tmp_path / 'net.py'}:make", devices="cpu,cpu", **given)


def test_a_share_counts_what_is_its_own(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 14)  # blocks of 4, 4, 4, 2
    counted: dict[str, int] = {}
    for share in ("1/3", "2/3", "3/3"):
        evaluate(
            ["fake:10", "fake:10:3"],
            images=rows,
            store=tmp_path / share.replace("/", "-"),
            shard=share,
            announce=lambda evaluation, share=share: counted.update(
                {share: evaluation.predictions}
            ),
            **FEW,
        )
    assert counted == {"1/3": 2 * 4 * 11, "2/3": 2 * 4 * 11, "3/3": 2 * 6 * 11}
    with pytest.raises(InputError, match="expected `dry_run` without `shard`"):
        evaluate("fake:10", images=rows, store=tmp_path, shard="1/3", dry_run=True, **FEW)


def test_a_share_without_images_says_so(tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.warns(UserWarning, match="share 5/9 has no images: there are 4 blocks"):
        evaluate(
            "fake:10",
            images=write_rows(tmp_path, 14),
            store=tmp_path,
            shard="5/9",
            announce=lambda evaluation: told.extend(evaluation.describe()),
            **FEW,
        )
    assert "share 5/9: 0 of 14 images" in told


def test_a_model_that_cannot_travel(tmp_path: Path) -> None:
    def mine(images: Any) -> Any:
        return np.zeros((len(images), 10))

    with pytest.raises(InputError, match=r"loaded in other processes.*torch:net.py:make@weights"):
        evaluate(mine, images=write_rows(tmp_path, 4), store=tmp_path, devices="cpu,cpu", **FEW)


@pytest.mark.parametrize("devices", ["", "gpu", "0,cpu", "1,1", "-1", [], ["all", "all"]])
def test_what_are_no_devices(devices: Any) -> None:
    with pytest.raises(InputError, match=r'expected devices as "all", numbers of GPUs'):
        find_places(devices)


def test_gpus_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardy.run.device_places._gpus", lambda: 2)
    with pytest.raises(InputError, match=r"got 3; it finds 2 GPUs \(0 to 1\)"):
        find_places("0,3")
    assert [dict(place) for place in find_places([1, 0]).places] == [
        {"CUDA_VISIBLE_DEVICES": "1"},
        {"CUDA_VISIBLE_DEVICES": "0"},
    ]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    assert [place["CUDA_VISIBLE_DEVICES"] for place in find_places("all").places] == ["4", "7"]
    monkeypatch.setattr("hardy.run.device_places._gpus", lambda: 0)
    assert find_places("all").device == "cpu"


def test_one_device_or_several(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected `device` or `devices`, got both"):
        evaluate("fake:10", images=write_rows(tmp_path, 4), device="cpu", devices="cpu,cpu", **FEW)
