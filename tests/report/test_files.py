"""What `-o` may name, and what it must leave alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hardy.errors import HardyError, InputError
from hardy.files import check_target, write_output
from hardy.report.write import write_report
from tests.report.stores import write_run


def test_a_file_is_replaced_and_nothing_else_left(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 250 + ".html")
    for content in (b"one", b"two"):
        write_output(target, content)
        assert target.read_bytes() == content
    assert os.listdir(tmp_path) == [target.name]


def test_devices_folders_and_runs_are_left_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    (tmp_path / "run" / "parts").mkdir()
    for name, why in (
        ("pipe", "expected a file or a new name, got a device"),
        ("link", "expected a file or a new name, got a device"),
        ("run", "it is a folder; name a file in it"),
        ("missing/page.html", "the folder .*missing is not there; make it"),
        ("run/run.json", "holds the predictions of a run"),
        ("run/parts/page.html", "holds the predictions of a run"),
    ):
        with pytest.raises(InputError, match=why):
            write_output(tmp_path / name, b"page")
    assert pipe.is_fifo()
    assert (tmp_path / "run" / "run.json").read_text() == "{}"
    check_target(tmp_path / "page.html")


def test_what_the_system_refuses_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        HardyError, match=r"could not be written \(File name too long\); name another file"
    ):
        write_output(tmp_path / ("n" * 300), b"page")
    assert not os.listdir(tmp_path)


def test_a_report_is_refused_before_any_work(tmp_path: Path) -> None:
    run = write_run(tmp_path, "model", "cifar10_c", images=20, classes=10, only=("fog",))
    before = (run / "run.json").read_bytes()

    def never(runs: object) -> list[object]:
        raise AssertionError("worked")

    with pytest.raises(InputError, match="holds the predictions of a run"):
        write_report(tmp_path, run / "run.json", format="json", track=never)
    assert (run / "run.json").read_bytes() == before
