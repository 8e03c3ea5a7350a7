"""Processes that send arrays: these come over a socket, straight into memory.

Threads that decode photographs hold Python's lock for a fifth of their time, so that sixteen of
them read no more than five do, and hold up the one that keeps a GPU busy. Processes do not; what
they send is received in one call that leaves the lock.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from importlib import import_module
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from hardy.errors import HardyError
from hardy.execute.carried_warnings import (
    CarriedWarning,
    filters_here,
    noting_warnings,
    set_filters,
    show_again,
    without_warnings,
)
from hardy.execute.executor import Results, Setup, Threads
from hardy.execute.interpreter import module_command, same_imports

Item = TypeVar("Item")
Result = TypeVar("Result")

_ALIGNED = 64  # bytes: arrays begin at multiples of it
_COUNT = struct.Struct("<Q")
# What a large message is handed over in, if the system allows that much.
_BUFFER = 2**22
_PATIENCE = 5.0  # seconds that a process has to end


def can_send_arrays() -> bool:
    """Whether processes can be begun, and given a socket."""
    return os.name == "posix" and bool(sys.executable)


class _Kind(IntEnum):
    """What a message to a process holds."""

    SETUP = 0
    ITEM = 1


class ArrayProcesses:
    """Work in `workers` processes, one thread for each; results in the order of the items.

    Processes begin with `begin`, or with the first work, and serve until `close`, or until nobody
    holds this object. Unlike those of `multiprocessing` they do not run the caller's script again.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._begun: list[_Worker] = []
        self._pickled = b""  # the work they were last asked for
        self._number = 0
        _ALL.add(self)
        weakref.finalize(self, _end, self._begun, os.getpid())

    def begin(self, *modules: str) -> None:
        """Begin the processes, and have them import what their work will need."""
        while len(self._begun) < self.workers:
            worker = self._begin_one(modules)
            self._begun.append(worker)
            self._idle.put(worker)

    def run(self, setup: Setup[Item, Result], items: Iterable[Item]) -> Results[Result]:
        """`setup` is pickled, and so are items and results."""
        function = self.function_of(setup)
        return Threads(self.workers, self._let_go).run(lambda: function, items)

    def _let_go(self) -> None:
        """Have nobody wait for an answer: one process may have been stopped, or hang in a file."""
        for worker in self._begun:
            worker.hang_up()

    def function_of(self, setup: Setup[Item, Result]) -> Callable[[Item], Result]:
        """The function that has a process do an item. One process is set up now: where that cannot
        be, it is an error before any work begins."""
        self.begin()
        pickled = pickle.dumps((setup, filters_here()))
        if pickled != self._pickled:
            self._pickled, self._number = pickled, self._number + 1
        number = self._number

        def ask(item: Item) -> Result:
            with self._idle_worker() as worker:
                answer: Result = worker.ask(number, pickled, item)
                return answer

        with self._idle_worker() as worker:
            worker.set_up(number, pickled)
        return ask

    @contextmanager
    def _idle_worker(self) -> Iterator[_Worker]:
        worker = self._idle.get()
        try:
            if worker.lost:
                worker = self._replace(worker)
            yield worker
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """End the processes, of which none is at work; further work would begin others."""
        _end(self._begun, os.getpid())
        self._begun.clear()
        self._idle = SimpleQueue()

    def _begin_one(self, modules: Sequence[str] = ()) -> _Worker:
        try:
            return _Worker.begin(modules)
        except OSError as error:
            raise HardyError(
                f"cannot begin a worker process, one of {self.workers} ({error.strerror}); ask for "
                "fewer workers"
            ) from error

    def _replace(self, lost: _Worker) -> _Worker:
        worker = self._begin_one()
        self._begun[self._begun.index(lost)] = worker
        _end([lost], os.getpid())
        return worker


_ALL: weakref.WeakSet[ArrayProcesses] = weakref.WeakSet()


def _forget_others() -> None:
    """After a fork: with copies of the sockets, processes would outlive whom they work for."""
    for processes in list(_ALL):
        for worker in processes._begun:
            worker.connection.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_others)


@dataclass(eq=False)
class _Worker:
    connection: socket.socket
    child: subprocess.Popen[bytes]
    known: int = 0  # the work it was last set up for
    hung_up: bool = False

    @classmethod
    def begin(cls, modules: Sequence[str]) -> _Worker:
        ours, theirs = socket.socketpair()
        with theirs, ExitStack() as unless_begun:
            unless_begun.enter_context(ours)
            for end in (ours, theirs):
                end.settimeout(None)  # whatever the caller has made the default
                for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    with suppress(OSError):
                        end.setsockopt(socket.SOL_SOCKET, buffer, _BUFFER)
            child = subprocess.Popen(
                module_command(__name__, *modules),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=same_imports(),
                process_group=0,  # Ctrl-C is for the one who asks
            )
            unless_begun.pop_all()
        return cls(ours, child)

    def hang_up(self) -> None:
        """Whoever waits for an answer gets none, and the process ends, whoever has copies."""
        self.hung_up = True
        with suppress(OSError):  # it has died
            self.connection.shutdown(socket.SHUT_RDWR)

    @property
    def lost(self) -> bool:
        """Whether it can be asked nothing more."""
        return self.hung_up or self.connection.fileno() == -1

    def set_up(self, number: int, setup: bytes) -> None:
        if number != self.known:
            self._answer_to(_Kind.SETUP, setup)
            self.known = number

    def ask(self, number: int, setup: bytes, item: Any) -> Any:
        self.set_up(number, setup)
        return self._answer_to(_Kind.ITEM, item)

    def _answer_to(self, kind: _Kind, content: Any) -> Any:
        packed = _packed((kind, content))  # which may fail: before anything is sent
        try:
            _send(self.connection, packed)
            done, found, noted = _receive(self.connection)
        except (EOFError, OSError) as error:
            self.connection.close()
            raise HardyError(
                "a worker process died, perhaps for lack of memory; what was finished is kept: "
                "run the same command again, with fewer workers if it happens again"
            ) from error
        except BaseException:  # such as no memory for an answer, of which the rest would come next
            self.connection.close()
            raise
        show_again(noted)
        if not done:
            raise found
        return found


def _end(workers: Sequence[_Worker], owner: int) -> None:
    if os.getpid() != owner:  # a fork has copies, which are not its own
        return
    for worker in workers:
        worker.hang_up()
        worker.connection.close()
    for worker in workers:
        try:
            worker.child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # it was stopped, or hangs in a file
            worker.child.kill()
            worker.child.wait()


def _packed(message: Any) -> list[memoryview]:
    """A message, and behind it what its arrays hold, which is not copied."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    return [memoryview(head), *(buffer.raw() for buffer in buffers)]


def _send(connection: socket.socket, views: Sequence[memoryview]) -> None:
    sizes = np.array([len(view) for view in views], "<u8").tobytes()
    connection.sendall(_COUNT.pack(len(views)) + sizes)
    for view in views:
        connection.sendall(view)
        connection.sendall(bytes(-len(view) % _ALIGNED))


def _receive(connection: socket.socket) -> Any:
    """What was sent; EOFError where the other side is gone."""
    (count,) = _COUNT.unpack(_received(connection, _COUNT.size))
    sizes = np.frombuffer(_received(connection, 8 * count), "<u8").tolist()
    ends = np.cumsum([size + -size % _ALIGNED for size in sizes]).tolist()
    everything = _received(connection, ends[-1])
    starts = [0, *ends[:-1]]
    head, *buffers = (
        everything[start : start + size] for start, size in zip(starts, sizes, strict=True)
    )
    return pickle.loads(head, buffers=buffers)


def _received(connection: socket.socket, size: int) -> memoryview:
    """So many bytes, which may be written to, aligned in memory."""
    room = np.empty(size + _ALIGNED, np.uint8)
    first = -room.ctypes.data % _ALIGNED
    view = room.data[first : first + size]
    got = 0
    while got < size:
        more = connection.recv_into(view[got:], size - got, socket.MSG_WAITALL)
        if not more:
            raise EOFError
        got += more
    return view


def serve(connection: socket.socket) -> None:
    """Do what is asked until nobody asks any more."""
    with connection, noting_warnings() as noted:
        _serve(connection, noted)


def _serve(connection: socket.socket, noted: list[CarriedWarning]) -> None:
    work: Callable[[Any], Any]
    while True:
        try:
            kind, item = _receive(connection)
        except (EOFError, OSError):
            return
        try:
            if kind == _Kind.SETUP:
                work, result = _set_up(item), None
            else:
                result = work(item)
            answer = _packed((True, result, noted))
        except Exception as error:
            answer = _packed((False, _told(error), noted))
        noted.clear()
        try:
            _send(connection, answer)
        except OSError:
            return


def _set_up(pickled: bytes) -> Callable[[Any], Any]:
    with without_warnings():
        setup, filters = pickle.loads(pickled)
        work: Callable[[Any], Any] = setup()
    set_filters(filters)
    return work


def _told(error: Exception) -> Exception:
    """The error, if it can travel."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return HardyError(f"{type(error).__name__}: {error}")
    return error


def _take_connection() -> socket.socket:
    """The socket that came as stdin; whatever this process begins does not get it in turn: it would
    read what is asked here, and keep it open when this process dies."""
    connection = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return connection


if __name__ == "__main__":
    asked = _take_connection()
    with without_warnings():
        for needed in sys.argv[1:]:
            import_module(needed)
    serve(asked)
