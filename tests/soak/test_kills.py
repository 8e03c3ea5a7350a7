"""A seeded slice of the kills, faults and power losses of `make soak`; and that the shims do what
they are there for."""

from __future__ import annotations

import errno
import os
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hardy.variants.disk import manifest
from soak.calls import Gate
from soak.children import Ended, fork
from soak.harness import Accepted
from soak.kills import KINDS, Attack, _no_traceback, cases, names, rows, run
from soak.operations import OPERATIONS, hardy
from soak.power import Recorder, lay_out, load_events
from soak.results import check_partly, check_there, check_whole, finished, tree
from soak.surroundings import lay_images

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

FEW = ("build, arrays", "eval, more cells", "pack")


def test_a_slice_of_the_trials() -> None:
    tally = run(3, FEW, rounds=1, workers=1)
    assert tally.failures == []
    assert [row[0] for row in rows(tally)] == ["operation", *FEW, "all"]
    assert rows(tally)[-1] == ("all", "3", "3", "3", "0")


def test_what_a_manifest_lists_is_counted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing else: a picture that it does not list yet may be damaged by a power loss."""
    monkeypatch.chdir(tmp_path)
    lay_images(tmp_path)
    operation = OPERATIONS["build, more cells"]
    hardy(*operation.before)
    prepared, lines = finished(), Path("out/manifest.jsonl").read_bytes()
    assert prepared.keys() == {name for name in tree("out")() if name.endswith(".JPEG")}
    hardy(*operation.commands)
    wanted = operation.results()
    Path("out/contrast/2/1/3.JPEG").write_bytes(b"")
    assert not _outcome(lambda: check_partly(operation.partly, prepared, wanted))
    Path("out/manifest.jsonl").write_bytes(lines)
    assert _outcome(lambda: check_partly(operation.partly, prepared, wanted))


def test_every_operation_has_its_turn() -> None:
    listed = [case for _, case in cases(names(), 4, rounds=2)]
    assert {case.operation for case in listed} == {*names()}
    assert {case.kind for case in listed} == {*KINDS}
    assert len({*listed}) == len(listed)
    assert listed == [case for _, case in cases(names(), 4, rounds=2)]


def write_twice() -> None:
    """A file that is waited for, then one that is not, under a temporary name each."""
    for name, wait in (("safe", True), ("unsafe", False)):
        with open("temporary", "xb") as file:
            file.write(name.encode() * 100)
            file.flush()
            if wait:
                os.fsync(file.fileno())
        os.replace("temporary", name)
        if wait:
            folder = os.open(".", os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)


def attacked(tmp_path: Path, way: str, at: int) -> tuple[Ended, set[str], int]:
    attack, work = Attack(way, at), tmp_path / "work"
    work.mkdir()

    def child() -> None:
        Gate(str(work), attack).close()
        write_twice()

    ended = fork(child, work, tmp_path / "told")
    return ended, {path.name for path in work.iterdir()}, attack.count.value


@pytest.mark.parametrize(
    ("way", "at", "left", "calls"),
    [
        ("before", 0, {"safe", "unsafe"}, 8),
        ("before", 4, {"temporary"}, 4),
        ("after", 4, {"safe"}, 4),
        ("within", 7, {"safe", "temporary"}, 7),
    ],
)
def test_a_kill_comes_at_its_call(
    way: str, at: int, left: set[str], calls: int, tmp_path: Path
) -> None:
    ended, names, count = attacked(tmp_path, way, at)
    assert (names, count, ended.code) == (left, calls, -9 if at else 0)
    if way == "within":
        assert (tmp_path / "work/temporary").read_bytes() == b"unsafe" * 50


@pytest.mark.parametrize(
    ("way", "at", "told", "size"),
    [("full", 2, errno.ENOSPC, 200), ("broken", 3, errno.EIO, 400), ("short", 2, 0, None)],
)
def test_a_disk_fails(way: str, at: int, told: int, size: int | None, tmp_path: Path) -> None:
    ended, names, _ = attacked(tmp_path, way, at)
    if not told:  # what was left of a short write is written by a second one
        assert (ended.code, names) == (0, {"safe", "unsafe"})
        assert (tmp_path / "work/safe").read_bytes() == b"safe" * 100
        return
    assert os.strerror(told) in ended.told
    assert (ended.code, names) == (70, {"temporary"})
    assert (tmp_path / "work/temporary").stat().st_size == size


def test_a_power_loss_spares_what_was_waited_for(tmp_path: Path) -> None:
    work, log = tmp_path / "work", tmp_path / "log"
    for folder in (work, tmp_path / "before"):
        folder.mkdir()
        (folder / "old").write_bytes(b"old")

    def child() -> None:
        recorder = Recorder(work, 9, log)
        Gate(str(work), recorder).close()
        write_twice()
        recorder.fail()

    assert fork(child, work, tmp_path / "told").code == 0
    seen: set[bytes | None] = set()
    for seed in range(40):
        after = tmp_path / f"after{seed}"
        lay_out(load_events(log), tmp_path / "before", after, random.Random(seed))
        assert (after / "old").read_bytes() == b"old"
        assert (after / "safe").read_bytes() == b"safe" * 100
        unsafe = after / "unsafe"
        seen.add(unsafe.read_bytes() if unsafe.exists() else None)
    assert seen == {None, b"", bytes(600), b"unsafe" * 100}


def test_a_power_loss_tells_the_files_of_threads_apart(tmp_path: Path) -> None:
    work, log = tmp_path / "work", tmp_path / "log"
    work.mkdir()
    (tmp_path / "before").mkdir()
    names = [f"file{number}" for number in range(64)]

    def write(name: str) -> None:
        with open(name, "xb") as file:
            file.write(name.encode())

    def child() -> None:
        recorder = Recorder(work, 10_000, log)
        Gate(str(work), recorder).close()
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(write, names))
        manifest.sync_disk(0)
        recorder.fail()

    assert fork(child, work, tmp_path / "told").code == 0
    lay_out(load_events(log), tmp_path / "before", tmp_path / "after", random.Random(0))
    assert [(tmp_path / "after" / name).read_text() for name in names] == names


def test_a_power_loss_moves_folders_whole(tmp_path: Path) -> None:
    work, log = tmp_path / "work", tmp_path / "log"
    work.mkdir()
    (tmp_path / "before").mkdir()

    def child() -> None:
        recorder = Recorder(work, 100, log)
        Gate(str(work), recorder).close()
        os.mkdir("arriving")
        with open("arriving/file", "xb") as file:
            file.write(b"content")
        os.replace("arriving", "there")
        recorder.fail()

    assert fork(child, work, tmp_path / "told").code == 0
    seen: set[tuple[str, ...]] = set()
    for seed in range(40):
        after = tmp_path / f"after{seed}"
        lay_out(load_events(log), tmp_path / "before", after, random.Random(seed))
        seen.add(tuple(sorted(path.relative_to(after).as_posix() for path in after.rglob("*"))))
    assert {(), ("arriving",), ("there",), ("there", "there/file")} <= seen
    assert not any("arriving" in names and "there" in names for names in seen)


@pytest.mark.parametrize(
    ("code", "told", "fine"),
    [
        (0, "wrote it", True),
        (-9, "", True),
        (2, "error: the disk is full", True),
        (2, "error: one\nerror: two", False),
        (2, "error: x\nTraceback (most recent call last):", False),
        (70, "", False),
        (-11, "", False),
    ],
)
def test_only_errors_in_a_line_are_fine(code: int, told: str, fine: bool) -> None:
    outcome = _outcome(lambda: _no_traceback(Ended(code, told, 0.1), "then"))
    assert outcome == fine


def test_other_results_are_noticed() -> None:
    wanted = {"a": 1, "b": 2}
    half = lambda: {"a": 1, "left": 5}  # noqa: E731
    assert _outcome(lambda: check_partly(half, {"a": 1}, wanted))
    assert not _outcome(lambda: check_partly(half, {"b": 2}, wanted))
    assert not _outcome(lambda: check_partly(half, {}, {"a": 3}))
    assert _outcome(lambda: check_whole({"b": 2, "a": 1}, wanted))
    assert not _outcome(lambda: check_whole({"a": 1}, wanted))
    assert not _outcome(lambda: check_whole({"a": 1, "b": 2, "c": 3}, wanted))
    assert _outcome(lambda: check_there({"a": 1, "b": 2, "c": 3}, wanted))
    assert not _outcome(lambda: check_there({"a": 1}, wanted))


def _outcome(check: Callable[[], None]) -> bool:
    try:
        check()
    except Accepted:
        return False
    return True
