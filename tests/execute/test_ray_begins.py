"""Workers that cannot begin, on a fake Ray with a fake clock: a node that has just died is no
reason to give up, for Ray goes on starting workers there until it notices."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hardy.errors import HardyError
from hardy.execute import ray_crew
from hardy.execute.feeding import Came
from hardy.execute.ray_actor import DID, FAILED


class DiedError(Exception):
    """As Ray says it."""


class FakeRay:
    """A cluster with room for one worker; whoever begins before `until` fails as `ends` has it."""

    exceptions = SimpleNamespace(RayError=DiedError)

    def __init__(self, until: float, ends: str) -> None:
        self.now = 0.0
        self._until, self._ends = until, ends
        self.begin = self.work = SimpleNamespace(remote=lambda *_: object())

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def put(self, what: bytes) -> bytes:
        return what

    def remote(self, cls: type) -> Any:
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda: self))

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 0.0}

    def wait(self, calls: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        return calls, []

    def get(self, call: Any) -> tuple[str, str, Any]:
        if self.now >= self._until:
            return "node a", DID, None
        if self._ends == "died":
            raise DiedError("the actor died")
        return "node a", FAILED, "MemoryError"

    def kill(self, actor: Any) -> None:
        pass


def begin(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was said until a worker came."""
    monkeypatch.setattr(ray_crew, "time", ray)
    said: list[str] = []
    actors = ray_crew._Actors(ray, b"", {"num_cpus": 1, "num_gpus": 0}, 9, said.append)
    while ray.now < 1000:
        if any(isinstance(one, Came) for one in actors.news(0.5)):
            return said
        ray.now += 0.5
    raise AssertionError("nobody came, and nothing was said of it")


def test_a_node_that_died_is_outwaited(monkeypatch: pytest.MonkeyPatch) -> None:
    said = begin(FakeRay(30.0, "died"), monkeypatch)
    failed = [line for line in said if "could not begin (some node: DiedError: the actor" in line]
    assert len(failed) > ray_crew._FAILED_BEGINS


def test_workers_that_always_die(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(float("inf"), "died")
    with pytest.raises(HardyError, match=r"no worker could begin, .*DiedError: the actor died"):
        begin(ray, monkeypatch)
    assert ray_crew._NOTICED <= ray.now < 3 * ray_crew._NOTICED


def test_workers_that_always_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(float("inf"), "failed")
    with pytest.raises(HardyError, match=r"no worker could begin, .*node a: MemoryError; see to"):
        begin(ray, monkeypatch)
    assert ray.now < ray_crew._NOTICED


class Busy:
    """A Ray that gives up on so many connections."""

    def __init__(self, gives_up: int) -> None:
        self.left, self.ended = gives_up, 0

    def is_initialized(self) -> bool:
        return False

    def init(self, **_: Any) -> None:
        self.left -= 1
        if self.left >= 0:
            raise ConnectionAbortedError("Initialization failure from server")

    def shutdown(self) -> None:
        self.ended += 1


@pytest.mark.parametrize("gives_up", [0, 1, 2, 3])
def test_connections_are_tried_again(gives_up: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_crew, "time", SimpleNamespace(sleep=lambda seconds: None))
    ray = Busy(gives_up)
    if gives_up < ray_crew._CONNECTIONS:
        with ray_crew.connected(ray, "auto", 0):
            assert ray.ended == gives_up
        assert ray.ended == gives_up + 1
    else:
        with pytest.raises(HardyError, match=r"cannot use Ray at auto .*Initialization failure"):
            ray_crew.connected(ray, "auto", 0).__enter__()
