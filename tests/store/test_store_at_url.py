"""A store at a URL: written, resumed, shared and read as one in a folder."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

import hardy
from hardy.errors import HardyError
from hardy.patience import Unreachable
from hardy.places import locate
from hardy.store import parts
from hardy.store.reader import find_runs
from tests.objects import Objects
from tests.store.stores import contents_hash, extend
from tests.suites.helpers import write_rows

STORE = "s3://bucket/runs"
IDS = list(range(40))


def test_the_same_predictions(objects: Objects, tmp_path: Path) -> None:
    here = extend(tmp_path / "runs", IDS)
    there = extend(locate(STORE), IDS)
    assert contents_hash(here) == contents_hash(there)
    assert str(there.folder).startswith("s3://bucket/runs/fake-7--cifar10_c--")
    assert {p.name for p in there.folder.iterdir()} == {
        *("run.json", "images.parquet", "parts", "sessions"),
    }
    assert [contents_hash(run) for run in find_runs(locate(STORE))] == [contents_hash(here)]


def test_a_part_without_a_record_does_not_exist(objects: Objects, tmp_path: Path) -> None:
    """The connection is lost for good between a part and the record that lists it."""
    sent: list[str] = []

    def fails(what: str, key: str) -> str | None:
        sent.extend([key] if what == "open_output_stream" and "/parts/" in key else [])
        return "connection reset" if sent and "/sessions/" in key else None

    objects.fails = fails
    with pytest.raises(Unreachable, match=r"could not be written: .* run the same command again"):
        extend(locate(STORE), IDS)
    objects.fails = lambda what, key: None
    (run,) = find_runs(locate(STORE))
    assert run.cells == ()
    assert list((run.folder / "parts").iterdir()) == [locate(f"s3://{sent[0]}")]
    resumed = extend(locate(STORE), IDS)
    assert contents_hash(resumed) == contents_hash(extend(tmp_path / "runs", IDS))


def test_parts_are_merged_and_old_ones_that_nobody_lists_go(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardy.files.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(parts, "MERGED", 4)
    run = extend(locate(STORE), IDS)
    assert len(list((run.folder / "parts").iterdir())) < 8
    assert contents_hash(run) == contents_hash(extend(tmp_path / "runs", IDS))
    folder = objects.folder / "bucket" / run.folder.relative_to(locate("s3://bucket")) / "parts"
    old, new = (folder / f"{digit * 32}.parquet" for digit in "ab")
    for path in (old, new):
        path.write_bytes(b"left by somebody")
    os.utime(old, (time.time() - 100_000,) * 2)
    extend(locate(STORE), IDS)
    assert (old.exists(), new.exists()) == (False, True)


def test_everything_that_reads_a_store(objects: Objects, tmp_path: Path) -> None:
    how: dict[str, Any] = {
        "suite": "cifar10_c",
        "only": ["contrast", "brightness"],
        "images": write_rows(tmp_path / "images", 40),
    }
    models = ["fake:10", "fake:10:1"]
    here = hardy.evaluate(models, store=tmp_path / "runs", **how)
    there = hardy.evaluate(models, store=STORE, **how)
    again = hardy.evaluate(models, store=f"{STORE}/", **how)
    for one, other, third in zip(here, there, again, strict=True):
        assert contents_hash(one.stored) == contents_hash(other.stored)
        assert contents_hash(one.stored) == contents_hash(third.stored)
        assert one.folder.name == other.folder.name
    assert hardy.score(STORE).as_csv() == hardy.score(tmp_path / "runs").as_csv()
    assert len(hardy.runs(STORE)) == 2
    compared = [hardy.compare(*models, store=store) for store in (STORE, tmp_path / "runs")]
    assert str(compared[0]) == str(compared[1])
    assert str(hardy.score(STORE).write("s3://bucket/results/two.json")) == (
        "s3://bucket/results/two.json"
    )
    pages = hardy.leaderboard(["s3://bucket/results"], "s3://bucket/board")
    (tmp_path / "two.json").write_bytes(locate("s3://bucket/results/two.json").read_bytes())
    page = hardy.leaderboard([tmp_path / "two.json"], tmp_path / "board")
    assert pages.read_bytes() == page.read_bytes()
    written = hardy.report(STORE, "s3://bucket/report.csv")
    assert written.read_bytes() == hardy.report(tmp_path / "runs", tmp_path / "r.csv").read_bytes()


def test_a_store_among_the_images_is_refused(objects: Objects) -> None:
    (objects.folder / "bucket" / "images" / "a").mkdir(parents=True)
    with pytest.raises(HardyError, match="lies in the images' folder"):
        hardy.evaluate(
            "fake:10", suite="cifar10_c", images="s3://bucket/images", store="s3://bucket/images/r"
        )
