"""Processes that send arrays: these come over a socket, straight into memory.

Threads that decode photographs hold Python's lock for a fifth of their time, so that sixteen of
them read no more than five do, and hold up the one that keeps a GPU busy. Processes do not; what
they send is received in one call that leaves the lock.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

from hardy.errors import HardyError
from hardy.execute.array_messages import Kind, pack_message, receive_message, send_message
from hardy.execute.carried_warnings import filters_here, show_again
from hardy.execute.executor import Results, Setup, Threads
from hardy.execute.interpreter import module_command, same_imports

Item = TypeVar("Item")
Result = TypeVar("Result")

# What a large message is handed over in, if the system allows that much.
_BUFFER = 2**22
_PATIENCE = 5.0  # seconds that a process has to end
_SERVER = "hardy.execute.array_server"


def can_send_arrays() -> bool:
    """Whether processes can be begun, and given a socket."""
    return os.name == "posix" and bool(sys.executable)


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

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Results[Result]:
        """Call a function that asks processes, as often at a time as there are any."""
        return Threads(self.workers, self._let_go).run(lambda: function, items)

    def _let_go(self) -> None:
        """Have nobody wait for an answer: one process may have been stopped, or hang in a file."""
        for worker in self._begun:
            worker.hang_up()

    def function_of(self, setup: Setup[Item, Result]) -> Callable[[Item], Result]:
        """The function that has a process do an item; `setup` is pickled, and so are items and
        results. One process is set up now: where that cannot be, it is an error before any work
        begins."""
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
                module_command(_SERVER, *modules),
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
            self._answer_to(Kind.SETUP, setup)
            self.known = number

    def ask(self, number: int, setup: bytes, item: Any) -> Any:
        self.set_up(number, setup)
        return self._answer_to(Kind.ITEM, item)

    def _answer_to(self, kind: Kind, content: Any) -> Any:
        message = pack_message((kind, content))  # which may fail: before anything is sent
        try:
            send_message(self.connection, message)
            done, found, noted = receive_message(self.connection)
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
