"""Images, stores and builds in a local S3 server, over a line that fails."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hardy
from hardy import patience, places
from hardy.patience import Unreachable
from hardy.places import UrlPath, locate
from tests.cluster.s3_server import FaultyLine, now_and_then, s3_server
from tests.images.test_sources_at_urls import write_all
from tests.store.stores import contents_hash
from tests.suites.helpers import write_rows
from tests.variants.test_build_at_url import contents

KEY, SECRET = "AKIATESTKEY", "a-secret-of-the-tests"
FEW: dict[str, Any] = {"suite": "cifar10_c", "only": ["contrast", "brightness"]}


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    usual = {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in usual.items():
            patch.setenv(name, value)
        with s3_server() as port:
            yield port


@pytest.fixture
def s3(server: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> UrlPath:
    """A folder of the test's own in the bucket."""
    _over(server, monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = locate(f"s3://bucket/{tmp_path.name}")
    assert isinstance(place, UrlPath)
    return place


def _over(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    places.open_bucket.cache_clear()


def send(folder: Path, place: UrlPath) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            target = place / path.relative_to(folder).as_posix()
            with target.written_whole() as file:
                file.write(path.read_bytes())


def fetched(place: UrlPath, folder: Path) -> Path:
    for name, is_folder in place.children(all_below=True):
        if not is_folder:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((place / name).read_bytes())
    return folder


@pytest.mark.parametrize("name", ["rows.npz", "classes", "tars", "rows.parquet"])
def test_a_run_equals_that_on_a_disk(s3: UrlPath, tmp_path: Path, name: str) -> None:
    (tmp_path / "sets").mkdir()
    write_all(tmp_path / "sets")
    send(tmp_path / "sets", s3)
    # The labels of class folders are their own, and there are five.
    model, own = ("fake:5", {"own_classes": True}) if name == "classes" else ("fake:10", {})
    here = hardy.evaluate(
        model, images=tmp_path / "sets" / name, store=tmp_path / "runs", **own, **FEW
    )
    there = hardy.evaluate(model, images=s3 / name, store=s3 / "runs", **own, **FEW)
    assert contents_hash(here.stored) == contents_hash(there.stored)
    assert here.folder.name == there.folder.name
    assert here.score().as_dicts() == there.score().as_dicts()
    assert hardy.score(s3 / "runs").as_csv() == hardy.score(tmp_path / "runs").as_csv()


def test_workers_write_to_the_store_themselves(s3: UrlPath, tmp_path: Path) -> None:
    images = write_rows(tmp_path / "images", 2500)
    send(images.parent, s3)
    here = hardy.evaluate("fake:10", images=images, store=tmp_path / "runs", **FEW)
    there = hardy.evaluate(
        "fake:10", images=s3 / "rows.npz", store=s3 / "runs", devices="cpu,cpu", **FEW
    )
    assert contents_hash(here.stored) == contents_hash(there.stored)
    for shard in ("1/2", "2/2"):
        half = hardy.evaluate(
            "fake:10", images=s3 / "rows.npz", store=s3 / "halves", shard=shard, **FEW
        )
    assert contents_hash(half.stored) == contents_hash(here.stored)


def test_workers_of_ray_write_to_the_store_themselves(s3: UrlPath, tmp_path: Path) -> None:
    images = write_rows(tmp_path / "images", 2500)
    send(images.parent, s3)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "hardy", "eval", "fake:10", "--suite", "cifar10_c"),
            *("--images", str(s3 / "rows.npz"), "--store", str(s3 / "runs"), "--on", "ray"),
            *("--only", "contrast,brightness"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    here = hardy.evaluate("fake:10", images=images, store=tmp_path / "runs", **FEW)
    (there,) = hardy.runs(s3 / "runs")
    assert contents_hash(there.stored) == contents_hash(here.stored)


@pytest.mark.parametrize("format", ["npy", "tar", "png"])
def test_a_build_has_the_bytes_of_one_on_a_disk(s3: UrlPath, tmp_path: Path, format: str) -> None:
    images = write_rows(tmp_path / "images")
    send(images.parent, s3)
    how: dict[str, Any] = {"only": ["contrast"], "format": format, "workers": 1}
    hardy.build("cifar10_c", images=images, out=tmp_path / "here", **how)
    hardy.build("cifar10_c", images=s3 / "rows.npz", out=s3 / "out", **how)
    there = fetched(s3 / "out", tmp_path / "there")
    assert contents(there) == contents(tmp_path / "here")


@pytest.mark.parametrize("kinds", [("500",), ("slow",), ("cut",), ("500", "slow", "cut")])
def test_a_line_that_fails_changes_nothing(
    s3: UrlPath, server: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kinds: Any
) -> None:
    (tmp_path / "sets").mkdir()
    write_all(tmp_path / "sets")
    send(tmp_path / "sets", s3)
    here = hardy.evaluate(
        "fake:10", images=tmp_path / "sets" / "tars", store=tmp_path / "runs", **FEW
    )
    with FaultyLine(server, now_and_then(0.05 if "slow" in kinds else 0.2, kinds)) as line:
        _over(line.port, monkeypatch)
        there = hardy.evaluate("fake:10", images=s3 / "tars", store=s3 / "runs", **FEW)
        assert contents_hash(here.stored) == contents_hash(there.stored)
        line.shutdown()
    assert set(line.counts) >= {kinds[0], ""}


def test_a_line_that_is_dead_is_told_without_secrets(
    s3: UrlPath, server: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "TRIES", 1)
    images = write_rows(tmp_path / "images", 40)
    with FaultyLine(server, lambda: "500") as line:
        _over(line.port, monkeypatch)
        with pytest.raises(Unreachable, match="run the same command again") as told:
            hardy.evaluate("fake:10", images=images, store=s3 / "runs", **FEW)
        line.shutdown()
    assert SECRET not in str(told.value)
    assert KEY not in str(told.value)
    _over(server, monkeypatch)
    hardy.evaluate("fake:10", images=images, store=s3 / "runs", **FEW)
    hardy.score(s3 / "runs").write(s3 / "result.json")
    for name, is_folder in s3.children(all_below=True):
        kept = b"" if is_folder else (s3 / name).read_bytes()
        assert SECRET.encode() not in kept
        assert KEY.encode() not in kept


def test_the_server_may_be_named_in_the_url(
    s3: UrlPath, server: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is told by it to the processes that share a run."""
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    images = write_rows(tmp_path / "images", 40)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "hardy", "eval", "fake:10", "--suite", "cifar10_c"),
            *("--images", str(images), "--only", "contrast,brightness", "--devices", "cpu,cpu"),
            *("--store", f"{s3}/runs?endpoint_override=127.0.0.1:{server}&scheme=http"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"stored in {s3}/runs; see" in done.stdout
    assert str(server) not in done.stdout
    _over(server, monkeypatch)
    assert [run.model for run in hardy.runs(s3 / "runs")] == ["fake:10"]


def test_rights_that_are_lacking_are_told_at_once(s3: UrlPath, tmp_path: Path) -> None:
    images = write_rows(tmp_path / "images", 40)
    with pytest.raises(Unreachable, match="NO_SUCH_BUCKET"):
        hardy.evaluate("fake:10", images=images, store="s3://nobodys/runs", **FEW)


def test_a_run_that_was_killed_goes_on(s3: UrlPath, tmp_path: Path) -> None:
    images = write_rows(tmp_path / "images", 3000)
    store = s3 / "runs"
    command = [
        *(sys.executable, "-m", "hardy", "eval", "fake:10", "--suite", "cifar10_c"),
        *("--only", "contrast,brightness,fog", "--images", str(images), "--store", str(store)),
        *("--devices", "cpu,cpu"),
    ]
    killed = 0
    for _ in range(2):
        before = _listed_parts(store)
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, start_new_session=True
        ) as process:
            while _listed_parts(store) == before and process.poll() is None:
                time.sleep(0.05)
            if process.poll() is None:  # it may have ended since
                os.killpg(process.pid, signal.SIGKILL)
                killed += 1
    assert killed
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"stored in {store}" in done.stdout
    assert "predictions are stored already" in done.stdout
    here = hardy.evaluate(
        *("fake:10",),
        suite="cifar10_c",
        only=["contrast", "brightness", "fog"],
        images=images,
        store=tmp_path / "runs",
    )
    (there,) = hardy.runs(store)
    assert contents_hash(there.stored) == contents_hash(here.stored)


def _listed_parts(store: UrlPath) -> int:
    """How many parts count: a part that was sent does so once its session lists it."""
    every = store.children(all_below=True) if store.is_dir() else []
    sessions = [name for name, _ in every if "/sessions/" in name]
    return sum(len(json.loads((store / name).read_bytes())["parts"]) for name in sessions)


def test_a_build_that_was_killed_goes_on(s3: UrlPath, tmp_path: Path) -> None:
    images = write_rows(tmp_path / "images", 60)
    out = s3 / "out"
    command = [
        *(sys.executable, "-m", "hardy", "build", "cifar10_c", "--only", "contrast"),
        *("--format", "png", "--images", str(images), "--out", str(out), "--workers", "1"),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    while not out.is_dir() and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (out / "manifest.json").exists()  # it was killed in time
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    hardy.build(
        *("cifar10_c",),
        images=images,
        out=tmp_path / "here",
        only=["contrast"],
        format="png",
        workers=1,
    )
    there = fetched(out, tmp_path / "there")
    assert contents(there) == contents(tmp_path / "here")
    header = json.loads((there / "manifest.json").read_text())
    assert header["images"] == 60
    shutil.rmtree(there)
