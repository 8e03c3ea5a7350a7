"""Two models on the same images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardy
from hardy.errors import InputError
from hardy.scores import compare_runs, score_run
from hardy.suites.cells import CLEAN, Cell
from tests.scores.helpers import FEW, errors, write_run, write_sequences
from tests.suites.helpers import write_rows


def test_differences_are_paired(tmp_path: Path) -> None:
    wrong = errors(clean=0.3)
    worse = {cell: flags | (np.arange(20) < 6) for cell, flags in wrong.items()}
    one = score_run(write_run(tmp_path, wrong, model="a"), how=FEW)
    two = score_run(write_run(tmp_path, worse, model="b"), how=FEW)
    compared = compare_runs(one, two)
    assert [c.first.name for c in compared.headline] == [s.name for s in one.headline]
    for comparison in compared.headline:
        name = comparison.first.name
        assert comparison.difference == pytest.approx(two[name].value - one[name].value)
    assert [c.first.name for c in compared.singles][:2] == ["CE gaussian_noise", "CE shot_noise"]
    assert len(compared.singles) == 15
    assert "mean error" in [c.first.name for c in compared.worse]
    assert compared.better == ()
    only = int((worse[CLEAN] & ~wrong[CLEAN]).sum())
    assert compared.clean is not None
    assert (compared.clean.only_first, compared.clean.only_second) == (0, only)
    assert compared.clean.p_value == pytest.approx(2 * 0.5**only)
    assert str(compared).startswith("b is significantly worse in mCE, ")
    assert str(compared).endswith(" than a")
    back = compare_runs(two, one)
    assert str(back).startswith("a is significantly better in mCE, ")


@pytest.mark.parametrize(("differing", "told"), [(4, False), (6, True)])
def test_few_images_do_not_tell_clean_errors_apart(
    differing: int, told: bool, tmp_path: Path
) -> None:
    """Exactly p = 2 · 0.5⁴ = 0.125 for four, 0.031 for six."""
    right = errors(images=200, clean=0.0)
    wrong = right | {CLEAN: np.arange(200) < differing}
    one, two = (write_run(tmp_path, cells, model=m) for cells, m in ((right, "a"), (wrong, "b")))
    compared = compare_runs(one, two)
    (clean,) = [c for c in compared.headline if c.first.name == "clean error"]
    assert clean.significant == told
    assert compared.tells(clean) == (clean in compared.regressions) == told
    assert ("clean error" in str(compared)) == told
    table = compared.tables()[0]
    assert ("clean error" in {table.rows[row][0] for row, _ in table.best}) == told


def test_equal_models(tmp_path: Path) -> None:
    run = write_run(tmp_path, errors(), model="a")
    compared = compare_runs(run, run)
    assert all(c.difference == 0 and not c.significant for c in compared.headline)
    assert str(compared) == "a was compared with itself"


def test_what_just_one_was_run_on_is_left_out(tmp_path: Path) -> None:
    one = score_run(write_run(tmp_path, errors(), model="a"), how=FEW)
    more = errors() | errors(names=("spatter",), clean=None)
    two = score_run(write_run(tmp_path, more, model="b"), how=FEW)
    assert len(compare_runs(two, one).singles) == len(compare_runs(one, two).singles) == 15
    fewer = {c: np.where((c.name == "spatter") & (np.arange(20) > 8), -1, more[c]) for c in more}
    four = score_run(write_run(tmp_path, fewer, model="d"), how=FEW)
    assert len(compare_runs(two, four).singles) == 15, "spatter of other images"
    assert len(compare_runs(two, two).singles) == 16
    dirty = errors(clean=None)
    three = score_run(write_run(tmp_path, dirty, model="c"), how=FEW)
    compared = compare_runs(one, three)
    assert [c.first.name for c in compared.headline] == ["mCE", "mean error"]
    assert compared.clean is None


def test_a_subset_and_all_images_are_compared_on_the_subset(tmp_path: Path) -> None:
    wrong, other = errors(images=30), errors(images=20, seed=1, rate=0.6)
    more = write_run(tmp_path, wrong, model="more")
    fewer = write_run(
        tmp_path, other, model="fewer", ids=range(5, 25), labels=np.arange(5, 25) % 10
    )
    compared = compare_runs(more, fewer)
    rows = {cell: flags[5:25] for cell, flags in wrong.items()}
    for one in compared.headline:
        assert one.first.circumstances.images == one.second.circumstances.images == 20
    (clean,) = [one for one in compared.headline if one.first.name == "clean error"]
    assert clean.first.value == pytest.approx(100 * rows[CLEAN].mean())
    assert clean.second.value == pytest.approx(100 * other[CLEAN].mean())
    assert compared.clean is not None
    assert compared.clean.only_first == (rows[CLEAN] & ~other[CLEAN]).sum()
    assert compared.notes == ("more has 30 images, fewer has 20 of them: both are scored on these",)
    back = compare_runs(score_run(fewer, how=FEW), score_run(more, how=FEW))
    assert back.notes == compared.notes
    assert back.headline[0].difference == pytest.approx(-compared.headline[0].difference)
    assert "100 bootstrap replicates" in back.second["mCE"].resampling, "as it was told before"


def test_the_same_images_of_a_subset_and_a_whole_are_compared(tmp_path: Path) -> None:
    whole = write_run(tmp_path, errors(), model="whole")
    part = write_run(tmp_path, errors(seed=1), model="part", subset={"of": 90})
    compared = compare_runs(score_run(whole, how=FEW), score_run(part, how=FEW))
    assert len(compared.headline) == 4
    assert compared.notes == ()


def worse_in(tmp_path: Path, cells: str) -> tuple[Any, Any]:
    """Two runs, the second with many more errors on clean images, corrupted ones, or in both."""
    wrong = errors(clean=0.3)
    worse = {
        cell: flags | (np.arange(20) < 10) if (cell == CLEAN) == (cells == "clean") else flags
        for cell, flags in wrong.items()
    }
    one = score_run(write_run(tmp_path, wrong, model="a"), how=FEW)
    return one, score_run(write_run(tmp_path, worse, model="b"), how=FEW)


def test_what_decides(tmp_path: Path) -> None:
    """Fewer errors on clean images alone raise relative mCE, and are no regression."""
    one, two = worse_in(tmp_path, "clean")
    better = compare_runs(two, one)
    assert [c.first.name for c in better.worse] == ["relative mCE"]
    assert better.regressions == ()
    assert better.verdict == "no significant regression in mCE and clean error"
    worse = compare_runs(one, two)
    assert [c.first.name for c in worse.regressions] == ["clean error"]
    assert worse.verdict == "a regression in clean error, none in mCE"
    assert compare_runs(*worse_in(tmp_path / "more", "corrupted")).verdict == (
        "a regression in mCE, none in clean error"
    )


def test_what_decides_without_a_reference(tmp_path: Path) -> None:
    one, two = (s.on(s.run.ids) for s in worse_in(tmp_path, "corrupted"))
    plain = [score_run(s.run, reference=None, how=FEW) for s in (one, two)]
    assert compare_runs(*plain).verdict == "a regression in mean error, none in clean error"
    dirty = [
        score_run(write_run(tmp_path, errors(clean=None, rate=r), model=f"{r}"), how=FEW)
        for r in (0.3, 0.8)
    ]
    assert compare_runs(*dirty).verdict == "a regression in mCE"
    clean = [
        score_run(write_run(tmp_path, {CLEAN: np.arange(20) < n}, model=f"clean {n}"), how=FEW)
        for n in (2, 12)
    ]
    assert compare_runs(*clean).verdict == "a regression in clean error"


def test_what_decides_of_sequences(tmp_path: Path) -> None:
    cells = [Cell("tilt", 1), Cell("shot_noise", 1)]
    one, _ = write_sequences(tmp_path, cells, model="a")
    two, _ = write_sequences(tmp_path, cells, model="b", seed=1)
    compared = compare_runs(score_run(one, how=FEW), score_run(two, how=FEW))
    assert [c.first.name for c in compared.deciding] == ["mFR"]
    plain = compare_runs(*(score_run(run, reference=None, how=FEW) for run in (one, two)))
    assert [c.first.name for c in plain.deciding] == ["flip probability"]


def test_sequences(tmp_path: Path) -> None:
    cells = [Cell("tilt", 1), Cell("shot_noise", 1)]
    one, _ = write_sequences(tmp_path, cells, model="a")
    two, _ = write_sequences(tmp_path, cells, model="b", seed=1)
    compared = compare_runs(score_run(one, how=FEW), score_run(two, how=FEW))
    names = [c.first.name for c in compared.singles]
    assert names == ["FR shot_noise", "FR tilt", "T5D shot_noise", "T5D tilt"]
    assert compared.clean is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"suite": "tiny_imagenet_c"}, r"different suites \(imagenet_c and tiny_imagenet_c\)"),
        ({"seed": 1}, r"different ways of making the images \(.* and .*seed 1\)"),
        ({"ids": range(1, 21)}, "different image sets"),
        ({"labels": np.zeros(20, int)}, "different image sets"),
        ({"wrong": errors(names=["fog"])}, "different corruptions .only the first has gaussian"),
        ({"wrong": errors(severities=(1, 2))}, r"different severities \(1, 2, 3, 4, 5 and 1, 2\)"),
        ({"wrong": errors(images=19), "ids": range(5, 24)}, r"numbers of images \(20 and 19\)"),
    ],
)
def test_runs_made_differently_are_refused(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    one = score_run(write_run(tmp_path, errors(), model="a"), how=FEW)
    run = write_run(tmp_path, settings.pop("wrong", errors()), model="b", **settings)
    with pytest.raises(InputError, match=message):
        compare_runs(one, score_run(run, how=FEW))


def test_models_without_a_common_headline_are_refused(tmp_path: Path) -> None:
    one = score_run(write_run(tmp_path, errors(clean=None), model="a"), how=FEW)
    two, _ = write_sequences(tmp_path, [Cell("tilt", 1)], model="b")
    with pytest.raises(InputError, match=r"different metrics \(mCE and mFR\); different suites"):
        compare_runs(one, score_run(two, how=FEW))


def test_mcnemars_test_takes_classes_together(tmp_path: Path) -> None:
    """The intervals beside it do not, so the two may disagree."""
    how: dict[str, Any] = {"suite": "cifar10_c", "only": ["contrast"], "severities": [1]}
    how |= {"images": write_rows(tmp_path, 200), "store": tmp_path / "runs"}
    runs = hardy.evaluate(["fake:10", "fake:10:1"], **how)
    (table,) = hardy.compare(*(run.score() for run in runs)).tables()
    assert table.notes[-1].endswith(", of all classes together; the table's is within classes")
