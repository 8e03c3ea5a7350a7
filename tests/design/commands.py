"""`hardy overlap` and `hardy design`, typed in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hardy.cli import design_commands

NO_ROOM = r"could not be written \(No space left on device\); make room, or name another folder"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command("overlap")(design_commands.overlap_corruptions)
    app.command("design")(design_commands.design_suite)

    def run(*arguments: str) -> list[str]:
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output.splitlines()

    return run


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, **_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hardy.files.whole_file", full)
