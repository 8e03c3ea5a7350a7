"""Stored runs of sequences to scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.scores import score_run
from hardy.suites import load
from hardy.suites.cells import Cell
from tests.scores.helpers import FEW, write_sequences

SUITE = load("imagenet_p")
COUNTED = [Cell(name, 1) for name in SUITE.counted]
HARDER = [Cell(name, 2) for name in ("gaussian_noise", "shot_noise")]


def flips(scores: np.ndarray, *, noise: bool, step: int = 1) -> float:
    """The flip probability, by hand."""
    best = scores.argmax(axis=-1)
    pairs = [
        (0, later) if noise else (later - step, later)
        for later in range(1 if noise else step, best.shape[1])
    ]
    return float(np.mean([best[:, one] != best[:, two] for one, two in pairs]))


def test_headline(tmp_path: Path) -> None:
    run, walks = write_sequences(tmp_path, COUNTED)
    scores = score_run(run, how=FEW)
    assert [s.name for s in scores.headline] == ["mFR", "mT5D", "flip probability"]
    found = {c.name: flips(walks[c], noise="noise" in c.name) for c in COUNTED}
    assert SUITE.flips is not None
    rates = [found[name] / SUITE.flips.flips[name] for name in SUITE.counted]
    assert scores["mFR"].value == pytest.approx(100 * np.mean(rates))
    assert scores["flip probability"].value == pytest.approx(100 * np.mean(list(found.values())))
    assert scores["FP tilt"].value == pytest.approx(100 * found["tilt"])
    assert {"top-5 distance", "Zipf distance", "Zipf tilt", "T5D scale"} <= set(scores)
    assert not any("difficulty 2" in name for name in scores), "noise of level 2 was not run"
    assert list(scores.singles()) == ["FR", "T5D"]
    assert list(scores.singles()["FR"]) == list(SUITE.counted)
    assert str(scores).startswith("mFR ")
    assert "AlexNet reference, 10 perturbations, difficulty 1, 12 images" in str(scores)


def test_harder_ones_are_their_own_scores(tmp_path: Path) -> None:
    run, walks = write_sequences(tmp_path, [*COUNTED, *HARDER])
    scores = score_run(run, how=FEW)
    assert [s.name for s in scores.headline] == ["mFR", "mT5D", "flip probability"]
    found = [flips(walks[c], noise=True) for c in HARDER]
    found += [flips(walks[c], noise=False, step=2) for c in COUNTED if "noise" not in c.name]
    harder = scores["flip probability (difficulty 2)"]
    assert harder.value == pytest.approx(100 * np.mean(found))
    assert harder.name == "flip probability (difficulty 2)"
    assert harder.circumstances.levels == (2,)
    assert scores["FP shot_noise (difficulty 2)"].value == pytest.approx(100 * found[1])
    assert not any("difficulty 3" in name for name in scores)
    assert "mFR (difficulty 2)" not in scores, "AlexNet was measured at difficulty 1 only"
    assert list(scores.singles()["FR"]) == list(SUITE.counted)


def test_cells_are_read_in_several_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = write_sequences(tmp_path, [*COUNTED, *HARDER], lacking={Cell("tilt", 1): [3, 5]})
    whole = score_run(run, how=FEW)
    monkeypatch.setattr("hardy.scores.per_image.AT_ONCE", 3 * 12 * 6 * 40)
    assert score_run(run, how=FEW) == whole
    assert whole["FP snow"].circumstances.images == 10, "the images of all ten"
    assert whole.notes == ("10 of 12 images are complete; the same `hardy eval` resumes",)


def test_validation(tmp_path: Path) -> None:
    cells = [Cell(name, 1) for name in SUITE.validation]
    run, walks = write_sequences(tmp_path, cells)
    scores = score_run(run, how=FEW)
    assert [s.name for s in scores.headline] == [
        "validation mFR",
        "validation mT5D",
        "validation flip probability",
    ]
    expected = np.mean([flips(walks[c], noise="noise" in c.name) for c in cells])
    assert scores["validation flip probability"].value == pytest.approx(100 * expected)


def test_a_run_as_reference(tmp_path: Path) -> None:
    run, mine = write_sequences(tmp_path, COUNTED)
    other, theirs = write_sequences(tmp_path, COUNTED, model="theirs", seed=1)
    scores = score_run(run, reference=other, how=FEW)
    cell = Cell("tilt", 1)
    ratio = flips(mine[cell], noise=False) / flips(theirs[cell], noise=False)
    assert scores["FR tilt"].value == pytest.approx(100 * ratio)
    own = score_run(run, reference=run, how=FEW)
    assert {own[name].figure() for name in ("mFR", "mT5D", "FR tilt")} == {"100.0"}
    part, _ = write_sequences(tmp_path, COUNTED[1:], model="part")
    with pytest.raises(InputError, match="the same cells, got none of gaussian_noise:1"):
        score_run(run, reference=part)


def test_nothing_is_complete(tmp_path: Path) -> None:
    lacking = {COUNTED[0]: range(6), COUNTED[1]: range(6, 12)}
    run, _ = write_sequences(tmp_path, COUNTED, lacking=lacking)
    with pytest.raises(InputError, match=r"10 cells, got none of 12 \(gaussian_noise:1 has 6"):
        score_run(run)


def test_nothing_is_complete_of_what_the_headline_is_made_of(tmp_path: Path) -> None:
    """Difficulty 2, whose noise is stored by itself, is no substitute."""
    cells = [Cell("tilt", 1), Cell("shot_noise", 1), Cell("shot_noise", 2)]
    run, _ = write_sequences(tmp_path, cells, lacking={cells[0]: range(6), cells[1]: range(6, 12)})
    with pytest.raises(InputError, match=r"2 cells, got none of 12 \(shot_noise:1 has 6"):
        score_run(run)


def test_a_reference_that_never_flips(tmp_path: Path) -> None:
    run, _ = write_sequences(tmp_path, COUNTED[:2])
    still, _ = write_sequences(tmp_path, COUNTED[:2], model="still", frames=6, walk=0.0)
    scores = score_run(run, reference=still, how=FEW)
    assert [s.name for s in scores.headline] == ["flip probability"]
    names = ", ".join(cell.name for cell in COUNTED[:2])
    (note,) = scores.notes
    assert note.startswith("still@")
    assert note.endswith(f" flips too rarely under {names} to divide by: no FR there, and no mean")
