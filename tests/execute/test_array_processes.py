"""Processes that send arrays."""

from __future__ import annotations

import os
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
from hardy.execute.array_processes import can_send_arrays
from tests.execute.array_work import many, run, wait_until_begun

pytestmark = pytest.mark.skipif(not can_send_arrays(), reason="no socket can be handed over here")


@pytest.fixture
def executor() -> ArrayProcesses:
    return ArrayProcesses(2)


def test_results_come_in_order_and_as_they_were(executor: ArrayProcesses) -> None:
    found = list(run(executor, partial(many, 7), range(12)))
    assert [one["id"] for one in found] == [str(item) for item in range(12)]
    for item, one in enumerate(found):
        np.testing.assert_array_equal(one["rows"], np.full((item, 3), 7 * item, np.uint64))
        np.testing.assert_array_equal(one["odd"], np.arange(item, dtype=np.uint8))
        assert one["again"] is one["rows"]
        assert one["rows"].flags.writeable
        assert one["rows"].flags.aligned


def test_the_same_processes_do_other_work(executor: ArrayProcesses) -> None:
    first = list(run(executor, partial(many, 1), [1, 2, 3, 4]))
    begun = [worker.child.pid for worker in executor._begun]
    second = list(run(executor, partial(many, 2), [1, 2, 3, 4]))
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
        list(run(executor, partial(many, 1), [item]))
    assert len(list(run(executor, partial(many, 1), [1, 2]))) == 2


def fails() -> Any:
    raise InputError("cannot begin")


def test_work_that_cannot_begin_says_why(executor: ArrayProcesses) -> None:
    with pytest.raises(InputError, match="cannot begin"):
        list(run(executor, fails, [1]))


def test_processes_can_be_asked_whether_they_know_the_work(executor: ArrayProcesses) -> None:
    with pytest.raises(InputError, match="cannot begin"):
        executor.function_of(fails)
    assert executor.function_of(partial(many, 3))(2)["rows"].tolist() == [[6, 6, 6], [6, 6, 6]]


def test_a_killed_process_is_told_in_a_line(executor: ArrayProcesses) -> None:
    with pytest.raises(HardyError, match="a worker process died, perhaps for lack of"):
        list(run(executor, partial(many, 1), [666]))


def test_sockets_wait_whatever_the_default_is() -> None:
    usual = socket.getdefaulttimeout()
    socket.setdefaulttimeout(0.05)
    try:
        executor = ArrayProcesses(1)
        wait_until_begun(executor)
        time.sleep(0.2)
        assert len(list(run(executor, partial(many, 1), [1, 2]))) == 2
    finally:
        socket.setdefaulttimeout(usual)


def test_a_script_without_a_guard_is_not_run_again(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from functools import partial\n"
        "from hardy.execute import ArrayProcesses\n"
        "from tests.execute.array_work import many, run\n"
        "print('once')\n"
        "print(len(list(run(ArrayProcesses(2), partial(many, 1), range(4)))))\n"
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
    assert len(list(run(ArrayProcesses(1), partial(many, 1), [1, 2]))) == 2


def test_the_current_folder_comes_last_where_it_is_imported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook that has gone to another folder since it imported its libraries."""
    (tmp_path / "numpy.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.chdir(tmp_path)
    (one,) = run(ArrayProcesses(1), partial(many, 1), [3])
    assert one["id"] == "3"


def test_an_answer_that_finds_no_memory_leaves_no_half_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    executor = ArrayProcesses(1)
    list(run(executor, partial(many, 1), [1]))
    first = executor._begun[0].child
    really, asked = np.empty, []

    def empty(*shape: Any) -> Any:
        asked.append(shape)
        if len(asked) == 3:  # behind the head of an answer
            raise MemoryError
        return really(*shape)

    monkeypatch.setattr("hardy.execute.array_messages.np.empty", empty)
    with pytest.raises(MemoryError):
        list(run(executor, partial(many, 1), [11]))
    (found,) = run(executor, partial(many, 1), [11])
    assert found["id"] == "11"
    assert first.poll() is not None


def test_an_item_that_cannot_be_sent_harms_no_process() -> None:
    executor = ArrayProcesses(1)
    wait_until_begun(executor)
    first = executor._begun[0].child
    with pytest.raises(Exception, match=r"pickle|local object"):
        list(run(executor, partial(many, 1), [lambda: None]))
    assert len(list(run(executor, partial(many, 1), [1, 2]))) == 2
    assert [worker.child for worker in executor._begun] == [first]


def read_stdin() -> Callable[[int], str]:
    return _read_stdin


def _read_stdin(item: int) -> str:
    return subprocess.run(["cat"], capture_output=True, text=True, timeout=20).stdout


def test_what_a_process_begins_reads_nothing_of_what_is_asked() -> None:
    assert list(run(ArrayProcesses(1), read_stdin, [1, 2])) == ["", ""]


def warn() -> Callable[[int], int]:
    return _warn


def _warn(item: int) -> int:
    warnings.warn(f"odd {item % 2}", UserWarning, stacklevel=1)
    return item


def test_what_a_process_warns_of_is_shown_here(executor: ArrayProcesses) -> None:
    with pytest.warns(UserWarning, match="odd") as shown:
        assert list(run(executor, warn, range(4))) == [0, 1, 2, 3]
    assert sorted(str(one.message) for one in shown) == ["odd 0", "odd 0", "odd 1", "odd 1"]
    assert {one.filename for one in shown} == {__file__}


@pytest.mark.parametrize(("action", "count"), [("default", 2), ("module", 2), ("ignore", 0)])
def test_warnings_are_shown_as_often_as_those_of_threads(
    executor: ArrayProcesses, action: Any, count: int
) -> None:
    for do in (partial(run, executor), Threads(2).run):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter(action)
            list(do(warn, range(8)))
        assert len(shown) == count


def test_a_warning_is_an_error_there_where_it_is_one_here(executor: ArrayProcesses) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "odd 1")
        warnings.filterwarnings("ignore", "odd 0")
        assert list(run(executor, warn, [0, 2])) == [0, 2]
        with pytest.raises(UserWarning, match="odd 1"):
            list(run(executor, warn, [1]))


def test_filters_for_warnings_of_a_script_do_not_travel(executor: ArrayProcesses) -> None:
    class OfTheScript(UserWarning):
        pass

    with warnings.catch_warnings():
        warnings.simplefilter("error", OfTheScript)
        warnings.simplefilter("ignore", UserWarning)
        assert list(run(executor, warn, [0, 1])) == [0, 1]


def test_what_else_stands_in_the_path_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path("nowhere")])
    assert len(list(run(ArrayProcesses(1), partial(many, 1), [1, 2]))) == 2


def test_a_system_without_so_large_buffers_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def setsockopt(self: socket.socket, *what: Any) -> None:
        raise OSError(105, "No buffer space available")

    monkeypatch.setattr(socket.socket, "setsockopt", setsockopt, raising=False)
    assert len(list(run(ArrayProcesses(1), partial(many, 1), [1, 2]))) == 2
