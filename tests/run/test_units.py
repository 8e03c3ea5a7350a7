"""A run that is shared, by processes or by shares, is the run that one process makes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.execute import Crew, Serial
from hardy.run import runner, worst_choice
from hardy.run import subject as subjects
from hardy.run.device_places import find_places
from hardy.store.worst_images import read_worst, write_worst
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


@pytest.mark.parametrize("when", ["before it stores anything", "while the other makes them"])
def test_worst_images_do_not_outlive_a_share_that_is_killed(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One share is killed after its last prediction; the other ended before that."""
    rows = write_rows(tmp_path, 14)
    given: dict[str, Any] = {**FEW, "images": rows, "store": tmp_path / "shared"}
    real = {name: getattr(runner, name) for name in ("predict", "keep_worst")}

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def the_other_first(*arguments: Any) -> Iterator[int]:
        monkeypatch.setattr(runner, "predict", real["predict"])
        monkeypatch.setattr(runner, "keep_worst", real["keep_worst"])
        evaluate("fake:10", shard="1/2", **given)
        monkeypatch.setattr(runner, "keep_worst", killed)
        yield from real["predict"](*arguments)

    def the_other_meanwhile(folder: Path, images: Any) -> None:
        monkeypatch.setattr(runner, "keep_worst", killed)
        with pytest.raises(KeyboardInterrupt):
            evaluate("fake:10", shard="2/2", **given)
        write_worst(folder, images)

    if when == "before it stores anything":
        monkeypatch.setattr(runner, "predict", the_other_first)
        with pytest.raises(KeyboardInterrupt):
            evaluate("fake:10", shard="2/2", **given)
    else:
        monkeypatch.setattr(worst_choice, "write_worst", the_other_meanwhile)
        evaluate("fake:10", shard="1/2", **given)
    monkeypatch.undo()
    assert not list(tmp_path.glob("shared/*/worst.parquet"))
    monkeypatch.setattr(subjects, "SMALL", 4)
    again = one(evaluate("fake:10", shard="1/2", **given))
    whole = one(evaluate("fake:10", **given | {"store": tmp_path / "whole"}))
    assert read_worst(again.folder) == read_worst(whole.folder)


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


class Gone(Crew):
    """A crew on a machine that does not see what this one sees."""

    def __init__(self, lost: Path) -> None:
        self.lost = lost

    def run(self, setup, items, settle=lambda: None):
        self.lost.rename(self.lost.with_name("elsewhere"))
        return Serial().run(setup, items)


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (
            "runs",
            r"expected the store on a disk .* but .*runs.*\.json, which .* is not there",
        ),
        (
            "images",
            r"expected images on a disk that all workers see, but .* cannot be read as",
        ),
    ],
)
def test_workers_must_see_the_same_files(
    lost: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        place = tmp_path / "images" / ("cat", "dog")[number % 2] / f"{number}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((32, 32, 3), number, np.uint8)).save(place)
    monkeypatch.setattr("hardy.run.device_places.Crew", lambda places, warn: Gone(tmp_path / lost))
    given: dict[str, Any] = {**FEW, "own_classes": True, "store": tmp_path / "runs"}
    with pytest.raises(InputError, match=said):
        evaluate("fake:2", images=tmp_path / "images", devices="cpu,cpu", **given)


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


@pytest.mark.parametrize("devices", ["", "gpu", "0,cpu", "-1", [], ["all", "all"]])
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
    assert [place["CUDA_VISIBLE_DEVICES"] for place in find_places("1,1").places] == ["1", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    assert [place["CUDA_VISIBLE_DEVICES"] for place in find_places("all").places] == ["4", "7"]
    monkeypatch.setattr("hardy.run.device_places._gpus", lambda: 0)
    assert find_places("all").device == "cpu"


def test_one_device_or_several(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected `device` or `devices`, got both"):
        evaluate("fake:10", images=write_rows(tmp_path, 4), device="cpu", devices="cpu,cpu", **FEW)
