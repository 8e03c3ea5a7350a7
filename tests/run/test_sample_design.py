"""The order in which a sample takes predictions: fixed, nested, balanced, and random."""

from __future__ import annotations

import numpy as np
import pytest

from hardy.run.sample_design import SampleDesign
from hardy.run.sample_plan import PILOT_TURNS, SamplePlan, read_plans

CELLS = 15
LABELS = np.repeat(np.arange(10), 60)
PLAN = SamplePlan(per_image=2, pilot=45)


def design(
    ids: list[str] | list[int] | None = None, labels: np.ndarray = LABELS, seed: int = 0
) -> SampleDesign:
    numbered = list(range(len(labels))) if ids is None else ids
    return SampleDesign(numbered, labels, cells=CELLS, suite="imagenet_c", seed=seed)


def test_the_sample_is_the_same_everywhere() -> None:
    one = design()
    assert one.line[:6].tolist() == [253, 447, 144, 558, 338, 34]
    assert one.turns[0].tolist() == [14, 13, 2, 9, 8, 0, 6, 4, 5, 12, 7, 10, 3, 11, 1]
    assert not np.array_equal(one.line, design(seed=1).line)


def test_the_order_of_the_files_does_not_matter() -> None:
    names = [f"image {number}" for number in range(len(LABELS))]
    mixed = np.random.default_rng(0).permutation(len(names))
    one, two = design(names), design([names[place] for place in mixed], LABELS[mixed])
    assert [names[place] for place in one.line] == [names[mixed[place]] for place in two.line]


def test_blocks_have_every_cell_as_often_and_images_every_cell_once() -> None:
    one = design()
    assert (np.sort(one.turns, axis=1) == np.arange(CELLS)).all()
    for turn in range(CELLS):
        for start in range(0, len(LABELS), CELLS):
            assert (one.turns[start : start + CELLS] == turn).sum(axis=0).tolist() == [1] * CELLS


def test_classes_are_in_proportion_in_every_beginning() -> None:
    uneven = np.repeat(np.arange(3), (400, 150, 50))
    line = design(labels=uneven).line
    for size in (60, 120, 300):
        shares = np.bincount(uneven[line[:size]], minlength=3) / size * 600
        assert np.abs(shares - (400, 150, 50)).max() <= 600 / size


def test_every_prediction_is_as_likely_as_any_other() -> None:
    """Over many seeds, images of small classes too, and pairs of cells meet as often."""
    uneven = np.repeat(np.arange(3), (60, 28, 2))
    taken, pairs, times = np.zeros((90, CELLS)), np.zeros((CELLS, CELLS)), 2000
    for seed in range(times):
        one = design(labels=uneven, seed=seed)
        wanted = one.wanted(30, SamplePlan(2, 0))
        taken[one.line] += wanted
        pairs += wanted.T.astype(float) @ wanted
    expected = times * 30 / 90 * 2 / CELLS
    assert np.abs(taken - expected).max() < 5 * np.sqrt(expected)
    assert abs(taken[-2:].mean() - expected) < 4 * np.sqrt(expected / (2 * CELLS))
    apart = pairs[~np.eye(CELLS, dtype=bool)]
    assert np.abs(apart - apart.mean()).max() < 5 * np.sqrt(apart.mean())


def test_a_sample_is_part_of_a_larger_one_up_to_everything() -> None:
    one = design()
    before = np.zeros((len(LABELS), CELLS), bool)
    for visits in range(0, one.all_visits(PLAN) + 1, 150):
        now = one.wanted(visits, PLAN)
        assert (now >= before).all()
        assert np.array_equal(one.wanted(one.visits_done(now, PLAN), PLAN), now)
        before = now
    assert one.wanted(one.all_visits(PLAN), PLAN).all()


def test_images_are_shown_as_often_as_others_but_for_one_cell() -> None:
    """Once all have had theirs, since unequal shares cost precision."""
    one, plan = design(), SamplePlan(per_image=4, pilot=45)
    for more in (0, 30, 300, 599, 600, 900):
        taken = one.turns_taken(len(LABELS) + more, plan)
        assert taken.max() - taken.min() <= 1
        assert taken.sum() == 4 * len(LABELS) + more


def test_what_is_not_whole_does_not_count() -> None:
    one = design()
    have = one.wanted(150, PLAN)
    assert (have.sum(axis=1)[: PLAN.pilot] == PILOT_TURNS).all()
    have[100] = False
    assert one.visits_done(have, PLAN) == 90
    assert one.visits_done(have, PLAN, unreadable=1) == 150
    have[3] = False
    assert one.visits_done(have, PLAN) == 0


@pytest.mark.parametrize("said", [None, 3, {}, {"per_image": 2}, {"per_image": -1, "pilot": 3}])
def test_a_record_that_is_none(said: object) -> None:
    kept = {"sample": {"per_image": 2, "pilot": 45}, "cells": ["fog:3"]}
    assert read_plans([kept, {"sample": said}]) == [(PLAN, ["fog:3"])]
