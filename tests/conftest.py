"""What all tests need."""

from __future__ import annotations

import os
import signal
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.objects import Objects

# Tensors in tests are small: torch's threads would spend their time waiting for one another.
os.environ["OMP_NUM_THREADS"] = "1"

# A shell that starts its jobs in the background has them ignore Ctrl-C, and so would all processes
# that the tests start in order to interrupt them.
signal.signal(signal.SIGINT, signal.default_int_handler)


# They kill groups of processes and ask /proc about them.
if sys.platform != "linux":
    collect_ignore = [
        "execute/test_executor.py",
        "report/test_large.py",
        "run/test_run_killed.py",
        "store/test_killed.py",
        "variants/test_build_killed.py",
    ]


@pytest.fixture(scope="session")
def torchvision() -> None:
    from tests.vision import import_torchvision

    import_torchvision()


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line says what takes long: how much that is depends on machine and caches."""
    from hardy import progress

    monkeypatch.setattr(progress, "speaks", False)
    monkeypatch.setattr(progress, "PAUSE", float("inf"))
    monkeypatch.setattr(progress, "mention", lambda line: None)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Run `hardy ...` in an empty folder; gives the exit code, stdout and stderr."""
    from hardy import cli

    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hardy", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Objects:
    """What lies at s3://bucket, and waits for nothing when it fails."""
    from hardy import patience, places
    from tests.objects import Objects

    made = Objects(tmp_path / "objects")
    monkeypatch.setattr(places, "open_bucket", cache(lambda scheme, bucket: (made, bucket)))
    monkeypatch.setattr(patience, "FIRST_WAIT", 0.0)
    (made.folder / "bucket").mkdir()
    return made
