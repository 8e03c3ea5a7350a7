"""Processes that send arrays: when they begin, end and are replaced."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hardy.errors import HardyError
from hardy.execute import ArrayProcesses
from hardy.execute.array_processes import _end, can_send_arrays
from tests.execute.array_work import many, run, too_many, wait_until_begun

pytestmark = pytest.mark.skipif(not can_send_arrays(), reason="no socket can be handed over here")


@pytest.fixture
def executor() -> ArrayProcesses:
    return ArrayProcesses(2)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes end by themselves, however busy the machine is."""
    monkeypatch.setattr("hardy.execute.array_processes._PATIENCE", 600)


def is_there(pid: int) -> bool:
    """Nobody has waited for one that ended and has no parent any more: it may be a zombie."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


@pytest.mark.usefixtures("patient")
def test_processes_end_with_the_one_who_holds_them() -> None:
    executor = ArrayProcesses(2)
    wait_until_begun(executor)
    children = [worker.child for worker in executor._begun]
    assert [child.poll() for child in children] == [None, None]
    del executor
    assert [child.poll() for child in children] == [0, 0]


def test_ctrl_c_does_not_reach_processes() -> None:
    executor = ArrayProcesses(1)
    executor.begin()
    assert os.getpgid(executor._begun[0].child.pid) != os.getpgrp()


@pytest.mark.usefixtures("patient")
def test_a_fork_that_ends_takes_no_process_along(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = ArrayProcesses(1)
    wait_until_begun(executor)
    begun, owner = executor._begun, os.getpid()
    monkeypatch.setattr("hardy.execute.array_processes.os.getpid", lambda: owner + 1)
    del executor
    assert begun[0].child.poll() is None
    _end(begun, owner + 1)
    assert begun[0].child.poll() == 0


@pytest.mark.usefixtures("patient")
def test_a_copy_of_its_socket_keeps_no_process() -> None:
    executor = ArrayProcesses(1)
    wait_until_begun(executor)
    process = executor._begun[0].child
    copy = os.dup(executor._begun[0].connection.fileno())  # as a fork has one
    try:
        del executor
        assert process.poll() == 0
    finally:
        os.close(copy)


@pytest.mark.skipif(not Path("/proc").exists(), reason="no way to see whether a process is there")
def test_a_fork_keeps_no_process_of_one_that_was_killed(tmp_path: Path) -> None:
    """It has copies of the sockets, which nobody would close."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, sys, time\n"
        "from hardy.execute import ArrayProcesses\n"
        "processes = ArrayProcesses(1)\n"
        "processes.begin()\n"
        "fork = os.fork()\n"
        "if not fork:\n"
        "    os.close(1)\n"  # else whoever reads what the script says would wait for the fork, too
        "    time.sleep(600)\n"
        "    os._exit(0)\n"
        "print(processes._begun[0].child.pid, fork, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    # Newer Pythons warn of a fork beside threads, such as those of numpy.
    command = [sys.executable, "-W", "ignore", script]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    child, fork = map(int, said.split())
    try:
        end = time.monotonic() + 600
        while is_there(child):
            assert is_there(fork)
            assert time.monotonic() < end
            time.sleep(0.1)
    finally:
        os.kill(fork, signal.SIGKILL)


def test_who_wants_no_more_waits_for_no_process(
    executor: ArrayProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardy.execute.array_processes._PATIENCE", 0.1)
    monkeypatch.setattr(import_module("hardy.execute.executor"), "LET_GO_AFTER", 0.1)
    found = run(executor, partial(many, 1), [1, 60, 2])
    next(found)
    # The other process is at work no more; it was let go of all the same.
    idle = executor._idle.get()
    executor._idle.put(idle)
    found.close()
    assert idle.lost
    assert [one["id"] for one in run(executor, partial(many, 1), [3, 4])] == ["3", "4"]


def test_an_error_waits_for_no_process_that_hangs(
    executor: ArrayProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardy.execute.array_processes._PATIENCE", 0.1)
    monkeypatch.setattr(import_module("hardy.execute.executor"), "LET_GO_AFTER", 0.1)
    with pytest.raises(HardyError, match="a worker process died"):
        next(run(executor, partial(many, 1), [666, 60]))
    hung = [executor._idle.get() for _ in range(2)]
    assert all(worker.lost for worker in hung)


def test_processes_that_answer_stay_when_nobody_wants_more(executor: ArrayProcesses) -> None:
    found = run(executor, partial(many, 1), range(1, 12))
    next(found)
    found.close()
    assert not any(worker.lost for worker in executor._begun)


def test_another_process_stands_in_for_one_that_died() -> None:
    executor = ArrayProcesses(1)
    with pytest.raises(HardyError, match="a worker process died"):
        list(run(executor, partial(many, 1), [666]))
    assert len(list(run(executor, partial(many, 1), [1, 2]))) == 2


def test_a_process_that_cannot_be_replaced_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = ArrayProcesses(1)
    with pytest.raises(HardyError, match="a worker process died"):
        list(run(executor, partial(many, 1), [666]))
    with monkeypatch.context() as patch:
        patch.setattr("hardy.execute.array_processes.socket.socketpair", too_many)
        with pytest.raises(HardyError, match=r"Too many open files.*fewer workers"):
            list(run(executor, partial(many, 1), [1]))
    assert len(list(run(executor, partial(many, 1), [1, 2]))) == 2


def die_before_a_sleep_ends(note: Path) -> Callable[[int], int]:
    return partial(_die_before_a_sleep_ends, note)


def _die_before_a_sleep_ends(note: Path, item: int) -> int:
    command = ["sh", "-c", f"sleep 30; touch {note}.ended"]
    note.write_text(str(subprocess.Popen(command, start_new_session=True).pid))
    os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_a_killed_process_is_noticed_though_one_that_it_began_lives(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with pytest.raises(HardyError, match="a worker process died"):
        list(run(ArrayProcesses(1), partial(die_before_a_sleep_ends, note), [1]))
    assert not Path(f"{note}.ended").exists()
    os.killpg(int(note.read_text()), signal.SIGKILL)


def test_more_processes_than_the_system_gives_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardy.execute.array_processes.socket.socketpair", too_many)
    with pytest.raises(HardyError, match=r"Too many open files.*fewer workers"):
        ArrayProcesses(2).begin()


def test_a_process_that_cannot_be_begun_leaves_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[socket.socket] = []
    really = socket.socketpair

    def socketpair() -> tuple[socket.socket, socket.socket]:
        ends.extend(pair := really())
        return pair

    def popen(*words: Any, **how: Any) -> Any:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("hardy.execute.array_processes.socket.socketpair", socketpair)
    monkeypatch.setattr("hardy.execute.array_processes.subprocess.Popen", popen)
    with pytest.raises(HardyError, match="temporarily unavailable"):
        ArrayProcesses(1).begin()
    assert [end.fileno() for end in ends] == [-1, -1]


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardy.execute.array_processes._PATIENCE", 0.1)
    executor = ArrayProcesses(1)
    executor.begin()
    process = executor._begun[0].child
    os.kill(process.pid, signal.SIGSTOP)
    del executor
    assert process.poll() == -signal.SIGKILL
