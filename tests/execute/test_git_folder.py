"""The user's commit is read from the files of the repository; no program is started."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hardy.store.provenance import session

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Runs git in a new repository with one commit, which is the current folder."""
    top = tmp_path / "work"
    top.mkdir()
    monkeypatch.chdir(top)

    def run(*words: str) -> str:
        named = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        done = subprocess.run(["git", *named, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    run("init")
    Path("file").write_text("a")
    run("add", "file")
    run("commit", "-m", "first")
    return run


def commit() -> object:
    return session()["git_commit"]


def test_a_repository_starts_no_program(git: Git) -> None:
    """Its settings may name some that git runs, even to say whether a file was changed."""
    head = git("rev-parse", "HEAD")
    for name in ("filter.x.clean", "core.fsmonitor", "filter.x.process"):
        git("config", name, "touch started; cat")
    Path(".gitattributes").write_text("* filter=x\n")
    os.utime("file", (1, 1))
    assert commit() == head
    assert not Path("started").exists()


def test_the_commit_of_branches_worktrees_and_folders_below(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git("rev-parse", "HEAD")
    monkeypatch.setenv("PATH", "")  # where there is no git
    assert commit() == head
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path / "work")
    git("pack-refs", "--all")
    assert commit() == head
    git("worktree", "add", "-b", "other", "../beside")
    Path("below").mkdir()
    monkeypatch.chdir("below")
    assert commit() == head
    monkeypatch.chdir(tmp_path / "beside")
    assert commit() == head
    git("commit", "--allow-empty", "-m", "second")
    assert commit() == git("rev-parse", "HEAD") != head
    git("checkout", "--detach", head)
    assert commit() == head


@pytest.mark.parametrize(
    "said",
    ["", "ref: refs/heads/none", "ref: refs/../../secret", "ref: ../../secret", "a\0", "\xff" * 9],
)
def test_what_cannot_be_read_is_unknown(said: str, git: Git, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("b" * 40)
    Path(".git/HEAD").write_bytes(said.encode("latin1"))
    assert commit() is None


def test_references_that_lead_nowhere_end(git: Git, tmp_path: Path) -> None:
    Path(".git/HEAD").write_text("ref: refs/heads/a")
    Path(".git/refs/heads/a").write_text("ref: refs/heads/a")
    assert commit() is None
    Path(".git/refs/heads/a").unlink()
    os.mkfifo(".git/refs/heads/a")  # to open it would be to wait for ever
    assert commit() is None
    os.rename(".git", tmp_path / "moved")
    Path(".git").write_text("gitdir: //server/share")
    assert commit() is None
