"""ImageNet-NOC: its CE is the relative one, and Hardy calls it so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardy.report.bars import bars
from hardy.report.figures import figures
from hardy.report.gathered import gather
from hardy.scores import score_run
from hardy.suites import load, published
from hardy.suites.cells import CLEAN, Cell
from tests.scores.helpers import FEW, errors, write_run

SUITE = load("imagenet_noc")
REFERENCE = {  # as the benchmark's table has them
    "shear": 0.657, "rain": 0.748, "hue": 0.684, "quantization": 0.592, "brightness": 0.577,
    "border": 0.670, "blur": 0.570, "vertical_artifacts": 0.758,
}  # fmt: skip


def noc_errors(seed: int = 0, **others) -> dict[Cell, np.ndarray]:
    return errors("imagenet_noc", 100, severities=(1,), seed=seed, **others)


def test_the_suite():
    assert SUITE.counted == tuple(f"noc_{name}" for name in REFERENCE)
    assert (SUITE.score, SUITE.recipe, SUITE.storage) == (
        "relative mCE",
        "resize256_crop224@1",
        None,
    )
    assert SUITE.reference is not None
    assert SUITE.reference.name == "AlexNet"
    assert SUITE.reference.clean_error == 0.435
    assert SUITE.reference.errors == pytest.approx(
        {f"noc_{name}": error for name, error in REFERENCE.items()}
    )


def test_all_23_have_a_reference():
    suite = load("noc_23")
    assert suite.reference is not None
    assert len(suite.counted) == 23
    assert set(suite.reference.errors) == set(suite.counted)
    for name in SUITE.counted:
        assert suite.reference.errors[name] == SUITE.reference.errors[name]
    rises = {name: error - 0.435 for name, error in suite.reference.errors.items()}
    assert min(rises, key=rises.__getitem__) == "noc_elastic"
    assert rises["noc_pixelate"] == pytest.approx(0.325)


def test_relative_scores_alone(tmp_path: Path):
    wrong = noc_errors()
    scores = score_run(write_run(tmp_path, wrong, suite="imagenet_noc"), how=FEW)
    clean = wrong[CLEAN].mean()
    rises = [
        100 * (wrong[Cell(f"noc_{name}", 1)].mean() - clean) / (error - 0.435)
        for name, error in REFERENCE.items()
    ]
    assert [one.name for one in scores.headline] == ["relative mCE", "mean error", "clean error"]
    assert scores["relative mCE"].value == pytest.approx(np.mean(rises))
    assert scores["relative CE noc_hue"].value == pytest.approx(rises[2])
    assert set(scores.singles()) == {"relative CE"}
    assert not {"mCE", "CE noc_hue", "mAUDE"} & set(scores)
    assert scores.notes == ()
    assert "severity 1" in str(scores["relative mCE"])


def test_against_a_measured_reference(tmp_path: Path):
    other = write_run(tmp_path, noc_errors(1, rate=0.9), suite="imagenet_noc", model="other")
    mine = write_run(tmp_path, noc_errors(2), suite="imagenet_noc")
    scores = score_run(mine, reference=other, how=FEW)
    assert next(iter(scores)) == "relative mCE"
    assert "mCE" not in scores
    plain = score_run(mine, reference=None, how=FEW)
    assert [one.name for one in plain.headline] == ["mean error", "clean error"]
    assert set(plain.singles()) == {"error"}


def test_without_clean_images_there_is_no_ratio(tmp_path: Path):
    scores = score_run(write_run(tmp_path, noc_errors(clean=None), suite="imagenet_noc"), how=FEW)
    assert [one.name for one in scores.headline] == ["mean error"]
    assert scores.notes == ("no clean images: no clean error, relative mCE or mAUDE",)


def test_what_was_published():
    (found,) = published.find("relative mCE", "imagenet_noc")
    assert (found.row, found.value.value) == ("ResNet-50", 81)
    assert "seven of the script" in found.notes[0]
    assert not published.find("mCE", "imagenet_noc")


def test_the_figures_of_a_suite_without_severities(tmp_path: Path):
    for seed, model in enumerate(("mine", "other")):
        write_run(tmp_path, noc_errors(seed), suite="imagenet_noc", model=model)
    (section,) = gather(tmp_path).sections
    (bar,) = bars(section)
    assert bar.score == "relative CE"
    assert bar.x_title == "Relative corruption error, AlexNet = 100"
    assert " " not in bar.name
    made = {figure.kind for figure in figures(section)}
    titles = " ".join(figure.title for figure in figures(section))
    assert "bars" in made
    assert "everity" not in titles
