"""`hardy.runs(...).table()` with the libraries themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardy


@pytest.fixture
def runs(tmp_path: Path) -> Any:
    """Two runs, of which only the second has the whole clean set beside a corruption."""
    few: dict[str, Any] = {"labels": [n % 10 for n in range(40)], "warn": lambda text: None}
    for number, only in enumerate((["contrast"], ["contrast", "brightness"])):
        hardy.evaluate(
            f"fake:10:{number}",
            suite="cifar10_c",
            images=np.zeros((40, 32, 32, 3), np.uint8),
            store=tmp_path / "runs",
            only=only,
            **few,
        )
    return hardy.runs(tmp_path / "runs")


def test_pandas(runs: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas: make test-extras")
    table = runs.table()
    assert isinstance(table, pandas.DataFrame)
    assert table["model"].tolist() == [run.model for run in runs]
    assert table["images"].dtype == np.int64
    assert table["mean error"].dtype == np.float64
    values = [run.score()["mean error"].value for run in runs]
    assert table["mean error"].tolist() == values
    assert (table["mean error low"] <= table["mean error"]).all()


def test_polars_where_there_is_no_pandas(runs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars", reason="needs polars: make test-extras")
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = runs.table()
    assert isinstance(table, polars.DataFrame)
    assert table["model"].to_list() == [run.model for run in runs]
    assert table["images"].dtype == polars.Int64
    assert table["mean error"].to_list() == [run.score()["mean error"].value for run in runs]
