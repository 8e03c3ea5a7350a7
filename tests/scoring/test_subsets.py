"""Scores of parts of an image set: said so, and resampled as they were chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.metrics import Resampling
from hardy.scoring import score
from hardy.suites.cells import CLEAN
from tests.scoring.helpers import FEW, errors, write_run


def test_chosen_images(tmp_path: Path) -> None:
    wrong = errors()
    run = write_run(tmp_path, wrong)
    scores = score(run, how=FEW, images=[3, 1, 2, 3])
    assert scores["clean error"].value == pytest.approx(100 * wrong[CLEAN][1:4].mean())
    assert scores["mCE"].circumstances.images == 3
    assert scores == score(run, how=FEW, images=[1, 2, 3])
    with pytest.raises(InputError, match=r"images that mine was run on, got 1 others, such as 77"):
        score(run, images=[1, 77])


def test_a_subset_says_so(tmp_path: Path) -> None:
    part = {"of": 50_000, "size": 20, "per_class": None}
    scores = score(write_run(tmp_path, errors(), subset=part), how=FEW)
    assert "× 5, 20 of 50,000 images, imagenet_c" in str(scores)


def test_the_same_images_are_resampled_alike_however_they_were_chosen(tmp_path: Path) -> None:
    """Equal numbers of every class do not come by chance, so the mix does not vary."""
    part = {"of": 50_000, "size": 20, "per_class": None}
    chosen = score(write_run(tmp_path / "part", errors(), subset=part), how=FEW)
    whole = score(write_run(tmp_path / "whole", errors()), how=FEW)
    assert whole["mCE"].circumstances.total is None
    assert whole["mCE"].resampling.endswith("within classes")
    assert whole == chosen
    np.testing.assert_array_equal(whole["mCE"].replicates, chosen["mCE"].replicates)
    strata = Resampling(100, strata=np.arange(20) % 10)
    assert score(write_run(tmp_path / "whole", errors()), how=strata) == whole


@pytest.mark.parametrize(
    ("labels", "within"),
    [
        (np.arange(20) % 9, True),  # two or three of each
        (np.arange(20) % 11, False),  # one or two: hardly classes
        (np.minimum(np.arange(20), 5) % 5, False),
        (np.zeros(20, int), False),
    ],
)
def test_only_equal_numbers_of_each_class_are_fixed(
    tmp_path: Path, labels: np.ndarray, within: bool
) -> None:
    scores = score(write_run(tmp_path, errors(), labels=labels), how=FEW)
    assert scores["mCE"].resampling.endswith("within classes") == within


def test_a_subset_that_was_extended_to_all_images_is_none(tmp_path: Path) -> None:
    wrong = errors()
    part = {cell: flags[:10] for cell, flags in wrong.items()}
    write_run(tmp_path, part, subset={"of": 20, "size": 10, "per_class": None})
    for subset in (None, {"of": 20, "size": 5, "per_class": None}):
        scores = score(write_run(tmp_path, wrong, subset=subset), how=FEW)
        assert scores["mCE"].circumstances.total is None
        assert scores["mCE"].circumstances.images == 20


def test_a_subset_is_still_one_after_all_images_were_begun(tmp_path: Path) -> None:
    """The second session had no --subset, and was stopped before its first prediction."""
    part = {cell: flags[:10] for cell, flags in errors().items()}
    write_run(tmp_path, part, subset={"of": 20, "size": 10, "per_class": None})
    nothing = {cell: np.full(20, -1) for cell in part}
    scores = score(write_run(tmp_path, nothing), how=FEW)
    assert "10 of 20 images, imagenet_c" in str(scores)
    assert scores.notes == ("10 of 20 images are complete; the same `hardy eval` resumes",)
