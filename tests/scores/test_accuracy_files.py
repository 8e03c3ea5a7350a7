"""Files of accuracies that somebody else measured."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hardy.design.matrix import read_matrix
from hardy.errors import InputError
from hardy.scores.accuracy_files import MeasuredModel, read_accuracies

HEAD = "model,suite,clean,accuracy,more\n"


def test_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_bytes(f"\ufeff{HEAD}a,s,0.9,0.5,x\r\n".encode())
    assert read_accuracies(path) == [MeasuredModel("a", "s", 0.9, 0.5)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("read", [read_accuracies, read_matrix])
def test_a_pipe_is_not_waited_for(tmp_path: Path, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"cannot read .*pipe \(.*it is no file\); expected a CSV"):
        read(tmp_path / "pipe")


def test_it_may_not_be_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "points.csv"
    path.write_text(HEAD + "a,s,0.9,0.5,x\n" * 100, encoding="utf-8")
    monkeypatch.setenv("HARDY_LARGEST_RECORD", "1000")
    with pytest.raises(InputError, match=r"points\.csv: expected at most 1,000 bytes in a record"):
        read_accuracies(path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a" * 200_000])
def test_what_is_no_csv_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "points.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"cannot read .*points\.csv \(.*\); expected a CSV file"):
        read_accuracies(path)
    with pytest.raises(InputError, match=r"cannot read .*nowhere\.csv \(.*\); expected a CSV file"):
        read_accuracies(tmp_path / "nowhere.csv")
