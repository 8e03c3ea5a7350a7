"""Executors: the same results wherever the work runs, and no work that nobody waits for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hardy import progress
from hardy.errors import HardyError, InputError
from hardy.execute import Crew, Executor, Processes, Serial, Threads, executor


def squares(log: str) -> Callable[[int], int]:
    """Writes one line per set-up."""
    with open(log, "a") as file:
        file.write(f"{os.getpid()}\n")
    return lambda item: item * item


def stubborn(folder: str) -> Callable[[int], None]:
    """Writes the worker's number, and then works for ever."""

    def work(item: int) -> None:
        Path(folder, str(os.getpid())).touch()
        time.sleep(600)

    return work


def failing() -> Callable[[int], int]:
    def work(item: int) -> int:
        if item == 3:
            raise InputError("three is no number")
        return item

    return work


def dying() -> Callable[[int], int]:
    def work(item: int) -> int:
        if item == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    return work


def large_pages() -> Callable[[int], str | None]:
    return lambda item: os.environ.get("THP_MEM_ALLOC_ENABLE")


def speaking() -> Callable[[int], bool]:
    return lambda item: progress.speaks


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(what: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("workers", [1, 3])
def test_every_item_once_and_one_set_up_per_process(workers: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = executor(workers).run(partial(squares, str(log)), iter(range(50)))
    assert sorted(found) == [k * k for k in range(50)]
    pids = log.read_text().split()
    assert len(pids) == len(set(pids)) <= workers


def test_which_executor() -> None:
    assert isinstance(executor(1), Serial)
    found = executor(2)
    assert isinstance(found, Processes)
    assert found.workers == 2
    default = executor()
    assert isinstance(default, Serial | Processes)
    with pytest.raises(InputError, match="at least 1 worker, got 0"):
        executor(0)


@pytest.mark.parametrize("chosen", [Serial(), Processes(2)])
def test_items_are_taken_when_they_are_needed(chosen: Executor, tmp_path: Path) -> None:
    taken = []

    def items() -> Iterator[int]:
        for k in range(100):
            taken.append(k)
            yield k

    results = chosen.run(partial(squares, str(tmp_path / "log")), items())
    next(results)
    assert len(taken) <= 6
    results.close()


def test_an_error_arrives_as_it_was() -> None:
    for chosen in (Serial(), Processes(2)):
        with pytest.raises(InputError, match="three is no number"):
            list(chosen.run(failing, range(10)))


def test_a_worker_that_dies() -> None:
    got: list[int] = []
    with pytest.raises(HardyError, match=r"a worker process died.*run the same command again"):
        got.extend(Processes(2).run(dying, range(1000)))


def test_an_interrupt_does_not_wait_for_work(tmp_path: Path) -> None:
    def items() -> Iterator[int]:
        yield from range(2)
        wait_for(lambda: len(list(tmp_path.iterdir())) == 2)
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        next(Processes(2).run(partial(stubborn, str(tmp_path)), items()))
    assert time.monotonic() - began < 300  # the work itself takes twice as long
    pids = [int(path.name) for path in tmp_path.iterdir()]
    wait_for(lambda: not any(map(alive, pids)))


DRIVER = """
import sys
from functools import partial
from hardy.execute import Processes
from tests.execute.test_executor import stubborn
if __name__ == "__main__":
    try:
        list(Processes(2).run(partial(stubborn, sys.argv[1]), range(4)))
    except KeyboardInterrupt:
        print("interrupted")
"""


SCRIPT = """
from functools import partial
from hardy.execute import Crew, Processes

for workers in (Processes(2), Crew([{}, {}])):
    print(sorted(workers.run(partial(partial, abs), [-1, -2, -3])), flush=True)
"""
SCRIPT_WITH_WORK = """
from functools import partial
from hardy.execute import Crew, Processes

def work(item):
    return -item

if __name__ == "__main__":
    for workers in (Processes(2), Crew([{}, {}])):
        print(sorted(workers.run(partial(partial, work), [-1, -2, -3])), flush=True)
"""


# A name in a registry travels as what it is called.
SCRIPT_THAT_ADDS = """
from functools import partial
from hardy.execute import Crew, Processes
from hardy.metrics.metric import metric
from work_by_name import compute

@metric("minus")
def minus(item):
    return -item

if __name__ == "__main__":
    for workers in (Processes(2), Crew([{}, {}])):
        print(sorted(workers.run(partial(compute, "minus"), [-1, -2, -3])), flush=True)
"""

WORK_BY_NAME = """
from hardy.metrics.metric import METRICS

def compute(name):
    return METRICS[name].compute
"""


@pytest.mark.parametrize(
    ("script", "by_file"),
    [(SCRIPT, True), (SCRIPT, False), (SCRIPT_WITH_WORK, True), (SCRIPT_THAT_ADDS, True)],
)
def test_a_script_is_run_again_for_its_own_work_alone(
    script: str, by_file: bool, tmp_path: Path
) -> None:
    assert said_by(script, by_file, tmp_path) == 2 * ["[1, 2, 3]"]


def said_by(script: str, by_file: bool, folder: Path) -> list[str]:
    path = folder / "script.py"
    path.write_text(script)
    (folder / "work_by_name.py").write_text(WORK_BY_NAME)
    how: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 600}
    if by_file:
        done = subprocess.run([sys.executable, str(path)], **how)
    else:
        done = subprocess.run([sys.executable, "-"], input=script, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_interrupt_waits_until_a_thread_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the thread that was just starting waits for ever, and so does the end of Python."""
    started, pool = [], futures.ThreadPoolExecutor
    really = pool.submit

    def submit(self: object, work: Callable[[int], int], item: int) -> object:
        signal.raise_signal(signal.SIGINT)
        future = really(self, work, item)
        started.append(item)
        return future

    monkeypatch.setattr(pool, "submit", submit)
    with pytest.raises(KeyboardInterrupt):
        list(Threads(2).run(lambda: lambda number: number, range(3)))
    assert started == [0]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(how: signal.Signals, tmp_path: Path) -> None:
    """Killed alone; or interrupted as a terminal does it, the whole group at once."""
    script, marks = tmp_path / "driver.py", tmp_path / "marks"
    script.write_text(DRIVER)
    marks.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(script), str(marks)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(list(marks.iterdir())) == 2)
    pids = [int(path.name) for path in marks.iterdir()]
    if how == signal.SIGKILL:
        process.kill()
    else:
        os.killpg(process.pid, how)
    out, err = process.communicate(timeout=300)
    wait_for(lambda: not any(map(alive, pids)))
    if how == signal.SIGINT:
        assert (out, err) == ("interrupted\n", "")


def test_an_interrupt_while_workers_start_is_the_parents_alone(tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: len(children.read_text().split()) >= 3)  # two workers and a tracker
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (out, err) == ("interrupted\n", "")


@pytest.mark.parametrize("speaks", [True, False])
def test_workers_speak_where_the_command_line_does(speaks, monkeypatch) -> None:
    """So that a build whose output is piped says that it compiles."""
    monkeypatch.setattr(progress, "speaks", speaks)
    assert list(Processes(1).run(speaking, [0])) == [speaks]


@pytest.mark.parametrize(("said", "found"), [(None, "1"), ("0", "0")])
def test_workers_ask_for_large_pages_unless_the_user_has_said_otherwise(
    said: str | None, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THP_MEM_ALLOC_ENABLE", raising=False)
    if said is not None:
        monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", said)
    for crew in (Processes(1), Crew([{}])):
        assert list(crew.run(large_pages, [0])) == [found]
    assert os.environ.get("THP_MEM_ALLOC_ENABLE") == said  # this process is the user's


def test_ctrl_c_is_heard_while_threads_wait_for_the_next_item() -> None:
    waited: list[bool] = []

    def items() -> Iterator[int]:
        signal.raise_signal(signal.SIGINT)  # pressed while a slow disk is read
        waited.append(True)
        yield 1

    with pytest.raises(KeyboardInterrupt):
        list(Threads(1).run(lambda: str, items()))
    assert not waited
