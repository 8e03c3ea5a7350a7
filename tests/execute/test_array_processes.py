"""Processes that send arrays."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.errors import HardyError, InputError
from hardy.execute import ArrayProcesses, Threads
from hardy.execute.array_processes import _end, can_send_arrays

pytestmark = pytest.mark.skipif(not can_send_arrays(), reason="no socket can be handed over here")


def many(times: int) -> Callable[[int], Any]:
    return partial(_rows, times)


def _rows(times: int, item: int) -> Any:
    if item < 0:
        raise InputError(f"expected no {item}")
    if item == 13:
        raise Untold(lambda: None)
    if item == 14:
        return lambda: None
    if item == 60:
        time.sleep(60)
    if item == 666:
        os.kill(os.getpid(), signal.SIGKILL)
    rows = np.full((item, 3), times * item, np.uint64)
    return {"rows": rows, "again": rows, "odd": np.arange(item, dtype=np.uint8), "id": str(item)}


class Untold(Exception):
    """Does not travel."""


@pytest.fixture
def executor() -> ArrayProcesses:
    return ArrayProcesses(2)


def wait_until_begun(executor: ArrayProcesses) -> None:
    """However long that takes on a busy machine: a process in its imports does not hear yet."""
    executor.begin()
    for worker in executor._begun:
        worker.ask(1, pickle.dumps((partial(many, 1), ())), 1)


def test_results_come_in_order_and_as_they_were(executor: ArrayProcesses) -> None:
    found = list(executor.run(partial(many, 7), range(12)))
    assert [one["id"] for one in found] == [str(item) for item in range(12)]
    for item, one in enumerate(found):
        np.testing.assert_array_equal(one["rows"], np.full((item, 3), 7 * item, np.uint64))
        np.testing.assert_array_equal(one["odd"], np.arange(item, dtype=np.uint8))
        assert one["again"] is one["rows"]
        assert one["rows"].flags.writeable
        assert one["rows"].flags.aligned


def test_the_same_processes_do_other_work(executor: ArrayProcesses) -> None:
    first = list(executor.run(partial(many, 1), [1, 2, 3, 4]))
    begun = [worker.child.pid for worker in executor._begun]
    second = list(executor.run(partial(many, 2), [1, 2, 3, 4]))
    assert [int(one["rows"][0, 0]) for one in first] == [1, 2, 3, 4]
    assert [int(one["rows"][0, 0]) for one in second] == [2, 4, 6, 8]
    assert [worker.child.pid for worker in executor._begun] == begun


@pytest.mark.parametrize(
    ("item", "kind", "text"),
    [
        (-1, InputError, "expected no -1"),
        (13, HardyError, "Untold: <function"),
        (14, Exception, "local object"),
    ],
)
def test_errors_come_back(
    executor: ArrayProcesses, item: int, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        list(executor.run(partial(many, 1), [item]))
    assert len(list(executor.run(partial(many, 1), [1, 2]))) == 2


def fails() -> Any:
    raise InputError("cannot begin")


def test_work_that_cannot_begin_says_why(executor: ArrayProcesses) -> None:
    with pytest.raises(InputError, match="cannot begin"):
        list(executor.run(fails, [1]))


def test_processes_can_be_asked_whether_they_know_the_work(executor: ArrayProcesses) -> None:
    with pytest.raises(InputError, match="cannot begin"):
        executor.function_of(fails)
    assert executor.function_of(partial(many, 3))(2)["rows"].tolist() == [[6, 6, 6], [6, 6, 6]]


def test_a_killed_process_is_told_in_a_line(executor: ArrayProcesses) -> None:
    with pytest.raises(HardyError, match="a worker process died, perhaps for lack of"):
        list(executor.run(partial(many, 1), [666]))


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


def test_a_fork_that_ends_takes_no_process_along(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = ArrayProcesses(1)
    wait_until_begun(executor)
    begun, owner = executor._begun, os.getpid()
    monkeypatch.setattr("hardy.execute.array_processes.os.getpid", lambda: owner + 1)
    del executor
    assert begun[0].child.poll() is None
    _end(begun, owner + 1)
    assert begun[0].child.poll() == 0


def test_sockets_wait_whatever_the_default_is() -> None:
    usual = socket.getdefaulttimeout()
    socket.setdefaulttimeout(0.05)
    try:
        executor = ArrayProcesses(1)
        wait_until_begun(executor)
        time.sleep(0.2)
        assert len(list(executor.run(partial(many, 1), [1, 2]))) == 2
    finally:
        socket.setdefaulttimeout(usual)


def test_a_script_without_a_guard_is_not_run_again(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from functools import partial\n"
        "from hardy.execute import ArrayProcesses\n"
        "from tests.execute.test_array_processes import many\n"
        "print('once')\n"
        "print(len(list(ArrayProcesses(2).run(partial(many, 1), range(4)))))\n"
    )
    top = Path(__file__).parents[2]
    path = os.pathsep.join([str(top), *sys.path])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, script], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["once", "4"]
    assert done.stderr == ""


def test_what_lies_in_the_current_folder_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "queue.py").write_text("raise RuntimeError('not asked for')")
    monkeypatch.chdir(tmp_path)
    assert len(list(ArrayProcesses(1).run(partial(many, 1), [1, 2]))) == 2


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
        "    time.sleep(60)\n"
        "    os._exit(0)\n"
        "print(processes._begun[0].child.pid, fork, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    # Newer Pythons warn of a fork beside threads, such as those of numpy.
    command = [sys.executable, "-W", "ignore", script]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    child, fork = map(int, said.split())
    try:
        while is_there(child):
            assert is_there(fork)
            time.sleep(0.1)
    finally:
        os.kill(fork, signal.SIGKILL)


def is_there(pid: int) -> bool:
    """Nobody has waited for one that ended and has no parent any more: it may be a zombie."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def test_who_wants_no_more_waits_for_no_process(
    executor: ArrayProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardy.execute.array_processes._PATIENCE", 0.1)
    found = executor.run(partial(many, 1), [1, 60, 2])
    next(found)
    # The other process is at work no more; it was let go of all the same.
    idle = executor._idle.get()
    executor._idle.put(idle)
    found.close()
    assert idle.lost
    assert [one["id"] for one in executor.run(partial(many, 1), [3, 4])] == ["3", "4"]


def test_the_current_folder_comes_last_where_it_is_imported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook that has gone to another folder since it imported its libraries."""
    (tmp_path / "numpy.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.chdir(tmp_path)
    (one,) = ArrayProcesses(1).run(partial(many, 1), [3])
    assert one["id"] == "3"


def test_an_answer_that_finds_no_memory_leaves_no_half_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    executor = ArrayProcesses(1)
    list(executor.run(partial(many, 1), [1]))
    first = executor._begun[0].child
    really, asked = np.empty, []

    def empty(*shape: Any) -> Any:
        asked.append(shape)
        if len(asked) == 3:  # behind the head of an answer
            raise MemoryError
        return really(*shape)

    monkeypatch.setattr("hardy.execute.array_processes.np.empty", empty)
    with pytest.raises(MemoryError):
        list(executor.run(partial(many, 1), [11]))
    (found,) = executor.run(partial(many, 1), [11])
    assert found["id"] == "11"
    assert first.poll() is not None


def test_an_item_that_cannot_be_sent_harms_no_process() -> None:
    executor = ArrayProcesses(1)
    wait_until_begun(executor)
    first = executor._begun[0].child
    with pytest.raises(Exception, match=r"pickle|local object"):
        list(executor.run(partial(many, 1), [lambda: None]))
    assert len(list(executor.run(partial(many, 1), [1, 2]))) == 2
    assert [worker.child for worker in executor._begun] == [first]


def test_another_process_stands_in_for_one_that_died() -> None:
    executor = ArrayProcesses(1)
    with pytest.raises(HardyError, match="a worker process died"):
        list(executor.run(partial(many, 1), [666]))
    assert len(list(executor.run(partial(many, 1), [1, 2]))) == 2


def test_a_process_that_cannot_be_replaced_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = ArrayProcesses(1)
    with pytest.raises(HardyError, match="a worker process died"):
        list(executor.run(partial(many, 1), [666]))
    with monkeypatch.context() as patch:
        patch.setattr("hardy.execute.array_processes.socket.socketpair", too_many)
        with pytest.raises(HardyError, match=r"Too many open files.*fewer workers"):
            list(executor.run(partial(many, 1), [1]))
    assert len(list(executor.run(partial(many, 1), [1, 2]))) == 2


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
        list(ArrayProcesses(1).run(partial(die_before_a_sleep_ends, note), [1]))
    assert not Path(f"{note}.ended").exists()
    os.killpg(int(note.read_text()), signal.SIGKILL)


def read_stdin() -> Callable[[int], str]:
    return _read_stdin


def _read_stdin(item: int) -> str:
    return subprocess.run(["cat"], capture_output=True, text=True, timeout=20).stdout


def test_what_a_process_begins_reads_nothing_of_what_is_asked() -> None:
    assert list(ArrayProcesses(1).run(read_stdin, [1, 2])) == ["", ""]


def warn() -> Callable[[int], int]:
    return _warn


def _warn(item: int) -> int:
    warnings.warn(f"odd {item % 2}", UserWarning, stacklevel=1)
    return item


def test_what_a_process_warns_of_is_shown_here(executor: ArrayProcesses) -> None:
    with pytest.warns(UserWarning, match="odd") as shown:
        assert list(executor.run(warn, range(4))) == [0, 1, 2, 3]
    assert sorted(str(one.message) for one in shown) == ["odd 0", "odd 0", "odd 1", "odd 1"]
    assert {one.filename for one in shown} == {__file__}


@pytest.mark.parametrize(("action", "count"), [("default", 2), ("module", 2), ("ignore", 0)])
def test_warnings_are_shown_as_often_as_those_of_threads(
    executor: ArrayProcesses, action: Any, count: int
) -> None:
    for one in (executor, Threads(2)):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter(action)
            list(one.run(warn, range(8)))
        assert len(shown) == count


def test_a_warning_is_an_error_there_where_it_is_one_here(executor: ArrayProcesses) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "odd 1")
        warnings.filterwarnings("ignore", "odd 0")
        assert list(executor.run(warn, [0, 2])) == [0, 2]
        with pytest.raises(UserWarning, match="odd 1"):
            list(executor.run(warn, [1]))


def test_filters_for_warnings_of_a_script_do_not_travel(executor: ArrayProcesses) -> None:
    class OfTheScript(UserWarning):
        pass

    with warnings.catch_warnings():
        warnings.simplefilter("error", OfTheScript)
        warnings.simplefilter("ignore", UserWarning)
        assert list(executor.run(warn, [0, 1])) == [0, 1]


def test_what_else_stands_in_the_path_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path("nowhere")])
    assert len(list(ArrayProcesses(1).run(partial(many, 1), [1, 2]))) == 2


def too_many() -> Any:
    raise OSError(24, "Too many open files")


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


def test_a_system_without_so_large_buffers_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def setsockopt(self: socket.socket, *what: Any) -> None:
        raise OSError(105, "No buffer space available")

    monkeypatch.setattr(socket.socket, "setsockopt", setsockopt, raising=False)
    assert len(list(ArrayProcesses(1).run(partial(many, 1), [1, 2]))) == 2


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardy.execute.array_processes._PATIENCE", 0.1)
    executor = ArrayProcesses(1)
    executor.begin()
    process = executor._begun[0].child
    os.kill(process.pid, signal.SIGSTOP)
    del executor
    assert process.poll() == -signal.SIGKILL
