"""Whom the soak on a cluster takes for an actor. No Ray is needed: processes are known by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from soak.cluster import _actors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@contextmanager
def called(*names: str) -> Iterator[list[int]]:
    """Processes that only wait, under such names; their numbers."""
    with ExitStack() as running:
        children = []
        for name in names:
            child = subprocess.Popen([name, "60"], executable="sleep")
            running.callback(child.wait)
            running.callback(child.kill)
            children.append(child.pid)
        yield children


def test_actors_are_no_agents() -> None:
    agents = ("ray::DashboardAgent", "ray::RuntimeEnvAgent", "ray::IDLE")
    with called("ray::Worker.work", *agents, "ray::Worker") as (busy, _, _, _, idle):
        assert _actors() == sorted((busy, idle))
