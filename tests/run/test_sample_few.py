"""Samples of few images, and of images of which a store has more or other predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardy
from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.scores.stored_sample import find_sample
from tests.run.runs import FEW, one
from tests.suites.helpers import write_rows


def part_of(rows: Path, count: int) -> Path:
    with np.load(rows) as whole:
        part = rows.with_name(f"part{count}.npz")
        np.savez(part, images=whole["images"][:count], labels=whole["labels"][:count])
    return part


def test_where_one_cell_an_image_is_too_little_all_get_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says each time what it saw, and a later call goes on with the same sample."""
    told: list[str] = []
    monkeypatch.setattr("hardy.progress.mention", told.append)
    how: dict[str, Any] = {"suite": "cifar10_c", "images": write_rows(tmp_path, 100)}
    run = one(evaluate("fake:10", store=tmp_path / "a", until=9, **how))
    sample = find_sample(run.stored)
    assert sample is not None
    made, every = sample.predictions
    assert made < every / 3
    assert sample.wanted[:, 1:].sum(axis=0).min() >= 10
    assert run.score().headline[0].name == "mean error"
    assert "too few images under each cell after" in told[0]
    assert f"after {made:,} predictions" in told[-1]
    again = one(evaluate("fake:10", store=tmp_path / "a", until=9, **how))
    assert again.score().as_dicts() == run.score().as_dicts()


def test_a_limit_is_heeded_and_leaves_a_score(tmp_path: Path) -> None:
    how: dict[str, Any] = {"suite": "cifar10_c", "images": write_rows(tmp_path, 100)}
    run = one(evaluate("fake:10", store=tmp_path / "a", until=1, at_most=2000, **how))
    sample = find_sample(run.stored)
    assert sample is not None
    assert 1500 < sample.predictions[0] <= 2000
    assert run.score()["mean error"].interval.high > 0


def test_a_part_of_the_images_of_a_run_is_not_sampled(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 300)
    how: dict[str, Any] = {"store": tmp_path / "runs", **FEW}
    before = one(evaluate("fake:10", images=rows, until=9, **how))
    with pytest.raises(InputError, match=r"all 300 images of the run in .* got 150 of them"):
        evaluate("fake:10", images=part_of(rows, 150), until=9, **how)
    (stored,) = hardy.runs(tmp_path / "runs")
    assert stored.score().as_dicts() == before.score().as_dicts()


def test_what_is_stored_beside_a_sample_is_told(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 300)
    how: dict[str, Any] = {"store": tmp_path / "runs", **FEW}
    evaluate("fake:10", images=part_of(rows, 150), **how)
    run = one(evaluate("fake:10", images=rows, until=9, **how))
    sample = find_sample(run.stored)
    assert sample is not None
    cells = list(sample.cells)
    more = int(run.stored.have(cells).sum() - sample.wanted[:, 1:].sum())
    assert more > 1000
    note = f"{more:,} more images under corruptions are stored, and not in the sample"
    assert note in run.score().notes
    alone = one(evaluate("fake:10", images=rows, until=9, **{**how, "store": tmp_path / "other"}))
    assert not [note for note in alone.score().notes if "not in the sample" in note]
