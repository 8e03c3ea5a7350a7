"""What many GPUs cost, on paper: the page is that of the results, and the sums are right."""

from __future__ import annotations

import json

import pytest

from bench.cpu import RESULTS
from bench.crowd import World, tell
from bench.scale import (
    BLOCK,
    BLOCKS,
    CELLS,
    IMAGES,
    MANY,
    Costs,
    Plan,
    best_plan,
    measured,
    page,
    read_stories,
)
from tests.pages import page as read_page

COSTS = Costs(decode=0.004, corrupt=1e-6, forward=1e-4, rest=1e-3, once=5.0, start=40.0)


def test_the_page_is_what_the_results_give() -> None:
    assert page(measured(), *read_stories()) == (RESULTS / "scale.md").read_text(encoding="utf-8")


def test_one_gpu_is_what_was_measured() -> None:
    seconds = json.loads((RESULTS / "gpu.json").read_text())["evaluation"][1]["on"]
    alone = Plan(measured(), 1, 1, 1)
    last = BLOCKS * BLOCK / IMAGES  # the last block counts as a whole one
    work = alone.seconds - alone.costs.start - alone.costs.once
    assert work / last == pytest.approx(seconds - alone.costs.once)


def test_what_a_plan_takes() -> None:
    each = BLOCK * ((CELLS + 1) * 1e-4 + 1e-3)
    making = BLOCK * CELLS * 1e-6
    assert Plan(COSTS, 1, BLOCKS, 1).seconds == pytest.approx(40 + 5 + each + making)
    assert Plan(COSTS, 1, BLOCKS - 1, 1).seconds == pytest.approx(45 + 2 * (each + making))
    many = Plan(COSTS, 600, 10, 2)  # 300 models on 5 GPUs: two groups, ten turns
    assert many.seconds == pytest.approx(40 + 1500 + 10 * (300 * each + 2 * making))
    assert many.busy == pytest.approx(BLOCKS * (600 * each + 4 * making) / (10 * many.seconds))
    assert many.blocks == pytest.approx(2 * 2 * BLOCKS / many.seconds)


def test_more_gpus_than_blocks_do_nothing_for_one_model() -> None:
    assert best_plan(COSTS, 1, 1024).seconds == best_plan(COSTS, 1, BLOCKS).seconds


def test_the_guide_says_what_the_page_says() -> None:
    costs = measured()
    text = read_page("docs/scale.md")
    for gpus in (1, 8, 64):
        assert f"| {gpus} | {best_plan(costs, 1, gpus).seconds:.0f} s |" in text
    assert f"| {best_plan(costs, MANY, 1024).seconds:.0f} s |" in text


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_crowd_that_dies_is_kept_busy_and_each_block_counts_once(seed: int) -> None:
    rough = World(workers=120, joining=60.0, lifetime=300.0, node_lifetime=900.0, beginning=5.0)
    story = tell(rough, 6000, seed)
    assert story.once
    assert story.done > story.blocks, "what hangs is done by others at the end"
    assert story.deaths > 50
    assert story.busy > 0.95
    again = tell(rough, 6000, seed)
    assert (again.seconds, again.deaths, again.busy) == (story.seconds, story.deaths, story.busy)
