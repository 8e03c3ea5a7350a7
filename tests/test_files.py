"""Files that are there whole or not at all, and records of work that is continued."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from hardy.errors import HardyError, InputError
from hardy.files import UNFINISHED, begin, whole_file, write_file
from hardy.locks import hold, let_go
from tests.records import read_unsealed


@pytest.mark.parametrize("wait", [True, False])
def test_half_a_file_never_has_the_name(wait, tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("before")
    with whole_file(path, wait=wait) as file:
        file.write(b"after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    with pytest.raises(TypeError), whole_file(path, wait=wait) as file:
        file.writelines([b"hal", None])
    assert path.read_text() == "after"
    assert os.listdir(tmp_path) == ["mine"]


@pytest.mark.parametrize("wait", [True, False])
def test_only_those_that_must_outlast_the_machine_wait(wait, tmp_path: Path, monkeypatch) -> None:
    waited: list[int] = []
    monkeypatch.setattr(os, "fsync", waited.append)
    with whole_file(tmp_path / "mine", wait=wait) as file:
        file.write(b"all")
    assert len(waited) == (2 if wait else 0)  # the file, and the folder with its name


def test_what_a_kill_left_long_ago_is_removed(tmp_path: Path) -> None:
    old, fresh = (tmp_path / f".{name}{UNFINISHED}" for name in ("old", "fresh"))
    for path in (old, fresh):
        path.write_bytes(b"half of")
    os.utime(old, (0, 0))
    write_file(tmp_path / "mine", b"all")
    assert {path.name for path in tmp_path.iterdir()} == {"mine", fresh.name}


def test_a_folder_is_made_for_a_file_and_a_refusal_says_what_to_do(tmp_path: Path) -> None:
    write_file(tmp_path / "new" / "mine", b"all")
    assert (tmp_path / "new" / "mine").read_bytes() == b"all"
    with pytest.raises(HardyError, match=r"mine/x could not be written \(File exists\); go away"):
        write_file(tmp_path / "new" / "mine" / "x", b"", "go away")


@pytest.mark.parametrize("change", ["replaced", "gone"])
def test_a_lock_on_a_file_that_has_made_way_holds_nothing(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may pause between opening and locking, while another takes the name."""
    path, acquire = tmp_path / "lock", FileLock.acquire

    def paused(lock: FileLock, **named: Any) -> object:
        got = acquire(lock, **named)
        os.rename(path, tmp_path / "old")
        if change == "replaced":
            path.touch()
        return got

    monkeypatch.setattr(FileLock, "acquire", paused)
    with pytest.raises(InputError, match="it is busy"):
        hold(path, "it is busy")
    monkeypatch.undo()
    lock = hold(path, "it is busy")
    with pytest.raises(InputError, match="it is busy"):
        hold(path, "it is busy")
    let_go(lock)


def test_a_lock_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("elsewhere")
    with pytest.raises(InputError, match="lock: expected a file or folder of its own, got a link"):
        hold(tmp_path / "lock", "it is busy")
    assert not (tmp_path / "elsewhere").exists()


WANTED = {
    "sizes": (1, 2),
    "recipe": {"lr": 0.1},
    "data": {"where": "a"},
    "data_hash": "x",
    "blur": False,
}


def begun(path: Path, **changes: Any) -> None:
    begin(
        path,
        WANTED | changes,
        read_unsealed,
        "a test of it",
        of_the_session=("data",),
    )


def test_the_same_goes_on(tmp_path) -> None:
    path = tmp_path / "new/folder/record.json"
    begun(path)
    written = path.read_bytes()
    begun(path)
    begun(path, data={"where": "b"})
    assert path.read_bytes() == written


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recipe": {"lr": 0.2}}, r"recipe\.lr is 0\.2 and was 0\.1; ask for the same"),
        ({"sizes": (1, 3)}, r"sizes is \[1, 3\] and was \[1, 2\]"),
        ({"data_hash": "y"}, "data_hash is 'y' and was 'x'"),
        ({"blur": True}, "blur is True and was False"),
    ],
)
def test_something_else_is_refused(tmp_path, changes, message) -> None:
    begun(tmp_path / "out/record.json")
    with pytest.raises(InputError, match=f"out holds another it: {message}"):
        begun(tmp_path / "out/record.json", **changes)


def test_other_folders(tmp_path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(InputError, match="holds other things than a test of it; name a folder"):
        begun(tmp_path / "record.json")
    with pytest.raises(HardyError, match=r"record\.json could not be written \(Not a directory\)"):
        begun(tmp_path / "thesis.txt/out/record.json")
