"""Images that runs are made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.suites.helpers import write_rows


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_rows(tmp_path, 20)
