"""A crew whose workers write down, at every piece of work, who they are and where. Nobody begins
before two nodes do, however slowly one of them starts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from hardy.execute import RayCrew


class Noting(RayCrew):
    def __init__(self, on: str, notes: Path, **given: Any) -> None:
        super().__init__(on, **given)
        self.notes = notes
        notes.mkdir()

    def run(self, setup: Any, items: Iterable[Any], settle: Any = lambda: None) -> Iterator[Any]:
        return super().run(partial(begin_noting, setup, self.notes), items, settle)

    def at_work(self) -> dict[int, str]:
        """The processes that live, the latest first, and their nodes."""
        noted = sorted(self.notes.iterdir(), key=lambda path: -path.stat().st_mtime_ns)
        who = [path.name.partition("-") for path in noted]
        return {int(pid): node for pid, _, node in who if Path("/proc", pid).exists()}

    def worked_at(self) -> set[str]:
        return nodes_of(self.notes)


def nodes_of(notes: Path) -> set[str]:
    """Those of all who have worked, dead or alive."""
    return {path.name.partition("-")[2] for path in notes.iterdir()}


def begin_noting(setup: Any, notes: Path) -> Callable[[Any], Any]:
    import ray

    node = ray.get_runtime_context().get_node_id()
    work = setup()

    def note_and_work(item: Any) -> Any:
        (notes / f"{os.getpid()}-{node}").touch()
        while len(nodes_of(notes)) < 2:
            time.sleep(0.02)
        time.sleep(0.1)
        return work(item)

    return note_and_work
