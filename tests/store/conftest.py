"""Images that runs are made of, and how their predictions are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardy import files
from hardy.store import parts
from tests.suites.helpers import write_rows


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_rows(tmp_path, 20)


@pytest.fixture
def many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each addition is a file, and of every three one is made."""
    monkeypatch.setattr(files, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(parts, "MERGED", 3)
