"""What work runs on, as records say it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from hardy.execute.machine import git_commit, machine


def test_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> str:
        named = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(
            ["git", *named, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    assert git_commit() is None
    git("init")
    assert git_commit() is None
    (tmp_path / "file").write_text("a")
    git("add", "file")
    git("commit", "-m", "first")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "run.json").write_text("{}")  # not tracked
    assert git_commit() == git("rev-parse", "HEAD")
    (tmp_path / "file").write_text("b")
    assert git_commit() == git("rev-parse", "HEAD") + "+changes"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_commit() is None


@pytest.mark.parametrize(("there", "name"), [(True, "Card"), (False, None)])
def test_the_graphics_card(there: bool, name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(is_available=lambda: there, get_device_name=lambda: "Card")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert machine()["gpu"] == name
