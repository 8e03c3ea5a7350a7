"""A build on a cluster is, byte for byte, the one that a single process makes, whatever is killed
meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hardy.suites import load
from hardy.variants.disk import build as build_module
from hardy.variants.disk.build import build, build_cells
from hardy.variants.disk.verify import verify
from tests.cluster.conftest import Nodes
from tests.cluster.noting import Noting
from tests.suites.helpers import CHEAP, built, cells_of, opened, tree, write_photos, write_rows

PHOTOS = 12


@pytest.fixture(autouse=True)
def small_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_module, "ELSEWHERE", 1)  # so that there are six of them


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of them cannot be read."""
    folder = write_photos(tmp_path_factory.mktemp("images"), PHOTOS)
    (folder / "n00000000/photo_004.JPEG").write_bytes(b"no picture")
    return folder


@pytest.fixture(scope="module")
def whole(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole") / "out"
    built("imagenet_c", photos, folder)
    return tree(folder)


@pytest.mark.parametrize(
    ("suite", "format", "only"),
    [
        ("cifar10_c", "npy", ["contrast", "gaussian_noise"]),
        ("cifar10_c", "tar", ["contrast"]),
        ("cifar10_p", "npy", ["tilt"]),
    ],
)
def test_arrays_and_shards(
    suite: str, format: str, only: list[str], nodes: Nodes, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "rows", 1100)  # three units of each cell
    given: dict[str, Any] = {"images": rows, "format": format, "only": only}
    build(suite, out=tmp_path / "alone", workers=1, **given)
    build(suite, out=tmp_path / "shared", on=nodes.address, **given)
    assert tree(tmp_path / "shared") == tree(tmp_path / "alone")


class Struck:
    """A build in which somebody dies when so many images are done."""

    def __init__(self, nodes: Nodes, folder: Path) -> None:
        self.nodes, self.said = nodes, list[str]()
        self.crew = Noting(nodes.address, folder / "notes", warn=self.said.append)

    def build(
        self, photos: Path, out: Path, strike: Callable[[Struck], None] | None, moment: int
    ) -> list[str]:
        struck = strike is None

        def track(units: Iterable[Any], total: int, *_: Any) -> Iterator[Any]:
            nonlocal struck
            for done, unit in enumerate(units, 1):
                if not struck and done >= moment:
                    assert strike is not None
                    strike(self)
                    struck = True
                yield unit

        suite = load("imagenet_c")
        outcome = build_cells(
            suite,
            opened(photos, suite),
            out,
            cells_of(suite),
            executor=self.crew,
            elsewhere=True,
            track=track,
        )
        assert struck
        assert outcome.built == PHOTOS - 1
        return outcome.faults

    def kill_worker(self) -> None:
        os.kill(next(iter(self.crew.at_work())), signal.SIGKILL)

    def kill_node(self) -> None:
        self.nodes.remove(next(iter(self.crew.at_work().values())))


@pytest.mark.parametrize(
    ("strike", "moment"),
    [
        (None, 0),
        (Struck.kill_worker, 3),
        (Struck.kill_node, 1),
        (Struck.kill_node, 6),
    ],
)
def test_folders_whoever_dies(
    strike: Callable[[Struck], None] | None,
    moment: int,
    nodes: Nodes,
    photos: Path,
    whole: dict[str, bytes],
    tmp_path: Path,
) -> None:
    struck, out = Struck(nodes, tmp_path), tmp_path / "out"
    (fault,) = struck.build(photos, out, strike, moment)
    assert "photo_004" in fault
    assert tree(out) == whole
    assert verify(out).fine
    if strike is None:
        assert len(struck.crew.worked_at()) == 2
        assert struck.said == []


@pytest.mark.parametrize("moment", [1, 40])
def test_the_same_command_goes_on_when_the_driver_was_killed(
    moment: int, nodes: Nodes, photos: Path, whole: dict[str, bytes], tmp_path: Path
) -> None:
    """It dies when so many files are written."""
    out = tmp_path / "out"
    command = [
        *(sys.executable, "-m", "hardy", "build", "imagenet_c", "--images", str(photos)),
        *("--out", str(out), "--only", ",".join(CHEAP), "--on", nodes.address),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        while len(list(out.glob("*/*/*/*.JPEG"))) < moment:
            assert driver.poll() is None
            time.sleep(0.02)
        driver.kill()
    assert driver.returncode == -signal.SIGKILL
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr  # one image cannot be read
    assert tree(out) == whole
