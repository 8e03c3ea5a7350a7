"""Stored runs of corruptions to scores: which images, which cells, which reference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.scores import score_run
from hardy.scores.score import Score
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell
from tests.scores.helpers import FEW, errors, write_nothing, write_run

SUITE = load("imagenet_c")


def mean_errors(wrong: dict[Cell, Any], rows: slice = slice(None)) -> dict[str, float]:
    """The mean over severities and images, by hand."""
    names = dict.fromkeys(cell.name for cell in wrong if cell != CLEAN)
    return {
        name: float(np.mean([wrong[cell][rows] for cell in wrong if cell.name == name]))
        for name in names
    }


def test_all_scores_of_a_whole_run(tmp_path: Path) -> None:
    wrong = errors(names=SUITE.corruptions)
    scores = score_run(write_run(tmp_path, wrong), how=FEW)
    means, clean = mean_errors(wrong), wrong[CLEAN].mean()
    assert SUITE.reference is not None
    yardstick = SUITE.reference.errors
    ce = [means[name] / yardstick[name] for name in SUITE.counted]
    rise = [(means[n] - clean) / (yardstick[n] - 0.435) for n in SUITE.counted]
    names = ["mCE", "relative mCE", "mean error", "validation mCE", "clean error"]
    assert [s.name for s in scores.headline] == names
    assert list(scores)[:5] == names
    assert scores["mCE"].value == pytest.approx(100 * np.mean(ce))
    assert scores["relative mCE"].value == pytest.approx(100 * np.mean(rise))
    assert scores["mean error"].value == pytest.approx(
        100 * np.mean([means[n] for n in SUITE.counted])
    )
    assert scores["clean error"].value == pytest.approx(100 * clean)
    assert scores["CE spatter"].value == pytest.approx(
        100 * means["spatter"] / yardstick["spatter"]
    )
    assert scores["validation mCE"].circumstances.names == SUITE.validation
    # A right answer has 0.7, a wrong one 0.2 for the label and 0.7 for another class.
    e = scores["mean error"].value / 100
    assert scores["NLL"].value == pytest.approx(-e * np.log(0.2) - (1 - e) * np.log(0.7))
    assert scores["Brier score"].value == pytest.approx(0.54 + 1 - 2 * (0.2 * e + 0.7 * (1 - e)))
    cells = [wrong[Cell(name, s)].mean() for name in SUITE.counted for s in range(1, 6)]
    assert scores["ECE"].value == pytest.approx(100 * np.mean(np.abs(0.3 - np.array(cells))))
    assert scores.notes == ()


def test_what_is_printed(tmp_path: Path) -> None:
    run = write_run(tmp_path, errors(), model="<b>mine</b>")
    scores = score_run(run, how=FEW)
    first, second = str(scores).splitlines()
    around = (
        "(AlexNet reference, 15 corruptions × 5, 20 images, imagenet_c v1, on the fly + jpeg:85)"
    )
    assert first == f"mCE {scores['mCE'].figure()} {around}"
    assert second.startswith("relative mCE ")
    assert second.endswith(f"clean error {scores['clean error'].figure()}")
    html = scores._repr_html_()
    assert "&lt;b&gt;mine&lt;/b&gt;" in html
    assert "<b>mine" not in html
    assert scores["mCE"].figure() in html
    assert scores.model == "<b>mine</b>"
    dicts = scores.as_dicts()
    assert [entry["name"] for entry in dicts] == list(scores)
    assert {entry["model"] for entry in dicts} == {"<b>mine</b>"}


def test_the_order_of_images_does_not_matter(tmp_path: Path) -> None:
    wrong, labels = errors(), np.arange(20) % 7
    ids = [f"image {i}" for i in range(20)]
    order = np.random.default_rng(1).permutation(20)
    one = write_run(tmp_path / "a", wrong, ids=ids, labels=labels)
    moved = {cell: flags[order] for cell, flags in wrong.items()}
    two = write_run(tmp_path / "b", moved, ids=[ids[i] for i in order], labels=labels[order])
    first, second = score_run(one, how=FEW), score_run(two, how=FEW)
    assert first == second
    np.testing.assert_array_equal(first["mCE"].replicates, second["mCE"].replicates)
    other = write_run(tmp_path / "c", wrong, ids=ids, labels=labels[::-1])
    hashes = {
        s["mCE"].circumstances.images_hash for s in (first, second, score_run(other, how=FEW))
    }
    assert len(hashes) == 2


def test_images_that_lack_cells_are_left_out(tmp_path: Path) -> None:
    wrong = {cell: flags.astype(int) for cell, flags in errors().items()}
    wrong[Cell("fog", 3)][15:] = -1
    scores = score_run(write_run(tmp_path, wrong), how=FEW)
    assert scores["mean error"].value == pytest.approx(
        100 * np.mean(list(mean_errors(wrong, slice(15)).values()))
    )
    assert scores["mCE"].circumstances.images == 15
    assert scores.notes == ("15 of 20 images are complete; the same `hardy eval` resumes",)
    assert str(scores).endswith("note: " + scores.notes[0])
    np.testing.assert_array_equal(scores.images, np.arange(15))


def test_unfinished_validation_costs_the_rest_nothing(tmp_path: Path) -> None:
    wrong = {c: flags.astype(int) for c, flags in errors(names=SUITE.corruptions).items()}
    wrong[Cell("spatter", 5)][4:] = -1
    scores = score_run(write_run(tmp_path, wrong), how=FEW)
    assert scores["mCE"].circumstances.images == 20
    assert scores["clean error"].circumstances.images == 20
    assert scores["validation mCE"].circumstances.images == 4
    assert scores["CE spatter"].circumstances.images == 4
    assert scores.notes == (
        "validation: 4 of 20 images are complete; the same `hardy eval` resumes",
    )


def test_nothing_is_complete(tmp_path: Path) -> None:
    wrong = {cell: flags.astype(int) for cell, flags in errors().items()}
    wrong[Cell("fog", 3)][:15] = -1
    wrong[Cell("snow", 1)][15:] = -1
    message = r"got none of 20 \(fog:3 has 5, snow:1 has 15, .*`hardy eval` resumes"
    with pytest.raises(InputError, match=message):
        score_run(write_run(tmp_path, wrong))


@pytest.mark.parametrize("suite", ["imagenet_c", "imagenet_p"])
def test_no_predictions_yet(tmp_path: Path, suite: str) -> None:
    run = write_nothing(tmp_path, "mine", suite)
    message = f"mine on {suite} holds no predictions yet; the same `hardy eval` makes them"
    with pytest.raises(InputError, match=message):
        score_run(run)


def test_predictions_on_nothing_of_the_suite(tmp_path: Path) -> None:
    message = "mine on cells of imagenet_c, got only others, such as 'zzz:1'; the same `hardy eval`"
    with pytest.raises(InputError, match=message):
        score_run(write_run(tmp_path, {Cell("zzz", 1): np.zeros(20, int)}))


def test_some_severities_have_no_reference(tmp_path: Path) -> None:
    scores = score_run(write_run(tmp_path, errors(severities=(1, 3))), how=FEW)
    assert [s.name for s in scores.headline] == ["mean error", "clean error"]
    assert scores["mean error"].circumstances.levels == (1, 3)
    assert scores.notes == (
        "severity 1, 3 only: no scores against AlexNet, whose errors are means over all five",
    )


def test_corruptions_with_fewer_severities_are_left_out(tmp_path: Path) -> None:
    wrong = errors(names=("fog", "frost", "snow"))
    del wrong[Cell("snow", 2)]
    scores = score_run(write_run(tmp_path, wrong), how=FEW)
    assert scores["mCE"].circumstances.names == ("frost", "fog")
    assert "error snow" not in scores
    assert scores.notes == ("snow was run at severities 1, 3, 4, 5 only, and is left out",)


def test_the_severities_of_the_most_corruptions(tmp_path: Path) -> None:
    wrong = errors(names=("fog", "frost"), severities=(2,))
    wrong |= errors(names=("snow",), severities=(3, 4))
    scores = score_run(write_run(tmp_path, wrong), how=FEW)
    assert scores["mean error"].circumstances.levels == (2,)
    assert "snow was run at severities 3, 4 only, and is left out" in scores.notes


def test_only_validation(tmp_path: Path) -> None:
    wrong = errors(names=SUITE.validation)
    scores = score_run(write_run(tmp_path, wrong), how=FEW)
    assert [s.name for s in scores.headline] == [
        "validation mCE",
        "validation error",
        "clean error",
    ]


def test_only_clean_images(tmp_path: Path) -> None:
    wrong = {CLEAN: np.arange(20) < 5}
    scores = score_run(write_run(tmp_path, wrong), how=FEW)
    assert [s.name for s in scores.headline] == ["clean error"]
    assert scores["clean error"].value == pytest.approx(25)
    assert "clean NLL" in scores


def test_without_clean_images(tmp_path: Path) -> None:
    wrong = errors(clean=None)
    scores = score_run(write_run(tmp_path, wrong, made="official files", seed=None), how=FEW)
    assert [s.name for s in scores.headline] == ["mCE", "mean error"]
    assert scores.notes == ("no clean images: no clean error, relative mCE or mAUDE",)
    assert str(scores).splitlines()[0].endswith("imagenet_c v1, official files)")


def test_a_suite_without_a_reference(tmp_path: Path) -> None:
    scores = score_run(write_run(tmp_path, errors("cifar10_c"), suite="cifar10_c"), how=FEW)
    assert [s.name for s in scores.headline] == ["mean error", "clean error"]
    assert list(scores.singles()) == ["error"]
    assert scores.notes == ()


def test_no_reference(tmp_path: Path) -> None:
    run = write_run(tmp_path, errors())
    assert "mCE" not in score_run(run, reference=None, how=FEW)
    with pytest.raises(InputError, match='stored run or None as a reference, got "AlexNet"'):
        score_run(run, reference="AlexNet")


def test_a_run_as_reference(tmp_path: Path) -> None:
    mine, theirs = errors(rate=0.7), errors(seed=1, rate=0.8)
    run = write_run(tmp_path, mine)
    other = write_run(tmp_path, theirs, model="theirs")
    scores = score_run(run, reference=other, how=FEW)
    a, b = mean_errors(mine), mean_errors(theirs)
    assert scores["mCE"].value == pytest.approx(100 * np.mean([a[n] / b[n] for n in a]))
    named = f"theirs@{other.identity.hash()[:8]}"
    assert scores["mCE"].circumstances.reference == named
    own = score_run(run, reference=run, how=FEW)
    assert {s.figure() for s in own.headline[:2]} == {"100.0"}, "whatever images there are"


def test_an_interval_contains_its_value(tmp_path: Path) -> None:
    """Rounding put the interval of CE snow, 100, above 100."""
    run = write_run(tmp_path, errors(images=36, rate=0.04, clean=0.02))
    scores = score_run(run, reference=run)
    assert not [one.name for one in scores.values() if not is_inside(one)]


def test_a_model_divided_by_itself_is_100_without_an_interval(tmp_path: Path) -> None:
    """Its relative CE varied by rounding alone, of which a law of chance was made: 0 / 0."""
    run = write_run(tmp_path, errors(images=36, rate=0.3, clean=0.0))
    scores = score_run(run, reference=run)
    found = [one for one in scores.values() if "CE" in one.metric.split()]
    assert {one.metric for one in found} == {"CE", "relative CE"}
    assert {one.figure() for one in found} == {"100.0"}
    assert all(one.interval == (one.value, one.value) for one in found)


def is_inside(score: Score) -> bool:
    return score.interval.low <= score.value <= score.interval.high


def test_a_reference_without_errors_has_no_ratios(tmp_path: Path) -> None:
    run = write_run(tmp_path, errors())
    theirs = errors(seed=1, rate=0.9)
    for severity in range(1, 6):
        theirs[Cell("fog", severity)][:] = False
        theirs[Cell("snow", severity)][1:] = False  # one image, which is not in every replicate
    other = write_run(tmp_path, theirs, model="theirs")
    scores = score_run(run, reference=other, how=FEW)
    assert [s.name for s in scores.headline] == ["mean error", "clean error"]
    assert "relative CE frost" in scores
    name = f"theirs@{other.identity.hash()[:8]}"
    assert scores.notes == (
        f"{name} makes too few errors under snow, fog to divide by: no CE there, and no mean",
        f"snow, fog costs {name} too little to divide by: no relative CE there, and no mean",
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"suite": "tiny_imagenet_c"}, "the suite imagenet_c of .* too, got tiny_imagenet_c"),
        ({"made": "official files"}, r"a way of making .* on the fly \+ jpeg:85 .* official files"),
        ({"seed": 3}, "the seed 0 of the reference theirs too, got 3"),
        ({"ids": range(5, 25)}, "on the same 20 images, got 15 of them"),
        ({"labels": np.zeros(20, int)}, "the same labels for the reference theirs"),
        ({"wrong": errors(names=["fog"])}, "same cells, got none of gaussian_noise:1, gaussian_no"),
        ({"wrong": {c: np.r_[-1, f[1:]] for c, f in errors().items()}}, "20 images, got 19 of"),
    ],
)
def test_a_reference_made_differently_is_refused(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    run = write_run(tmp_path, errors())
    other = write_run(tmp_path, settings.pop("wrong", errors()), model="theirs", **settings)
    with pytest.raises(InputError, match=message):
        score_run(run, reference=other)


def test_another_seed_shows(tmp_path: Path) -> None:
    scores = score_run(write_run(tmp_path, errors(), seed=3), how=FEW)
    assert "on the fly + jpeg:85, seed 3)" in str(scores)


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run on version 1 of imagenet_c, with other contents"):
        score_run(write_run(tmp_path, errors(), suite_hash="old"))
    with pytest.raises(InputError, match="expected labels for scores on imagenet_c"):
        score_run(write_run(tmp_path, errors(), model="blind", labels=np.full(20, -1)))


def test_of_five_classes_the_best_five_are_no_score(tmp_path: Path) -> None:
    many = write_run(tmp_path, errors())
    few = replace(many, details={**many.details, "width": 5})
    assert "mean top-5 error" in score_run(many, how=FEW)
    assert "mean top-5 error" not in score_run(few, how=FEW)
