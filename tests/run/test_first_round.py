"""The first round of a sample: no larger than the first look needs, and kept by whoever goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.evaluation import evaluate
from hardy.run import sample_rounds, sample_tasks, sampled_run
from hardy.run.plan import ImageTimes
from hardy.run.sample_design import SampleDesign
from hardy.run.sample_plan import LEAST, SamplePlan, first_round, read_plans
from hardy.run.sample_rounds import SampleRounds
from hardy.scores.stored_sample import find_sample
from hardy.suites.cells import CLEAN, Cell
from tests.run.runs import one
from tests.store.stores import contents_hash
from tests.suites.helpers import write_rows

SOME = {"suite": "cifar10_c", "only": ["contrast", "brightness", "fog", "frost", "snow"]}
CELLS = 25
LABELS = np.repeat(np.arange(10), 60)
BEFORE = SamplePlan(per_image=0, pilot=5 * CELLS)  # as earlier versions had it


def design(cells: int = CELLS) -> SampleDesign:
    return SampleDesign(range(len(LABELS)), LABELS, cells=cells, suite="imagenet_c", seed=0)


@pytest.mark.parametrize("cells", [2, 10, 15, 25, 50, 60])
def test_every_cell_has_enough_images_for_a_look_and_some_images_two(cells: int) -> None:
    one, plan = design(cells), first_round(len(LABELS), cells)
    wanted = one.wanted(0, plan)
    each = wanted.sum(axis=0)
    assert each.min() == each.max() >= LEAST
    assert wanted.any(axis=1).sum() >= 99 - cells
    pairs = (wanted.sum(axis=1) == 2).sum()
    assert min(cells, 99) <= pairs <= 100
    assert wanted.sum() <= max(LEAST * cells, 200)


def test_seventy_five_cells_have_one_block_of_two_each() -> None:
    assert first_round(10_000, 75) == SamplePlan(per_image=0, pilot=75, once=600)
    assert first_round(200, 75) == SamplePlan(per_image=0, pilot=75, once=125)
    assert first_round(50, 75) == SamplePlan(per_image=0, pilot=50, once=0)
    cells = [CLEAN, *(Cell(f"c{number}", 1) for number in range(CELLS))]
    assert SampleRounds(design(), cells).predictions == 10 * CELLS + 5 * CELLS


def test_it_is_remembered() -> None:
    for plan in (first_round(len(LABELS), CELLS), BEFORE):
        assert read_plans([{"sample": plan.as_dict(), "cells": []}]) == [(plan, [])]
    earlier = {"per_image": BEFORE.per_image, "pilot": BEFORE.pilot}
    assert read_plans([{"sample": earlier, "cells": []}]) == [(BEFORE, [])]
    for damaged in (5, 0.5, "fog:1", [None]):
        assert read_plans([{"sample": earlier, "cells": damaged}]) == [(BEFORE, [])]


@pytest.mark.parametrize("per_image", [1, 2, 4])
def test_a_sample_goes_on_from_it(per_image: int) -> None:
    one = design()
    plan = first_round(len(LABELS), CELLS)._replace(per_image=per_image)
    before = one.wanted(0, plan)
    assert plan.once
    for visits in range(0, one.all_visits(plan) + 1, 150):
        now = one.wanted(visits, plan)
        assert (now >= before).all()
        assert np.array_equal(one.wanted(one.visits_done(now, plan), plan), now)
        before = now
    assert before.all()


@pytest.fixture
def how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    times = ImageTimes(3e-3, 1e-3, 0.0)
    monkeypatch.setattr(sampled_run, "time_few", lambda models, subject, on_device: times)
    monkeypatch.setattr(sample_tasks, "_TOGETHER", 40)
    return {"images": write_rows(tmp_path, 600), "until": 2.5, **SOME}


def stop_early(store: Path, how: dict[str, Any]) -> None:
    sample = find_sample(one(evaluate("fake:10", store=store, at_most="0.001s", **how)).stored)
    assert sample is not None
    assert sample.predictions[0] < 100


def test_stopped_in_it_a_run_goes_on_to_the_same_sample(
    how: dict[str, Any], tmp_path: Path
) -> None:
    stop_early(tmp_path / "stopped", how)
    resumed, whole = (
        one(evaluate("fake:10", store=tmp_path / name, **how)) for name in ("stopped", "whole")
    )
    assert contents_hash(resumed.stored) == contents_hash(whole.stored)
    assert resumed.score().as_dicts() == whole.score().as_dicts()


def test_stopped_in_it_a_run_keeps_the_plan_of_the_version_that_began_it(
    how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(sample_rounds, "first_round", lambda images, cells: BEFORE)
        stop_early(tmp_path / "stopped", how)
        whole = one(evaluate("fake:10", store=tmp_path / "whole", **how))
    resumed = one(evaluate("fake:10", store=tmp_path / "stopped", **how))
    sample = find_sample(resumed.stored)
    assert sample is not None
    assert sample.plan._replace(per_image=0) == BEFORE
    assert contents_hash(resumed.stored) == contents_hash(whole.stored)
    assert resumed.score().as_dicts() == whole.score().as_dicts()


@pytest.mark.parametrize(
    ("images", "cells"),
    [
        (8, {"only": "contrast", "severities": [1]}),
        (60, {"only": "contrast", "severities": [1]}),
        (120, {"only": ["contrast", "fog"]}),
    ],
)
def test_so_few_images_that_all_are_shown_become_a_full_run(
    images: int, cells: dict[str, Any], tmp_path: Path
) -> None:
    """Else the score is known of these images and has no interval, or can never be told."""
    run = one(
        evaluate(
            "fake:10",
            suite="cifar10_c",
            images=write_rows(tmp_path, images),
            store=tmp_path / "store",
            until=0.01,
            **cells,
        )
    )
    score = run.score()["mean error"]
    assert score.circumstances.sampled is None
    assert score.interval is not None
    assert score.interval.low < score.interval.high
