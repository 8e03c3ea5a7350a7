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
    for option in ({"seed": 3}, {"labels": Path("labels.txt")}, {"labels": np.arange(20)}):
        with pytest.raises(InputError, match="with files, which bring their own") as caught:
            evaluate("fake:10", files=tmp_path / "7", store=tmp_path, **what, **option)
        assert "PosixPath" not in str(caught.value)


@pytest.mark.parametrize("kind", ["photos", "rows"])
def test_files_that_were_built_without_labels(kind: str, tmp_path: Path) -> None:
    """They take those that are named, by the images' names or in their order, or the clean images'
    own."""
    rows = np.load(write_rows(tmp_path, 4))["images"]
    clean = tmp_path / "clean.npy"
    (tmp_path / "labels.csv").write_text("5\n6\n7\n0\n")
    np.save(clean, rows)
    if kind == "photos":
        clean = tmp_path / "clean"
        clean.mkdir()
        for number, row in enumerate(rows):
            Image.fromarray(row).save(clean / f"{number}.png")
        (tmp_path / "labels.csv").write_text("id,label\n3,0\n1,6\n2,7\n0,5\n")
    told: list[Any] = []
    out = tmp_path / "built"
    hardy.build("cifar10_c", images=clean, out=out, only=["contrast"], announce=told.append)
    assert "these images have no labels; to evaluate on the files, name" in str(told[0])
    what: dict[str, Any] = {"suite": "cifar10_c", "files": out, "only": ["contrast"]}
    with pytest.raises(InputError, match=r"expected labels, got .* name a file with `labels`"):
        evaluate("fake:10", store=tmp_path / "runs", **what)
    labels = tmp_path / "labels.csv"
    alone = one(evaluate("fake:10", labels=labels, store=tmp_path / "runs", **what))
    assert alone.stored.labels.tolist() == [5, 6, 7, 0]
    numbers = np.array([5, 6, 7, 0])
    again = one(evaluate("fake:10", labels=numbers, store=tmp_path / "runs", **what))
    assert again.folder == alone.folder
    if kind == "photos":
        (clean / "labels.csv").write_text(labels.read_text())
        both = one(evaluate("fake:10", images=clean, store=tmp_path / "both", **what))
        assert both.stored.labels.tolist() == [5, 6, 7, 0]
        assert CLEAN in both.stored.cells
        labels.write_text("1.png,6\n3.png,0\n")
        part = one(evaluate("fake:10", labels=labels, store=tmp_path / "part", **what))
        assert (part.stored.ids, part.stored.labels.tolist()) == ([1, 3], [6, 0])
        assert "2 of 4 images" in str(part.score())
        made = alone.stored.read([Cell("contrast", 3)], ["top5"])["top5"]
        assert (part.stored.read([Cell("contrast", 3)], ["top5"])["top5"] == made[[1, 3]]).all()
    else:
        (tmp_path / "labels.csv").write_text("5\n6\n")
        with pytest.raises(InputError, match="expected one label per image, 4 in all, got 2"):
            evaluate("fake:10", labels=labels, store=tmp_path / "part", **what)


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
    options = {"model", "models", "suite", "dry_run", *RunOptions.__annotations__}
    assert options == set(inspect.signature(evaluate).parameters)
    returned = [inspect.signature(one).return_annotation for one in get_overloads(evaluate)]
    assert returned == ["Run", "list[Run]", "RunPlan", "ModelRuns", "RunPlan"]
