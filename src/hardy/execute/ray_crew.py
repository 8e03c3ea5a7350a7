"""Work on a cluster that Ray runs: one actor for each share of a machine, on whatever there is.

Ray starts processes, carries what they are given and what they return, and notices who has died.
Who does what is decided by `feeding`. Ray is imported when a cluster is first asked for.
"""

import operator
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from hardy.errors import HardyError, InputError, need, told
from hardy.execute.executor import AHEAD, Item, Result, Results, Setup, processors
from hardy.execute.feeding import Came, Did, Left, feed
from hardy.execute.ray_actor import FAILED, SAID, UNFIT, make_actor_class
from hardy.schema import brief

_LOCAL = "local"  # what Ray calls one that is started for the occasion
_ADDRESS = re.compile(r"auto|(?:ray://)?[\w.\-]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}")
_STORE = 80 << 20  # bytes for what Ray carries: little but the beginning
_REACHED = 10.0  # seconds, for a cluster to take a connection
_CONNECTIONS = 3  # tries, where Ray takes one and then gives up on it
_LOOKS = 1.0  # seconds between two looks at what the cluster has
_LONELY = 30.0  # seconds after which it is told that no worker has come
_FAILED_BEGINS = 3  # one after the other, before no worker is expected to begin
_NOTICED = 60.0  # seconds in which Ray may still start workers on a node that is dead
_LONGEST_REST = 60.0  # seconds, after a worker could not begin
# Ray reports how it is used to its makers unless it is told not to.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


def ray_address(on: str) -> str:
    """The address that `on` stands for, as Ray takes it."""
    if on == "ray":
        return _LOCAL
    if not _ADDRESS.fullmatch(on):
        _, at, bare = on.rpartition("@")
        more = " behind an @; leave out what stands before it" if at else ""
        raise InputError(
            'expected `on` as "ray" (a Ray for this run alone), "auto" (the one that runs here), '
            f'"ray://HOST:PORT" or "HOST:PORT", got {brief(bare)}{more}'
        )
    return on


class RayCrew:
    """Work in actors of Ray, each of which has so many processors and GPUs, over a whole cluster.

    There are as many as fit, and more as machines join. One that dies, or fails other than by an
    error that tells a person what to do, is replaced, and others do what it had.
    """

    def __init__(
        self,
        on: str,
        *,
        cpus: int = 1,
        gpus: int = 0,
        once: bool = False,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._address = ray_address(on)
        self._ray = need("ray", "ray", "a run on Ray")
        self._needs = {"num_cpus": cpus, "num_gpus": gpus}
        self._once = once  # items take long: none waits for a worker, nor is done by two
        self._warn = warn

    def run(
        self,
        setup: Setup[Item, Result],
        items: Iterable[Item],
        settle: Callable[[], None] = lambda: None,
    ) -> Results[Result]:
        parcel = parcel_of(self._ray, setup)
        most = operator.length_hint(items, sys.maxsize)
        if not most:
            return
        with connected(self._ray, self._address, len(parcel)):
            actors = _Actors(self._ray, parcel, self._needs, most, self._warn)
            try:
                ahead = 1 if self._once else AHEAD
                yield from feed(
                    actors, items, self._warn, settle, ahead=ahead, again=not self._once
                )
            finally:
                actors.close()


class _Actors:
    """Actors as a workforce."""

    def __init__(
        self,
        ray: Any,
        parcel: bytes,
        needs: dict[str, int],
        most: int,
        warn: Callable[[str], None],
    ) -> None:
        self._ray = ray
        self._parcel = ray.put(parcel)
        self._needs = needs
        self._most = most
        self._warn = warn
        self._class = ray.remote(make_actor_class())
        self._actors: dict[int, Any] = {}
        self._places: dict[int, str] = {}  # those of workers that have begun
        self._calls: dict[Any, tuple[int, int | None]] = {}  # worker, and ticket unless it begins
        self._number = 0
        self._failed_begins = 0
        self._failing_since = 0.0
        self._rests_until = 0.0
        self._looked = -_LOOKS
        self._lonely: float | None = time.monotonic() + _LONELY

    def give(self, worker: int, ticket: int, item: Any) -> None:
        self._calls[self._actors[worker].work.remote(item)] = (worker, ticket)

    def news(self, seconds: float) -> Iterator[Came | Did | Left]:
        self._look_around()
        calls = list(self._calls)
        if not calls:
            time.sleep(seconds)
            return
        ready, _ = self._ray.wait(calls, num_returns=1, timeout=seconds)
        if ready:
            ready, _ = self._ray.wait(calls, num_returns=len(calls), timeout=0)
        for call in ready:
            if call in self._calls:  # else its worker has failed at another one by now
                yield from self._outcome(call, *self._calls.pop(call))

    def _outcome(self, call: Any, worker: int, ticket: int | None) -> Iterator[Came | Did | Left]:
        died = False
        try:
            place, how, what = self._ray.get(call)
        except self._ray.exceptions.RayError as error:
            died = True
            place, how, what = self._places.get(worker, "some node"), FAILED, told(error)
        if how == SAID:
            raise type(what)(f"{place}: {what}") from what
        if how == UNFIT:
            raise HardyError(f"{place}: {what}")
        if how == FAILED:
            self._dismiss(worker)
            if ticket is None:
                self._cannot_begin(f"{place}: {what}", died)
            else:
                yield Left(worker, f"{place}: {what}")
        elif ticket is None:
            self._places[worker] = place
            self._lonely, self._failed_begins = None, 0
            yield Came(worker)
        else:
            yield Did(worker, ticket, what)

    def _cannot_begin(self, why: str, died: bool) -> None:
        """Try again later: it may have been a node that died, or one that never will do."""
        now = time.monotonic()
        if not self._failed_begins:
            self._failing_since = now
        self._failed_begins += 1
        self._rests_until = now + min(2.0**self._failed_begins, _LONGEST_REST)
        self._warn(f"a worker could not begin ({why})")
        often = self._failed_begins >= _FAILED_BEGINS
        if often and not self._places and not (died and now < self._failing_since + _NOTICED):
            raise HardyError(
                f"no worker could begin, the last one failed so: {why}; see to the cause, then run "
                "the same command again"
            )

    def _look_around(self) -> None:
        """Have as many workers as fit, and one more, for which a cluster that grows may grow."""
        now = time.monotonic()
        if now < self._looked + _LOOKS:
            return
        self._looked = now
        there = self._ray.cluster_resources()
        fit = min(
            int(there.get(kind, 0) // number)
            for kind, number in (("CPU", self._needs["num_cpus"]), ("GPU", self._needs["num_gpus"]))
            if number
        )
        while now >= self._rests_until and len(self._actors) < min(fit + 1, self._most):
            self._start()
        if self._lonely is not None and now > self._lonely:
            self._lonely = None
            needed = f"{self._needs['num_cpus']} CPUs and {self._needs['num_gpus']} GPUs"
            self._warn(
                f"no worker is ready: each needs {needed} of a machine in the cluster, and first "
                "loads what it works with"
            )

    def _start(self) -> None:
        self._number += 1
        env = {"env_vars": environment(self._needs["num_cpus"], self._needs["num_gpus"])}
        # Ray's list of events of tasks would grow here with every item.
        how = {"runtime_env": env, "enable_task_events": False}
        actor = self._class.options(**self._needs, **how).remote()
        self._actors[self._number] = actor
        begins = actor.begin.remote(self._parcel, *whereabouts())
        self._calls[begins] = (self._number, None)

    def _dismiss(self, worker: int) -> None:
        if self._places.pop(worker, None) and not self._places:
            self._lonely = time.monotonic() + _LONELY
        self._calls = {call: whose for call, whose in self._calls.items() if whose[0] != worker}
        self._ray.kill(self._actors.pop(worker))

    def close(self) -> None:
        self._calls.clear()
        for actor in self._actors.values():
            self._ray.kill(actor)


def environment(cpus: int, gpus: int) -> dict[str, str]:
    """The variables of a worker with so many processors and GPUs."""
    env = {name: text for name, text in os.environ.items() if name.startswith("HARDY_")}
    env |= dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), str(cpus))
    if not gpus:
        env["CUDA_VISIBLE_DEVICES"] = ""  # what it was not given, it shall not use
    return env


def whereabouts() -> tuple[str, str, list[str]]:
    """What a worker is told of the driver: Hardy's version, the folder, and Python's paths."""
    return import_module("hardy").__version__, os.getcwd(), sys.path


def parcel_of(ray: Any, setup: Any) -> bytes:
    """What workers are begun with. Ray's pickle also takes what was defined in a script."""
    try:
        parcel: bytes = ray.cloudpickle.dumps(setup)
    except Exception as error:
        raise InputError(
            f"expected work that can be sent to other machines, got some that cannot: {told(error)}"
        ) from error
    return parcel


@contextmanager
def connected(ray: Any, address: str, room: int) -> Iterator[None]:
    """Be connected to a cluster; one that the caller is connected to already is taken, unless
    another is asked for."""
    if ray.is_initialized():
        _check_connected(ray.get_runtime_context().gcs_address, address)
        yield
        return
    os.environ.update({name: value for name, value in _QUIET.items() if name not in os.environ})
    own = {
        "num_cpus": processors(),
        "include_dashboard": False,
        "object_store_memory": max(_STORE, 3 * room),
    }
    try:
        if ":" in address:  # Ray itself would try for minutes
            host, _, port = address.removeprefix("ray://").rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), _REACHED).close()
        with _own_signals():
            _begin(ray, address, own if address == _LOCAL else {})
    except Exception as error:
        raise HardyError(
            f"cannot use Ray at {address} ({told(error)}); start one by `ray start`, or give "
            "`on=ray` for one of this run alone"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _begin(ray: Any, address: str, own: dict[str, Any]) -> None:
    """Connect; what a busy server of Ray's client gives up on is tried again."""
    for left in reversed(range(_CONNECTIONS)):
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error", **own)
            return
        except ConnectionError:
            if not left:
                raise
            ray.shutdown()
            time.sleep(1.0)


def _check_connected(there: str, address: str) -> None:
    """Hosts have several names; ports have one. Ray's client listens at another port."""
    port = address.rpartition(":")[2]
    if port.isdigit() and "://" not in address and port != there.rpartition(":")[2]:
        raise InputError(
            f"expected this process to be connected to Ray at {address}, or to none, got {there}; "
            "call ray.shutdown() first, or give `on=auto`"
        )


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep what the program does when it is told to end; Ray has its own idea."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None:  # else it was set in C, and cannot be set from here
            signal.signal(signal.SIGTERM, before)
