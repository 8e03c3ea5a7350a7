"""Runs on suites that lie on disk, official or built here."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_overloads

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.evaluation import RunOptions, evaluate
from hardy.suites.cells import CLEAN, Cell
from tests.run.runs import FEW, one
from tests.suites.helpers import built, write_rows


def test_official_files_and_their_clean_images(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 20)
    built("cifar10_c", rows, tmp_path / "built", "contrast", "brightness")
    files: dict[str, Any] = {**FEW, "files": tmp_path / "built"}
    alone = one(evaluate("fake:10", store=tmp_path / "a", **files))
    assert CLEAN not in alone.stored.cells
    assert "clean error" not in alone.score()
    both = one(evaluate("fake:10", images=rows, store=tmp_path / "b", **files))
    fly = one(evaluate("fake:10", images=rows, store=tmp_path / "b", **FEW))
    cells, columns = list(fly.stored.cells), ["rank", "log_prob", "top5"]
    assert set(both.stored.cells) == set(cells)
    for name, values in fly.stored.read(cells, columns).items():
        assert (both.stored.read(cells, columns)[name] == values).all()
    assert both.folder != fly.folder
    with pytest.raises(InputError, match="different ways of making the images"):
        hardy.compare(both, fly)


def test_files_of_another_build_are_another_run(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 20)
    what: dict[str, Any] = {"suite": "cifar10_c", "only": ["gaussian_noise"]}
    runs = []
    for seed in (7, 8):
        built("cifar10_c", rows, tmp_path / str(seed), "gaussian_noise", seed=seed)
        files = tmp_path / str(seed)
        runs.append(one(evaluate("fake:10", files=files, store=tmp_path / "runs", **what)))
    assert runs[0].folder != runs[1].folder
    assert runs[0].stored.details["made"] == "files of hardy build, npy"
    for option in ({"seed": 3}, {"labels": "labels.txt"}, {"labels": np.arange(20)}):
        with pytest.raises(InputError, match="with files, which bring their own"):
            evaluate("fake:10", files=tmp_path / "7", store=tmp_path, **what, **option)


def test_official_files_that_were_changed_are_noticed(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 20)
    images = np.load(rows)["images"]
    folder = tmp_path / "CIFAR-10-C"
    folder.mkdir()
    np.save(folder / "labels.npy", np.tile(np.load(rows)["labels"], 5))
    what: dict[str, Any] = {"suite": "cifar10_c", "files": folder, "only": ["fog"]}
    for shift in (0, 90):
        np.save(folder / "fog.npy", np.concatenate([images + np.uint8(shift)] * 5))
        if not shift:
            run = one(evaluate("fake:10", store=tmp_path / "runs", **what))
            assert run.stored.details["made"] == "official files"
    with pytest.raises(InputError, match="the weights or the images have changed"):
        evaluate("fake:10", store=tmp_path / "runs", **what)


def test_one_broken_file_among_official_ones_stops_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "Tiny-ImageNet-C"
    for severity in range(1, 6):
        for k in range(4):
            place = folder / "fog" / str(severity) / f"n0000000{k % 2}" / f"{k}.JPEG"
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((64, 64, 3), 40 * k, np.uint8)).save(place)
    (folder / "fog" / "3" / "n00000001" / "3.JPEG").write_bytes(b"torn")
    what: dict[str, Any] = {"suite": "tiny_imagenet_c", "files": folder, "own_classes": True}
    run = one(evaluate("fake:2", store=tmp_path / "runs", only=["fog"], **what))
    assert len(run.faults) == 1
    assert "3.JPEG" in run.faults[0]
    assert run.score()["mean error"].circumstances.images == 3
    assert run.stored.complete([Cell("fog", 2)]).all()


def test_editors_know_what_comes_back_and_every_option() -> None:
    options = {"model", "suite", "dry_run", *RunOptions.__annotations__}
    assert options == set(inspect.signature(evaluate).parameters)
    returned = [inspect.signature(one).return_annotation for one in get_overloads(evaluate)]
    assert returned == ["Run", "list[Run]", "RunPlan"]
