"""Two models on the same images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.scoring import compare, score
from hardy.suites.cells import CLEAN, Cell
from tests.scoring.helpers import FEW, errors, write_run, write_sequences


def test_differences_are_paired(tmp_path: Path) -> None:
    wrong = errors(clean=0.3)
    worse = {cell: flags | (np.arange(20) < 6) for cell, flags in wrong.items()}
    one = score(write_run(tmp_path, wrong, model="a"), how=FEW)
    two = score(write_run(tmp_path, worse, model="b"), how=FEW)
    compared = compare(one, two)
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
    back = compare(two, one)
    assert str(back).startswith("a is significantly better in mCE, ")


def test_equal_models(tmp_path: Path) -> None:
    run = write_run(tmp_path, errors(), model="a")
    compared = compare(run, run)
    assert all(c.difference == 0 and not c.significant for c in compared.headline)
    assert str(compared) == "a and a do not differ significantly"


def test_what_just_one_was_run_on_is_left_out(tmp_path: Path) -> None:
    one = score(write_run(tmp_path, errors(), model="a"), how=FEW)
    more = errors() | errors(names=("spatter",), clean=None)
    two = score(write_run(tmp_path, more, model="b"), how=FEW)
    assert len(compare(two, one).singles) == len(compare(one, two).singles) == 15
    fewer = {c: np.where((c.name == "spatter") & (np.arange(20) > 8), -1, more[c]) for c in more}
    four = score(write_run(tmp_path, fewer, model="d"), how=FEW)
    assert len(compare(two, four).singles) == 15, "spatter of other images"
    assert len(compare(two, two).singles) == 16
    dirty = errors(clean=None)
    three = score(write_run(tmp_path, dirty, model="c"), how=FEW)
    compared = compare(one, three)
    assert [c.first.name for c in compared.headline] == ["mCE", "mean error"]
    assert compared.clean is None


def test_sequences(tmp_path: Path) -> None:
    cells = [Cell("tilt", 1), Cell("shot_noise", 1)]
    one, _ = write_sequences(tmp_path, cells, model="a")
    two, _ = write_sequences(tmp_path, cells, model="b", seed=1)
    compared = compare(score(one, how=FEW), score(two, how=FEW))
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
        ({"wrong": errors(images=19)}, r"different numbers of images \(20 and 19\)"),
        ({"subset": {"of": 90}}, r"different whole sets .*; different intervals \(.*within"),
    ],
)
def test_runs_made_differently_are_refused(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    one = score(write_run(tmp_path, errors(), model="a"), how=FEW)
    run = write_run(tmp_path, settings.pop("wrong", errors()), model="b", **settings)
    with pytest.raises(InputError, match=message):
        compare(one, score(run, how=FEW))


def test_models_without_a_common_headline_are_refused(tmp_path: Path) -> None:
    one = score(write_run(tmp_path, errors(clean=None), model="a"), how=FEW)
    two, _ = write_sequences(tmp_path, [Cell("tilt", 1)], model="b")
    with pytest.raises(InputError, match=r"different metrics \(mCE and mFR\); different suites"):
        compare(one, score(two, how=FEW))
