"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hardy.files import whole_file


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
