"""Work on a cluster: all of it is done once, by whoever is there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest

import hardy
from hardy.errors import HardyError, InputError
from hardy.execute import RayCrew
from tests.cluster.conftest import Nodes


def begin(folder: Path, how: str = "") -> Callable[[int], tuple[int, str]]:
    """Work that takes a moment, and leaves a file for each worker that has begun."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    if how == "cannot":
        raise MemoryError("no memory")
    if how == "refuses":
        raise InputError("expected something else")
    (folder / f"{os.getpid()}").write_text(node)

    def work(item: int) -> tuple[int, str]:
        (folder / "tried" / f"{item}-{time.time_ns()}").touch()
        time.sleep(0.05)
        if how == "fails" and item == 7:
            raise MemoryError("no memory")
        if how == "fails once" and item == 7 and len(list(folder.glob("tried/7-*"))) == 1:
            os._exit(1)
        if how == "hangs once" and item == 7 and len(list(folder.glob("tried/7-*"))) == 1:
            time.sleep(1000)
        return item, node

    return work


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tried").mkdir()
    return tmp_path


def items_until(seen: set[str], least: int) -> Iterator[int]:
    """So many, and more until two nodes have worked, however slowly one of them starts."""
    for number in count():
        if number >= least and len(seen) >= 2:
            return
        yield number


def test_all_nodes_work(nodes: Nodes, folder: Path) -> None:
    seen, done = set[str](), list[int]()
    for item, node in RayCrew(nodes.address).run(partial(begin, folder), items_until(seen, 100)):
        seen.add(node)
        done.append(item)
    assert len(done) >= 100
    assert sorted(done) == list(range(len(done)))


def test_a_worker_that_dies_is_replaced(nodes: Nodes, folder: Path) -> None:
    said: list[str] = []
    found = RayCrew(nodes.address, warn=said.append).run(
        partial(begin, folder, "fails once"), range(60)
    )
    assert sorted(item for item, _ in found) == list(range(60))
    (line,) = said
    assert line.startswith("a worker failed (node ")


def test_what_hangs_is_done_again(nodes: Nodes, folder: Path) -> None:
    found = RayCrew(nodes.address).run(partial(begin, folder, "hangs once"), range(20))
    assert sorted(item for item, _ in found) == list(range(20))
    assert len(list(folder.glob("tried/7-*"))) == 2


def test_what_fails_everywhere(nodes: Nodes, folder: Path) -> None:
    with pytest.raises(HardyError, match=r"3 workers failed at the same.*MemoryError: no memory"):
        list(RayCrew(nodes.address).run(partial(begin, folder, "fails"), range(20)))


def test_nobody_can_begin(nodes: Nodes, folder: Path) -> None:
    with pytest.raises(HardyError, match=r"no worker could begin.*MemoryError: no memory; see"):
        list(RayCrew(nodes.address).run(partial(begin, folder, "cannot"), range(20)))


def test_an_error_for_people_names_the_node(nodes: Nodes, folder: Path) -> None:
    with pytest.raises(InputError, match=r"^node .*: expected something else$"):
        list(RayCrew(nodes.address).run(partial(begin, folder, "refuses"), range(20)))


def test_a_node_that_joins_late_works(nodes: Nodes, folder: Path) -> None:
    nodes.have(1)
    found, seen = 0, set[str]()
    for _, node in RayCrew(nodes.address).run(partial(begin, folder), items_until(seen, 20)):
        found += 1
        seen.add(node)
        if found == 20:
            nodes.add()
    assert found >= 20


def test_a_node_that_dies(nodes: Nodes, folder: Path) -> None:
    seen, done = set[str](), list[int]()
    for item, node in RayCrew(nodes.address).run(partial(begin, folder), items_until(seen, 150)):
        done.append(item)
        if len(seen) < 2:
            seen.add(node)
            if len(seen) == 2:  # both have worked
                nodes.remove(node)
    assert len(done) >= 150
    assert sorted(done) == list(range(len(done)))


def test_a_cluster_that_is_not_there() -> None:
    with pytest.raises(HardyError, match=r"cannot use Ray at 127.0.0.1:1 .*ray start"):
        list(RayCrew("127.0.0.1:1").run(partial(begin, Path()), range(3)))


def test_another_version_of_hardy(
    nodes: Nodes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = hardy.__version__
    monkeypatch.setattr(hardy, "__version__", "9.9")
    with pytest.raises(HardyError, match=rf"^node .*expected Hardy 9\.9 .*got {here}; install"):
        list(RayCrew(nodes.address).run(partial(begin, folder), range(20)))


def test_a_ray_that_the_caller_uses(nodes: Nodes, folder: Path) -> None:
    import ray

    ray.init(address=nodes.address, log_to_driver=False)
    try:
        found = RayCrew("auto").run(partial(begin, folder), range(9))
        assert sorted(item for item, _ in found) == list(range(9))
        assert ray.is_initialized()
    finally:
        ray.shutdown()
