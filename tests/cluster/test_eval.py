"""A run on a cluster is the run that one process makes, whatever is killed meanwhile."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hardy.evaluation import evaluate
from hardy.execute import ray_crew
from hardy.run import subject as subjects
from hardy.scores.scoring import Run
from hardy.store.reader import open_run
from hardy.store.sessions import parts_that_count
from hardy.store.worst_images import read_worst
from hardy.variants.disk.build import build
from tests.cluster.conftest import Nodes
from tests.cluster.driven import BLOCK, CELLS
from tests.cluster.slow_model import NOTES, Slow
from tests.store.stores import contents_hash
from tests.suites.helpers import write_rows

IMAGES = 40


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subjects, "SMALL", BLOCK)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("images"), IMAGES)


@pytest.fixture(scope="module")
def whole(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    store = tmp_path_factory.mktemp("whole")
    return evaluate(Slow(0.0), images=rows, store=store, **CELLS)


def check_equal(run: Run, whole: Run) -> None:
    """Nothing is lost, nothing is there twice, and all is the same."""
    assert contents_hash(run.stored) == contents_hash(whole.stored)
    assert read_worst(run.folder) == read_worst(whole.folder)
    counted = [pq.read_metadata(part).num_rows for part in parts_that_count(run.folder)]
    assert sum(counted) == sum(
        pq.read_metadata(part).num_rows for part in parts_that_count(whole.folder)
    )


@pytest.mark.parametrize(
    ("suite", "only"),
    [("cifar10_c", ["contrast", "gaussian_noise"]), ("cifar10_p", ["tilt", "brightness"])],
)
def test_two_nodes_are_as_one_process(
    suite: str, only: list[str], nodes: Nodes, rows: Path, tmp_path: Path
) -> None:
    models = ["fake:10", "fake:10:3"]
    given: dict[str, Any] = {"suite": suite, "only": only, "images": rows, "subset": 14}
    whole = evaluate(models, store=tmp_path / "whole", **given)
    shared = evaluate(models, store=tmp_path / "shared", on=nodes.address, **given)
    for one, other in zip(shared, whole, strict=True):
        check_equal(one, other)


def test_files_of_a_suite(nodes: Nodes, rows: Path, tmp_path: Path) -> None:
    build("cifar10_c", images=rows, out=tmp_path / "built", only=["contrast"], workers=1)
    (tmp_path / "files").mkdir()
    for array in (tmp_path / "built").glob("*.npy"):  # as they are published, without a manifest
        array.rename(tmp_path / "files" / array.name)
    given: dict[str, Any] = {"suite": "cifar10_c", "only": "contrast", "files": tmp_path / "files"}
    whole = evaluate("fake:10", store=tmp_path / "whole", **given)
    check_equal(evaluate("fake:10", store=tmp_path / "shared", on=nodes.address, **given), whole)


@pytest.fixture
def client(nodes: Nodes) -> Iterator[str]:
    """Where the cluster is reached from outside."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    module = [sys.executable, "-m", "ray.util.client.server", "--address", nodes.address]
    with subprocess.Popen([*module, "--host", "127.0.0.1", "--port", port]) as server:
        while not answers("127.0.0.1", int(port)):
            assert server.poll() is None
            time.sleep(0.02)
        yield f"ray://127.0.0.1:{port}"
        server.kill()


def answers(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def drive(on: str, rows: Path, store: Path) -> Run:
    """A run in a process of its own: Ray mistakes one cluster for another where both were used."""
    command = [sys.executable, "-m", "tests.cluster.driven", on, str(rows), str(store)]
    subprocess.run(command, check=True)
    (folder,) = store.iterdir()
    return Run(open_run(folder), ())


def test_a_ray_of_its_own(rows: Path, whole: Run, tmp_path: Path) -> None:
    check_equal(drive("ray", rows, tmp_path), whole)


def test_a_cluster_by_its_client(client: str, rows: Path, whole: Run, tmp_path: Path) -> None:
    check_equal(drive(client, rows, tmp_path), whole)


class Victims:
    """Those who work on a run, as they write it down."""

    def __init__(self, nodes: Nodes, notes: Path) -> None:
        self.nodes, self.notes = nodes, notes
        self.force: Any = None

    def at_work(self) -> dict[int, str]:
        """The processes that live, the latest first, and their nodes."""
        noted = sorted(self.notes.iterdir(), key=lambda path: -path.stat().st_mtime_ns)
        who = [path.name.partition("-") for path in noted]
        return {int(pid): node for pid, _, node in who if Path("/proc", pid).exists()}

    def kill_process(self) -> None:
        os.kill(next(iter(self.at_work())), signal.SIGKILL)

    def kill_actor(self) -> None:
        self.force._ray.kill(self.force._actors[next(iter(self.force._places))])

    def kill_node(self) -> None:
        self.nodes.remove(next(iter(self.at_work().values())))


@pytest.fixture
def victims(nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Victims:
    (tmp_path / "notes").mkdir()
    monkeypatch.setenv(NOTES, str(tmp_path / "notes"))
    found = Victims(nodes, tmp_path / "notes")

    class Watched(ray_crew._Actors):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            found.force = self

    monkeypatch.setattr(ray_crew, "_Actors", Watched)
    return found


KILLS: list[tuple[Callable[[Victims], None], int]] = [
    *((Victims.kill_process, moment) for moment in (1, 2, 3, 5, 7, 8, 9)),
    *((Victims.kill_actor, moment) for moment in (1, 4, 6, 9)),
    *((Victims.kill_node, moment) for moment in (1, 3, 5, 7, 9)),
]


@pytest.mark.parametrize(("strike", "moment"), KILLS)
def test_nothing_is_lost_with_the_killed(
    strike: Callable[[Victims], None],
    moment: int,
    victims: Victims,
    rows: Path,
    whole: Run,
    tmp_path: Path,
) -> None:
    """They die when so many of ten blocks are done."""
    struck = False

    def track(steps: Iterable[int], total: int, *_: Any) -> Iterator[int]:
        nonlocal struck
        for done, step in enumerate(steps, 1):
            if done == moment:
                strike(victims)
                struck = True
            yield step

    said: list[str] = []
    run = evaluate(
        Slow(0.05),
        images=rows,
        store=tmp_path / "runs",
        on=victims.nodes.address,
        track=track,
        warn=said.append,
        **CELLS,
    )
    assert struck
    check_equal(run, whole)


@pytest.mark.parametrize("moment", [1, 2, 4, 6, 9])
def test_the_same_command_goes_on_when_the_driver_was_killed(
    moment: int, nodes: Nodes, rows: Path, whole: Run, tmp_path: Path
) -> None:
    """It dies when so many of ten parts are written."""
    store = tmp_path / "runs"
    command = [sys.executable, "-m", "tests.cluster.driven", nodes.address, str(rows), str(store)]
    with subprocess.Popen(command) as driver:
        while len(list(store.glob("*/parts/*.parquet"))) < moment:
            assert driver.poll() is None
            time.sleep(0.02)
        driver.kill()
    assert driver.returncode == -signal.SIGKILL
    subprocess.run(command, check=True)
    (folder,) = store.iterdir()
    check_equal(Run(open_run(folder), ()), whole)
