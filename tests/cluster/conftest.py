"""A Ray cluster of this machine: a head that does no work, and nodes of one processor each."""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

ROOM = 80 << 20  # bytes of what each node can carry


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/cluster/" in item.path.as_posix():
            item.add_marker(pytest.mark.cluster)


class Nodes:
    """The nodes that work; there are two when a test begins."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        # Workers that Ray starts yield to whatever else runs; on a busy machine nothing would come.
        os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "object_store_memory": ROOM, "include_dashboard": False},
        )
        self.address: str = self._cluster.address
        self._working: list[Any] = []

    def have(self, count: int) -> None:
        while len(self._working) > count:
            self.remove()
        while len(self._working) < count:
            self.add()

    def add(self) -> Any:
        node = self._cluster.add_node(num_cpus=1, object_store_memory=ROOM)
        self._working.append(node)
        return node

    def remove(self, node_id: str | None = None) -> None:
        """Remove one, or any, as if its plug was pulled."""
        node = next(one for one in self._working if node_id in (None, one.node_id))
        self._working.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def wait(self) -> None:
        """Until Ray knows who is there: it takes its time to notice that a node is dead."""
        self._cluster.wait_for_nodes(timeout=300)

    def close(self) -> None:
        self._cluster.shutdown()
        # Ray leaves processes that it killed unasked for: warnings of that would come after the
        # last test, and fail it all.
        for process in (one for one in gc.get_objects() if type(one) is subprocess.Popen):
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=60)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Nodes]:
    started = Nodes()
    yield started
    started.close()


@pytest.fixture
def nodes(cluster: Nodes) -> Nodes:
    cluster.have(2)
    cluster.wait()
    return cluster
