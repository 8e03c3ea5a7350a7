"""`until`: a sample of a run, as large as its intervals ask for."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardy
from hardy import progress
from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.run import sampled_run
from hardy.run.plan import ImageTimes
from hardy.run.sample_plan import SampleExtent
from hardy.scores.result_files import read_results
from hardy.scores.run_scores import score_run
from hardy.scores.stored_sample import find_sample
from hardy.suites.cells import CLEAN
from tests.models.tiny import tiny
from tests.run.halted_sample import sample
from tests.run.runs import FEW, one
from tests.store.stores import contents_hash
from tests.suites.helpers import write_rows
from tests.variants.test_build_killed import start, wait_for

CELLS = 10


@pytest.fixture
def many(tmp_path: Path) -> Path:
    return write_rows(tmp_path, 1500)


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs are the same each time, and so is the number of cells per image."""
    times = ImageTimes(3e-3, 1e-3, 0.0)
    monkeypatch.setattr(sampled_run, "time_few", lambda models, subject, on_device: times)


class Totals:
    """A track that adds up what there is to predict."""

    sum = 0

    def __call__(self, steps: Any, total: int, unit: str = "", amount: Any = len) -> Any:
        self.sum += total
        return steps


def half(run: hardy.Run, name: str = "mean error") -> float:
    low, high = run.score()[name].interval
    return (high - low) / 2


def test_it_stops_when_the_interval_is_narrow_enough(many: Path, tmp_path: Path) -> None:
    track = Totals()
    sampled = one(
        evaluate("fake:10", images=many, store=tmp_path / "a", until=2, track=track, **FEW)
    )
    assert 1.5 < half(sampled) <= 2
    stored = find_sample(sampled.stored)
    assert stored is not None
    made, every = stored.predictions
    assert made == track.sum
    assert every == 1500 * (CELLS + 1)
    assert made < every / 5
    counts = stored.wanted[:, 1:].sum(axis=0)
    assert counts.max() - counts.min() <= stored.plan.per_image
    full = one(evaluate("fake:10", images=many, store=tmp_path / "b", **FEW))
    for name in ("mean error", "clean error", "error contrast", "NLL"):
        low, high = sampled.score()[name].interval
        assert low < full.score()[name].value < high
    assert "ECE" not in sampled.score()
    scores = sampled.score()
    assert f"sampled: {made:,} of {every:,} predictions" in str(scores)
    assert any(note.startswith("no ECE: ") for note in scores.notes)


def test_the_same_call_adds_nothing_a_narrower_one_more_and_a_full_one_the_rest(
    many: Path, tmp_path: Path
) -> None:
    model, track, how = "fake:10", Totals(), {"images": many, "store": tmp_path / "runs", **FEW}
    first = one(evaluate(model, until=2.5, **how))
    before = first.stored.have(first.stored.cells)
    again = one(evaluate(model, until=2.5, track=track, **how))
    assert contents_hash(again.stored) == contents_hash(first.stored)
    assert again.score().as_dicts() == first.score().as_dicts()
    assert track.sum == 0
    more = one(evaluate(model, until=1.5, **how))
    assert (more.stored.have(first.stored.cells) >= before).all()
    assert half(more) <= 1.5 < half(first)
    full = one(evaluate(model, **how))
    whole = one(evaluate("fake:10", images=many, store=tmp_path / "whole", **FEW))
    assert contents_hash(full.stored) == contents_hash(whole.stored)
    assert full.score().as_dicts() == whole.score().as_dicts()


def test_a_look_at_a_larger_sample_sees_what_it_saw_before(many: Path, tmp_path: Path) -> None:
    """So a run that was killed stops where it would have."""
    small, large = (
        one(evaluate("fake:10", images=many, store=tmp_path / name, until=width, **FEW))
        for name, width in (("a", 2.5), ("b", 1.2))
    )
    stopped = find_sample(small.stored)
    assert stopped is not None
    extent = SampleExtent(stopped.visits, int(stopped.wanted[:, 0].sum()))
    again = score_run(large.stored, sample=find_sample(large.stored, extent))
    assert again.as_dicts() == small.score().as_dicts() != large.score().as_dicts()


def test_sequences_are_sampled_whole(tmp_path: Path) -> None:
    how = {"suite": "cifar10_p", "images": write_rows(tmp_path, 200)}
    how |= {"only": ["brightness", "gaussian_noise"]}
    sampled = one(evaluate("fake:10", store=tmp_path / "runs", until=1.5, **how))
    assert half(sampled, "flip probability") <= 1.5
    stored = find_sample(sampled.stored)
    assert stored is not None
    frames = sum(stored.frames)
    assert stored.predictions == (stored.wanted[:, 1:].sum(axis=0) @ stored.frames, 200 * frames)
    full = one(evaluate("fake:10", store=tmp_path / "whole", **how))
    for name in ("flip probability", "top-5 distance", "FP brightness"):
        low, high = sampled.score()[name].interval
        assert low <= full.score()[name].value <= high
    same = one(evaluate("fake:10", store=tmp_path / "runs", **how))
    assert contents_hash(same.stored) == contents_hash(full.stored)


def test_scores_have_widths_of_their_own(many: Path, tmp_path: Path) -> None:
    run = one(
        evaluate(
            "fake:10",
            images=many,
            store=tmp_path / "runs",
            until="error contrast=3.5,clean error=1",
            **FEW,
        )
    )
    assert half(run, "error contrast") <= 3.5
    assert half(run, "clean error") <= 1
    stored = find_sample(run.stored)
    assert stored is not None
    assert stored.wanted[:, 0].sum() > 3 * stored.wanted[:, 1:].sum(axis=0).max()


@pytest.mark.slow
def test_killed_ten_times_it_ends_in_the_same_sample(tmp_path: Path) -> None:
    images, store, chance = write_rows(tmp_path, 1500), tmp_path / "runs", random.Random(4)
    for number in range(10):
        mark = tmp_path / f"mark{number}"
        process = start("tests.run.halted_sample", mark, store, images, chance.randint(5, 60))
        assert wait_for(mark.exists, process), process.communicate()
        process.kill()
        process.communicate(timeout=600)
    resumed, whole = sample(store, images), sample(tmp_path / "whole", images)
    assert contents_hash(resumed.stored) == contents_hash(whole.stored)
    assert resumed.score().as_dicts() == whole.score().as_dicts()


def test_limits(many: Path, tmp_path: Path) -> None:
    how = {"images": many, "store": tmp_path / "runs", "until": 0.1, **FEW}
    run = one(evaluate("fake:10", at_most=900, **how))
    stored = find_sample(run.stored)
    assert stored is not None
    assert 800 < stored.predictions[0] <= 900
    with pytest.raises(InputError, match="`at_most` of at least 300 predictions, with which a"):
        evaluate("fake:10", at_most=100, **how)
    timed = one(evaluate("fake:10:1", at_most="0.001s", **how))
    assert find_sample(timed.stored) is not None


def test_two_models_share_a_sample(many: Path, tmp_path: Path) -> None:
    found = evaluate(
        ["fake:10", "fake:10:1"], images=many, store=tmp_path / "runs", until=2.5, **FEW
    )
    alone = one(evaluate("fake:10", images=many, store=tmp_path / "alone", until=2.5, **FEW))
    assert all(half(run) <= 2.5 for run in found)
    have = [run.stored.have([CLEAN, *run.stored.cells]) for run in found]
    assert np.array_equal(*have)
    assert (have[0] >= alone.stored.have([CLEAN, *alone.stored.cells])).all()


def test_images_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (400, 32, 32, 3), np.uint8)

    class Broken:
        ids, labels, classes = list(range(400)), np.arange(400) % 10, None
        files = tuple(f"{number}.png" for number in range(400))
        source = hardy.images.numpy_files.source_of_array(images, np.arange(400) % 10)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.source, name)

        def __len__(self) -> int:
            return 400

        def read(self, index: int, convert: Any = None) -> Any:
            if index % 50 == 7:
                raise InputError(f"cannot read {index}")
            return self.source.read(index, convert)

    run = one(
        evaluate("fake:10", images=Broken(), store=tmp_path / "runs", until=3, **FEW)  # type: ignore[arg-type]
    )
    assert half(run) <= 3
    stored = find_sample(run.stored)
    assert stored is not None
    assert stored.population == 400 - len(run.faults) < 400
    assert not {7, 57, 107} & set(stored.images.tolist())


def test_what_is_refused(many: Path, tmp_path: Path) -> None:
    how = {"images": many, "store": tmp_path / "runs", **FEW}
    for name, value in {"subset": 100, "shard": "1/2", "devices": "cpu,cpu"}.items():
        with pytest.raises(InputError, match=f"`until` without `{name}`"):
            evaluate("fake:10", until=1, **{name: value}, **how)
    with pytest.raises(InputError, match="`at_most` with `until`"):
        evaluate("fake:10", at_most=100, **how)
    with pytest.raises(
        InputError, match="expected `dry_run` without `until`: how many predictions"
    ):
        evaluate("fake:10", until=1, dry_run=True, **how)
    with pytest.raises(InputError, match="unknown score for `until`"):
        evaluate("fake:10", until="mCF=1", **how)
    with pytest.raises(InputError, match="which adapts to the images of a batch"):
        evaluate(tiny(classes=10), until=1, defend="bn_adapt:2", **how)


def test_samples_are_compared_on_what_both_have(many: Path, tmp_path: Path) -> None:
    how = {"images": many, "store": tmp_path / "runs", **FEW}
    one_sampled = one(evaluate("fake:10", until=2.5, **how))
    other_sampled = one(evaluate("fake:10", until=1.5, name="median", defend="median", **how))
    first, second = (
        one(evaluate("fake:10", images=many, store=tmp_path / "full", **FEW, **defended))
        for defended in ({}, {"name": "median", "defend": "median"})
    )
    whole = {found.first.name: found for found in hardy.compare(first, second).headline}
    for pair in ((one_sampled, other_sampled), (one_sampled, second), (first, other_sampled)):
        compared = hardy.compare(*pair)
        assert "predictions that both have" in str(compared.notes)
        footer = " ".join(compared.tables()[0].notes)
        for side in (compared.first, compared.second):
            assert str(side.headline[0].circumstances) in footer, "each its own sample"
        for found in compared.headline:
            truth = whole[found.first.name].difference
            assert found.interval.low <= truth <= found.interval.high
            assert found.p_value > 0.05 or found.significant
        assert "where no image tells" not in str(compared.tables()[0].notes)
    with pytest.raises(InputError, match="expected two scores made alike, got different ways"):
        hardy.compare(one_sampled, one(evaluate("fake:10", **(how | {"seed": 1}))))
    few = one(evaluate("fake:10:1", **how, subset=100))
    with pytest.raises(InputError, match="expected runs that sample the same images, got 1,500 of"):
        hardy.compare(one_sampled, few)


def greys(images: np.ndarray, above: int = 0) -> np.ndarray:
    """Answers by an image's mean level, a little above it or not."""
    level = images.reshape(len(images), -1).mean(axis=1)[:, None] + above
    return np.asarray(-np.abs(level - np.linspace(100, 150, 10)), np.float32)


def greys_above(images: np.ndarray) -> np.ndarray:
    return greys(images, above=1)


def test_the_difference_of_two_models_is_sampled_until_it_is_narrow(
    many: Path, tmp_path: Path
) -> None:
    how = {"images": many, **FEW}
    track = Totals()
    compared = hardy.compare(
        greys, greys_above, store=tmp_path / "pair", until=2, track=track, **how
    )
    found = compared.headline[0]
    low, high = found.interval
    assert found.first.name == "mean error"
    assert 1 < (high - low) / 2 <= 2
    # Models that answer alike differ by less than either errs.
    alone = Totals()
    evaluate(greys, store=tmp_path / "alone", until=2, track=alone, **how)
    assert track.sum / 2 < alone.sum
    full = [evaluate(model, store=tmp_path / "full", **how) for model in (greys, greys_above)]
    truth = hardy.compare(*full).headline[0].difference
    assert low <= truth <= high
    # Given again, or with wider intervals, it makes nothing more.
    again = Totals()
    hardy.compare(greys, greys_above, store=tmp_path / "pair", until=2.5, track=again, **how)
    assert again.sum == 0
    assert hardy.compare(*full).first.sampled is None
    with pytest.raises(InputError, match="expected two models for the difference between them in"):
        evaluate(greys, store=tmp_path, until="difference=1", **how)
    with pytest.raises(InputError, match="expected `images` with `until`, got it alone"):
        hardy.compare(*full, images=many)
    with pytest.raises(InputError, match="expected a `suite` with `until`, got none"):
        hardy.compare(greys, greys_above, until=1, images=many)
    with pytest.raises(InputError, match="expected a run or its scores, got function"):
        hardy.compare(greys, greys_above)


def test_a_sample_says_so_in_its_file(many: Path, tmp_path: Path) -> None:
    how = {"images": many, "store": tmp_path / "runs", **FEW}
    sampled = one(evaluate("fake:10", until=2.5, **how))
    evaluate("fake:10:1", **how)
    hardy.score(tmp_path / "runs", model="fake:10", tell=print).write(tmp_path / "one.json")
    (result,) = read_results(tmp_path / "one.json")
    stored = find_sample(sampled.stored)
    assert stored is not None
    assert result.scores["mean error"].circumstances.sampled == stored.predictions
    assert any(note.startswith("sampled: ") for note in result.notes)
    csv = hardy.score(tmp_path / "runs").as_csv()
    assert csv.splitlines()[0].count("sampled") == 1
    hardy.report(tmp_path / "runs", output=tmp_path / "report.html")
    assert "sampled: " in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_few_images_are_all_taken_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(progress, "mention", told.append)
    rows = write_rows(tmp_path, 40)
    run = one(evaluate("fake:10", images=rows, store=tmp_path / "runs", until=1, **FEW))
    assert run.score().sampled is None
    assert told[-1].startswith("all predictions are made: nothing is sampled any more, and ± is")


def test_models_that_have_all_predictions_are_compared_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its interval is wider than those on the way: it is of other images, not of this sample."""
    told: list[str] = []
    how = {"images": write_rows(tmp_path, 40), "store": tmp_path / "runs", **FEW}
    evaluate(["fake:10", "fake:10:1"], **how)
    monkeypatch.setattr(progress, "mention", told.append)
    hardy.compare("fake:10", "fake:10:1", until=5, **how)
    assert "of both is known after" in told[-2]
    assert told[-1].startswith("all predictions are made: nothing is sampled any more, and ± is")


def test_a_single_cell(many: Path, tmp_path: Path) -> None:
    """It has no pairs of cells, which tell how images differ."""
    how = {"suite": "cifar10_c", "only": "contrast", "severities": 1, "store": tmp_path / "runs"}
    run = one(evaluate("fake:10", images=many, until=3, **how))
    assert half(run) <= 3
    stored = find_sample(run.stored)
    assert stored is not None
    assert stored.predictions[0] < 700
