"""Scores of parts of an image set: said so, and resampled as they were chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.metrics import Resampling
from hardy.scores import score_run
from hardy.suites.cells import CLEAN, Cell
from tests.scores.helpers import FEW, errors, write_run


def test_chosen_images(tmp_path: Path) -> None:
    wrong = errors()
    run = write_run(tmp_path, wrong)
    scores = score_run(run, how=FEW, images=[3, 1, 2, 3])
    assert scores["clean error"].value == pytest.approx(100 * wrong[CLEAN][1:4].mean())
    assert scores["mCE"].circumstances.images == 3
    assert scores == score_run(run, how=FEW, images=[1, 2, 3])
    with pytest.raises(InputError, match=r"images that mine was run on, got others: 77; run"):
        score_run(run, images=[1, 77])


def test_a_subset_says_so(tmp_path: Path) -> None:
    part = {"of": 50_000, "size": 20, "per_class": None}
    scores = score_run(write_run(tmp_path, errors(), subset=part), how=FEW)
    assert "× 5, 20 of 50,000 images, imagenet_c" in str(scores)


def test_the_same_images_are_resampled_alike_however_they_were_chosen(tmp_path: Path) -> None:
    """Equal numbers of every class do not come by chance, so the mix does not vary."""
    part = {"of": 50_000, "size": 200, "per_class": None}
    wrong = errors(images=200)
    chosen = score_run(write_run(tmp_path / "part", wrong, subset=part), how=FEW)
    whole = score_run(write_run(tmp_path / "whole", wrong), how=FEW)
    assert whole["mCE"].circumstances.total is None
    assert whole["mCE"].resampling.endswith("within classes")
    assert whole == chosen
    np.testing.assert_array_equal(whole["mCE"].replicates, chosen["mCE"].replicates)
    strata = Resampling(100, strata=np.arange(200) % 10)
    assert score_run(write_run(tmp_path / "whole", wrong), how=strata) == whole


@pytest.mark.parametrize(
    ("labels", "within"),
    [
        (np.arange(103) % 3, True),  # 34 or 35 of each
        (np.arange(102) % 3, False),  # too few to tell their spread
        (np.arange(200) % 100, True),
        (np.arange(210) % 109, False),  # 1 or 2: one alone does not vary
        (np.minimum(np.arange(62), 40) % 2, False),
        (np.zeros(60, int), False),
    ],
)
def test_only_equal_numbers_of_each_class_are_fixed(
    tmp_path: Path, labels: np.ndarray, within: bool
) -> None:
    scores = score_run(write_run(tmp_path, errors(images=len(labels)), labels=labels), how=FEW)
    assert scores["mCE"].resampling.endswith("within classes") == within


def test_few_images_that_agree_within_their_classes(tmp_path: Path) -> None:
    """Two of each class, both right or both wrong: by chance, and no reason for an interval of no
    width."""
    wrong = np.arange(20) % 10 < 3
    scores = score_run(write_run(tmp_path, {CLEAN: wrong, Cell("fog", 1): wrong}), how=FEW)
    low, high = scores["mean error"].interval
    assert low < 20
    assert high > 40


def test_a_subset_that_was_extended_to_all_images_is_none(tmp_path: Path) -> None:
    wrong = errors()
    part = {cell: flags[:10] for cell, flags in wrong.items()}
    write_run(tmp_path, part, subset={"of": 20, "size": 10, "per_class": None})
    for subset in (None, {"of": 20, "size": 5, "per_class": None}):
        scores = score_run(write_run(tmp_path, wrong, subset=subset), how=FEW)
        assert scores["mCE"].circumstances.total is None
        assert scores["mCE"].circumstances.images == 20


def test_a_subset_is_still_one_after_all_images_were_begun(tmp_path: Path) -> None:
    """The second session had no --subset, and was stopped before its first prediction."""
    part = {cell: flags[:10] for cell, flags in errors().items()}
    write_run(tmp_path, part, subset={"of": 20, "size": 10, "per_class": None})
    nothing = {cell: np.full(20, -1) for cell in part}
    scores = score_run(write_run(tmp_path, nothing), how=FEW)
    assert "10 of 20 images, imagenet_c" in str(scores)
    assert scores.notes == ("10 of 20 images are complete; the same `hardy eval` resumes",)
