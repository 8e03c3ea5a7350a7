"""Stopped at any moment, a build trusts nothing half-written; the same command ends in the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hardy import files
from hardy.errors import InputError
from hardy.execute import Processes, Serial
from hardy.suites import load
from hardy.variants.disk import manifest
from hardy.variants.disk.array_layout import ArrayLayout
from hardy.variants.disk.build import build_cells
from hardy.variants.disk.build_header import HEADER
from hardy.variants.disk.manifest import LINES, WORKSHOP, ManifestWriter
from hardy.variants.disk.verify import verify
from hardy.variants.stored import open_stored
from tests.suites.helpers import built, cells_of, opened, tree, write_photos, write_rows

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def start(*words: object) -> subprocess.Popen[str]:
    """Start it in a session of its own, so that all of it can be killed at once."""
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, words)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(
    what: Callable[[], object], process: subprocess.Popen[str], seconds: float = 600
) -> bool:
    """True when it has come, False when the process ended before."""
    end = time.monotonic() + seconds
    while not what():
        if process.poll() is not None:
            return False
        assert time.monotonic() < end
        time.sleep(0.001)
    return True


def kill_inside_a_write(
    images: Path, out: Path, format: str, workers: int, chance: random.Random, marks: Path
) -> None:
    marks.mkdir()
    write = chance.randint(1, MOST[format])
    process = start("tests.variants.interference", marks, images, out, format, workers, write)
    assert wait_for(lambda: list(marks.iterdir()), process), process.communicate()
    if chance.random() < 0.5:
        process.kill()  # workers find out by themselves
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=600)


# So many writes there are at least, in one of the processes.
MOST = {"jpeg": 80, "png": 80, "npy": 8, "tar": 4}
CASES = [("jpeg", 2), ("npy", 2), ("tar", 1), ("png", 1), ("npy", 1), ("jpeg", 1), ("tar", 2),
         ("jpeg", 2), ("npy", 2), ("jpeg", 2)]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "format", "workers"),
    [
        pytest.param(number, *case, marks=[pytest.mark.slow] if number >= 3 else [])
        for number, case in enumerate(CASES)
    ],
)
def test_killed_and_resumed(number: int, format: str, workers: int, tmp_path: Path) -> None:
    if format == "npy":
        suite, images = "cifar10_c", write_rows(tmp_path / "rows", 1100)
    else:
        suite, images = "imagenet_c", write_photos(tmp_path / "val", 20)
    out, chance = tmp_path / "out", random.Random(number)
    for turn in range(1 if number < 3 else 2):
        kill_inside_a_write(images, out, format, workers, chance, tmp_path / f"marks{turn}")
    built(suite, images, tmp_path / "reference", format=format)
    reference = tree(tmp_path / "reference")
    if format != "npy":
        names = [name for name in tree(out) if "/" in name and WORKSHOP not in name]
        assert all((out / name).read_bytes() == reference[name] for name in names), "whole, or not"
    built(suite, images, out, format=format)
    assert verify(out).fine
    assert tree(out) == reference


def test_killed_at_the_very_start(tmp_path: Path) -> None:
    """Between the first file of the manifest and the second, nothing else is there."""
    images, out = write_photos(tmp_path / "val", 2), tmp_path / "out"
    (out / WORKSHOP).mkdir(parents=True)
    (out / WORKSHOP / "4711").write_bytes(b"half a man")
    (out / LINES).touch()
    built("imagenet_c", images, out, "contrast")
    assert verify(out).fine
    assert not (out / WORKSHOP).exists()


def test_what_was_never_begun_is_unfinished(tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 2), tmp_path / "out"
    built("imagenet_c", images, out, "contrast", severities=(1,))
    whole = tree(out)
    for name in whole:
        if name != HEADER:
            (out / name).unlink()
    report = verify(out)
    assert (report.unfinished, report.built, report.images) == (True, 0, 2)
    assert (report.checked, report.missing) == (0, [])
    built("imagenet_c", images, out, "contrast", severities=(1,))
    assert tree(out) == whole


@pytest.mark.parametrize("moment", ["begin", "finish"])
def test_stopped_around_the_work_on_arrays(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows are there, but not yet under the array's name: that is made up for."""
    images, out = write_rows(tmp_path), tmp_path / "out"

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ArrayLayout, moment, stop)
        with pytest.raises(KeyboardInterrupt):
            built("cifar10_c", images, out)
    assert not (out / "contrast.npy").exists()
    report = verify(out)
    assert (report.unfinished, "labels.npy" in report.missing) == (
        (True, False) if moment == "begin" else (False, True)
    )
    built("cifar10_c", images, out)
    built("cifar10_c", images, tmp_path / "reference")
    assert tree(out) == tree(tmp_path / "reference")


def test_a_last_line_cut_short_is_built_again(tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 3), tmp_path / "out"
    built("imagenet_c", images, out, "contrast", severities=(1,))
    whole = tree(out)
    lines = whole[LINES]
    start_of_last = lines[:-1].rfind(b"\n") + 1
    for end in (start_of_last, start_of_last + 1, start_of_last + 30, len(lines) - 1):
        (out / LINES).write_bytes(lines[:end])
        assert (verify(out).built, verify(out).missing) == (2, [])
        with pytest.raises(InputError, match="no cell is finished"):
            open_stored(out)
        outcome = built("imagenet_c", images, out, "contrast", severities=(1,))
        assert (outcome.built, outcome.kept) == (1, 2)
        assert tree(out) == whole


@pytest.mark.parametrize(
    "damage",
    [
        b"\0" * 40,
        b"{}",
        b"[]",
        b'{"unit":99,"cells":{}}',
        b'{"unit":1,"cells":{"fog":"00"}}',
        b'{"unit":1,"cells":{"contrast:1":"00"}}',
        b'{"unit":1,"cells":{"contrast:1":7}}',
        b'{"unit":"1","cells":{}}',
        b"\xff",
    ],
)
def test_a_line_damaged_in_the_middle_is_named(damage: bytes, tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 3), tmp_path / "out"
    built("imagenet_c", images, out, "contrast", severities=(1,))
    whole = tree(out)
    lines = whole[LINES].splitlines(keepends=True)
    (out / LINES).write_bytes(lines[0] + damage + b"\n" + lines[2])
    for action in (
        lambda: verify(out),
        lambda: open_stored(out),
        lambda: built("imagenet_c", images, out, "contrast", severities=(1,)),
    ):
        with pytest.raises(InputError, match=r"line 2 is damaged .* remove that line"):
            action()
    (out / LINES).write_bytes(lines[0] + lines[2])
    assert built("imagenet_c", images, out, "contrast", severities=(1,)).built == 1
    assert tree(out) == whole


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b'{"manifest": 99}', b"\xff\xfe"])
def test_a_damaged_head_is_an_error(damage: bytes, tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 1), tmp_path / "out"
    built("imagenet_c", images, out, "contrast", severities=(1,))
    (out / HEADER).write_bytes(damage)
    for action in (
        lambda: verify(out),
        lambda: open_stored(out),
        lambda: built("imagenet_c", images, out),
    ):
        with pytest.raises(InputError, match=rf"{HEADER}: expected"):
            action()


def test_what_no_checkpoint_waits_for_waits_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine may go down before the first checkpoint, or after the last one."""
    waits: dict[str, bool] = {}
    write = manifest.write_inside

    def watched(folder: str, name: str, data: bytes, temporary: str, *, wait: bool = False) -> None:
        waits[name] = wait
        write(folder, name, data, temporary, wait=wait)

    monkeypatch.setattr(manifest, "write_inside", watched)
    built("cifar10_c", write_rows(tmp_path), tmp_path / "out", "contrast", format="npy")
    assert waits == {HEADER: True, "labels.npy": True}


def test_two_at_once(tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 2), tmp_path / "out"
    with (
        ManifestWriter(out),
        pytest.raises(InputError, match=r"another process is building in .*; wait for it"),
    ):
        built("imagenet_c", images, out, "contrast")
    assert built("imagenet_c", images, out, "contrast").built == 2


def test_lines_that_did_not_fit_the_disk_leave_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = ManifestWriter(tmp_path)
    writer.add(0, {})
    writer.checkpoint()
    before = (tmp_path / LINES).read_bytes()
    writer.add(1, {})
    monkeypatch.setattr(
        manifest.os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "full"))
    )
    with pytest.raises(OSError, match="full"):
        writer.checkpoint()
    assert (tmp_path / LINES).read_bytes() == before
    monkeypatch.undo()
    with writer:
        pass
    assert (tmp_path / LINES).read_bytes() == before + b'{"unit":1,"cells":{}}\n'


def test_what_was_left_unfinished_goes(tmp_path: Path) -> None:
    (tmp_path / f".half{files.UNFINISHED}").touch()
    with ManifestWriter(tmp_path) as writer:
        writer.add(0, {})
        writer.finish([range(1)])
    assert os.listdir(tmp_path) == [LINES]


def test_a_manifest_that_cannot_be_opened_is_let_go(tmp_path: Path) -> None:
    (tmp_path / LINES).mkdir()
    with pytest.raises(InputError, match=LINES) as refused:  # its traceback holds on to the writer
        ManifestWriter(tmp_path)
    (tmp_path / LINES).rmdir()
    with ManifestWriter(tmp_path) as writer:
        writer.finish([])
    assert refused.tb is not None


@pytest.mark.parametrize("chosen", [Serial(), Processes(2)])
def test_interrupted_in_the_middle(chosen: Serial | Processes, tmp_path: Path) -> None:
    """What was finished is kept, and not made again."""
    suite, images, out = load("imagenet_c"), write_photos(tmp_path / "val", 20), tmp_path / "out"

    def interrupt(done, *counted):  # type: ignore[no-untyped-def]
        yield next(done)
        raise KeyboardInterrupt

    cells = cells_of(suite, "contrast")
    with pytest.raises(KeyboardInterrupt):
        build_cells(suite, opened(images, suite), out, cells, executor=chosen, track=interrupt)
    assert not (out / WORKSHOP).exists()
    resumed = built("imagenet_c", images, out, "contrast")
    assert resumed.kept >= 1
    assert resumed.built + resumed.kept == 20
    built("imagenet_c", images, tmp_path / "reference", "contrast")
    assert tree(out) == tree(tmp_path / "reference")


def command(images: Path, out: Path) -> tuple[object, ...]:
    return ("hardy", "build", "imagenet_c", "--images", images, "--out", out,
            "--only", "contrast,jpeg_compression", "--workers", 2)  # fmt: skip


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [
        k for k in map(int, children) if b"spawn_main" in Path(f"/proc/{k}/cmdline").read_bytes()
    ]


def test_ctrl_c_at_the_command_line(tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 64), tmp_path / "out"
    process = start(*command(images, out))
    wait_for((out / "contrast" / "1").exists, process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert err == "stopped; what is finished is kept, and the same command resumes\n"
    assert not (out / WORKSHOP).exists()


def test_a_killed_worker(tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 64), tmp_path / "out"
    process = start(*command(images, out))
    wait_for((out / "contrast" / "1").exists, process)
    os.kill(workers_of(process)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 2
    assert "error: a worker process died" in err
    assert "run the same command again" in err
    process = start(*command(images, out))
    stdout, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    assert "images in" in stdout
    assert verify(out).fine
