"""Records of work that is continued."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hardy.errors import HardyError, InputError
from hardy.files import begin

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
        lambda path: json.loads(path.read_text()),
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
