"""Runs held against a baseline: a store, or a result file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.scores import compare_runs, score_run
from hardy.scores.baseline import Baseline
from hardy.scores.result_files import result_of, write_results
from hardy.suites.cells import Cell
from tests.scores.helpers import errors, write_run, write_sequences

IMAGES = 60
BEFORE = errors(images=IMAGES, names=("fog", "snow"), rate=0.4, clean=0.1)
MUCH = {cell: flags | (np.arange(IMAGES) < 25) for cell, flags in BEFORE.items()}
LITTLE = {cell: flags | (np.arange(IMAGES) % 10 == 3) for cell, flags in BEFORE.items()}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    write_run(tmp_path / "old", BEFORE, model="net")
    return tmp_path / "old"


@pytest.fixture
def file(old: Path) -> Path:
    path = old.with_name("baseline.json")
    path.write_text(write_results([result_of(score_run(run_of(old)))]), encoding="utf-8")
    return path


def run_of(store: Path) -> Any:
    import hardy

    (run,) = hardy.runs(store)
    return run.stored


def later(store: Path, wrong: Any = BEFORE, **changes: Any) -> Any:
    """The scores of a model that was trained again."""
    run = write_run(store.with_name("new"), wrong, model="net", model_identity="2", **changes)
    return score_run(run)


@pytest.mark.parametrize("kind", ["store", "file"])
def test_equal_and_better_models_pass(old: Path, file: Path, kind: str) -> None:
    baseline = Baseline(old if kind == "store" else file)
    assert baseline.held == [("net", "imagenet_c")]
    assert baseline.judge(later(old)).regressions == ()
    better = {cell: flags & (np.arange(IMAGES) > 30) for cell, flags in BEFORE.items()}
    assert baseline.judge(later(old.with_name("b") / "x", better)).regressions == ()


@pytest.mark.parametrize("kind", ["store", "file"])
def test_a_model_that_is_much_worse_is_told_with_its_figures(
    old: Path, file: Path, kind: str
) -> None:
    now = later(old, MUCH)
    judged = Baseline(old if kind == "store" else file).judge(now)
    assert [one.first.name for one in judged.regressions] == ["mCE", "clean error"]
    before = score_run(run_of(old))
    text = str(judged)
    how = "compared pair by pair" if kind == "store" else "by the intervals of both"
    assert text.startswith(f"net on imagenet_c: a significant regression, {how}\n")
    told = f"mCE: {before['mCE'].value:.1f} in the baseline, {now['mCE'].value:.1f} now, +"
    assert told in text
    assert text.endswith("(worse)")


def test_a_store_is_compared_as_hardy_compare_does(old: Path) -> None:
    now = later(old, LITTLE)
    judged, compared = Baseline(old).judge(now), compare_runs(score_run(run_of(old)), now)
    assert judged.changes == compared.deciding
    assert judged.regressions == compared.regressions


def test_what_pairs_tell_a_file_need_not(tmp_path: Path) -> None:
    """Two fifths of the images are hard, and six more become so: plain to see pair by pair, and
    nothing beside intervals of which each has all 60. Those add as squares."""
    hard = np.arange(IMAGES) % 5 < 2
    more = hard | (np.arange(IMAGES) % 10 == 3)
    run = write_run(tmp_path / "old", dict.fromkeys(BEFORE, hard), model="net")
    file = tmp_path / "baseline.json"
    file.write_text(write_results([result_of(score_run(run))]), encoding="utf-8")
    now = later(tmp_path / "old", dict.fromkeys(BEFORE, more))
    paired, alone = Baseline(tmp_path / "old").judge(now), Baseline(file).judge(now)
    assert "mCE" in [one.first.name for one in paired.regressions]
    assert alone.regressions == ()
    one, before, second = alone.changes[0], score_run(run)["mCE"], now["mCE"]
    assert one.difference == pytest.approx(second.value - before.value)
    arm = math.hypot(second.value - second.interval.low, before.interval.high - before.value)
    assert one.interval.low == pytest.approx(one.difference - arm)
    assert one.interval.low < 0 < paired.changes[0].interval.low


def test_sequences(tmp_path: Path) -> None:
    cells = [Cell("tilt", 1), Cell("shot_noise", 1)]
    calm, _ = write_sequences(tmp_path / "old", cells, model="net", walk=0.01, images=40)
    wild, _ = write_sequences(tmp_path / "new", cells, model="net", walk=3, images=40)
    judged = Baseline(tmp_path / "old").judge(score_run(wild))
    assert [one.first.name for one in judged.regressions] == ["mFR"]
    assert Baseline(tmp_path / "new").judge(score_run(calm)).regressions == ()


def test_what_was_not_made_alike_is_refused(old: Path, file: Path) -> None:
    now = later(old, BEFORE, ids=range(100, 160))
    for path in (old, file):
        with pytest.raises(InputError, match=r"made alike, got different image sets \("):
            Baseline(path).judge(now)


def test_other_models_are_refused(old: Path, file: Path) -> None:
    run = write_run(old.with_name("new"), BEFORE, model="other")
    for path in (old, file):
        with pytest.raises(InputError, match=r"of other on imagenet_c in .*, got 0; it has net"):
            Baseline(path).judge(score_run(run))
    write_run(old, BEFORE, model="net", model_identity="retrained")
    with pytest.raises(InputError, match="got 2; keep one of them"):
        Baseline(old).judge(later(old))
    with pytest.raises(InputError, match="expected a result file in JSON, but"):
        Baseline(old.with_name("nothing.json"))


def test_a_run_is_no_baseline_of_itself(old: Path) -> None:
    with pytest.raises(InputError, match="got that run itself; keep a copy of the store"):
        Baseline(old).judge(score_run(run_of(old)))
