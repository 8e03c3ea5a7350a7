"""What Hardy 0.1.0 wrote is read, scored, resumed and extended: see tests/fixtures/v0_1/make.py."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import hardy
from hardy.cli import app
from hardy.models import load_model
from hardy.scores.score import unseen_share
from hardy.store.attack_files import read_attacks
from hardy.store.reader import find_runs
from hardy.train.nets import make_net
from tests.attacks.coloured import ByColour
from tests.fixtures.v0_1.make import sources
from tests.train.small import narrow  # noqa: F401

BEFORE = Path(__file__).parent / "fixtures" / "v0_1"
EXPECTED = json.loads((BEFORE / "expected.json").read_text())
SOME = {"only": ["fog", "gaussian_noise"], "store": "runs", "images": "set.npz", "subset": 20}
BUILD = "build cifar10_c --images set.npz --out built --only"
TRAIN = "train gauss_single --data data/set.npz --net narrow --epochs 2 --batch 24 --lr 0.05"


def trained() -> hardy.evaluation.Run:
    with np.load("data/set.npz") as small:
        images, labels = small["images"][:20], small["labels"][:20]
    return hardy.evaluate(
        load_model("hardy:trained", device="cpu"),
        suite="cifar10_c",
        images=images,
        labels=labels,
        own_classes=True,
        only=["fog"],
        store="runs",
        defend="bn_adapt",
    )


# torch.randn(10, 3) of seed 0 where the store was written: its last bits hinge on the processor.
WEIGHTS = (
    (-1.12583983, -1.1523602, -0.250578582),
    (-0.433878809, 0.848710358, 0.692009151),
    (-0.31601277, -2.11521935, 0.322274923),
    (-1.26333475, 0.349983186, 0.30813393),
    (0.119841509, 1.2376579, -0.143473849),
    (-0.111609332, -0.613583088, 0.0315927416),
    (-0.492676973, 0.248414755, 0.439695835),
    (0.112411186, -0.841064811, -2.31604195),
    (-0.102309652, 0.792443991, -0.289667696),
    (0.0525074862, 0.522860467, 2.30220532),
)


def by_colour() -> ByColour:
    model = ByColour()
    model.load_state_dict({"head.weight": torch.tensor(WEIGHTS), "head.bias": torch.zeros(10)})
    return model


# An attack came after the score was written down, and showed that model the clean images only.
NOTES = {"function": "\nnote: 20 of 40 images are complete; the same `hardy eval` resumes"}
# What a session says by now where it could not check the clean accuracy.
OPEN = dict.fromkeys(
    ("plain", "defended", "trained"),
    "\nnote: preprocessing and class order not checked: that takes 30 clean images",
)
# The call asks for 20 images, of which nothing is open.
ASKED = {
    "function": "\nnote: this is what was asked for; the store has more, 11 cells and 40 images in "
    "all, see `hardy score`"
}


# The most that an image can have, of what is a mean over images.
MOST = {"error": 100, "AUDE": 100, "flip": 100, "FP": 100, "top-5 distance": 15, "uT5D": 15}
MOST |= {"Zipf": math.pi**2 / 3}


def widened(score: str, high: float, images: int) -> float:
    """The high end by now: a first error among few images no longer makes it lower."""
    most = next((most for name, most in MOST.items() if name in score), 0)
    return max(high, most * unseen_share(images))


def said_now(name: str) -> str:
    """What 0.1.0 said of a score, which did not tell classes of the images' own."""
    text: str = EXPECTED["runs"][name]["text"]
    main, (_, _, high) = next(iter(EXPECTED["runs"][name]["scores"].items()))
    now = widened(main, high, 6 if name == "sequences" else 20)
    text = text.replace(f"to {high:.1f}]", f"to {now:.1f}]")
    return text.replace("_c v1,", "_c v1 with own classes,") if name == "trained" else text


# The calls that made the runs.
CALLS: dict[str, Callable[[], hardy.evaluation.Run]] = {
    "plain": lambda: hardy.evaluate("fake:10", suite="cifar10_c", **SOME),
    "defended": lambda: hardy.evaluate("fake:10", suite="cifar10_c", **SOME, defend="clahe"),
    "function": lambda: hardy.evaluate(by_colour(), suite="cifar10_c", **SOME),
    "trained": trained,
    "sequences": lambda: hardy.evaluate(
        "fake:10", suite="cifar10_p", **SOME | {"only": ["tilt", "brightness"], "subset": 6}
    ),
}


def printed_where_they_were_written(norm: torch.nn.BatchNorm2d) -> str:
    facts = {"eps": norm.eps, "momentum": norm.momentum, "affine": norm.affine}
    facts |= {"bias": norm.bias is not None, "track_running_stats": norm.track_running_stats}
    return ", ".join([str(norm.num_features), *(f"{name}={fact}" for name, fact in facts.items())])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, narrow: None) -> Path:  # noqa: F811
    """A copy of it all, and the place to be."""
    shutil.copytree(BEFORE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    # What torch prints of a layer belongs to a run's identity, and versions print it differently.
    monkeypatch.setattr(torch.nn.BatchNorm2d, "extra_repr", printed_where_they_were_written)
    return tmp_path


def command(words: str) -> str:
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 0, done.output
    return done.output


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def predictions(store: Path) -> dict[str, bytes]:
    """The files that hold them: of these none may change, come or go."""
    return {name: data for name, data in contents(store).items() if "parts" in name}


def test_every_call_that_made_a_run_is_tried() -> None:
    assert set(CALLS) == set(EXPECTED["runs"])


@pytest.mark.parametrize("name", CALLS)
def test_a_run_is_read_and_scored_as_it_was(name: str, folder: Path) -> None:
    expected = EXPECTED["runs"][name]
    (run,) = hardy.runs(folder / "runs" / expected["folder"])
    score = run.score()
    assert str(score) == said_now(name) + NOTES.get(name, "")
    assert list(score) == list(expected["scores"])
    for key, one in score.items():
        value, low, high = expected["scores"][key]
        now = [value, low, widened(key, high, one.circumstances.images)]
        assert [one.value, *one.interval] == pytest.approx(now, rel=1e-9), key


# cifar10_p has a corrected formula since, and thereby a new version.
@pytest.mark.parametrize("name", [name for name in CALLS if name != "sequences"])
def test_the_same_call_computes_nothing_and_scores_the_same(name: str, folder: Path) -> None:
    expected, before = EXPECTED["runs"][name], predictions(folder / "runs")
    again = CALLS[name]()
    assert again.folder.name == expected["folder"]
    assert predictions(folder / "runs") == before
    assert str(again.score()) == said_now(name) + OPEN.get(name, "") + ASKED.get(name, "")


def test_a_new_version_of_a_suite_leaves_runs_of_before_alone(folder: Path) -> None:
    expected, before = EXPECTED["runs"]["sequences"], predictions(folder / "runs")
    again = CALLS["sequences"]()
    assert again.folder.name != expected["folder"]
    assert before.items() < predictions(folder / "runs").items()
    # Neither of its two perturbations is the one that was corrected.
    assert str(again.score()) == said_now("sequences").replace("cifar10_p v1", "cifar10_p v2")


@pytest.mark.parametrize(
    ("name", "defence", "setting"), [("defended", "clahe", None), ("trained", "bn_adapt", "16")]
)
def test_a_defence_was_a_sentence_and_is_data(
    name: str, defence: str, setting: str | None, folder: Path
) -> None:
    """Read as data at once, and written as such when the run is resumed."""
    (before,) = find_runs(folder / "runs" / EXPECTED["runs"][name]["folder"])
    assert before.details["defence"] == before.defence
    (read,) = before.defences
    assert (read.name, read.setting) == (defence, setting)
    CALLS[name]()
    (after,) = find_runs(before.folder)
    assert after.details["defence"] == [{"name": defence, "setting": setting, "words": read.words}]
    assert (after.defence, after.identity) == (before.defence, before.identity)


def test_a_store_is_listed_and_reported_whole(folder: Path) -> None:
    assert {run.folder.name for run in find_runs(folder / "runs")} == {
        one["folder"] for one in EXPECTED["runs"].values()
    }
    table = command("score runs")
    for name in ("fake:10+clahe", "ByColour", "hardy:trained+bn_adapt:16 (adapted)"):
        assert name in table
    command("report runs -o report.html")
    page = (folder / "report.html").read_text()
    assert "clahe" in page
    assert "bn_adapt:16" in page


def test_more_images_and_corruptions_extend_a_run_in_its_folder(folder: Path) -> None:
    expected, before = EXPECTED["runs"]["plain"], predictions(folder / "runs")
    more = {"only": ["fog", "gaussian_noise", "contrast"], "store": "runs", "images": "set.npz"}
    extended = hardy.evaluate("fake:10", suite="cifar10_c", **more)
    assert extended.folder.name == expected["folder"]
    after = predictions(folder / "runs")
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + 1
    assert "3 corruptions × 5, 40 images" in str(extended.score())
    fresh = hardy.evaluate("fake:10", suite="cifar10_c", **more | {"store": "fresh"})
    assert fresh.folder.name == extended.folder.name
    assert str(fresh.score()) == str(extended.score())


def test_an_attack_is_read(folder: Path) -> None:
    (run,) = find_runs(folder / "runs" / EXPECTED["runs"]["function"]["folder"])
    (attack,) = read_attacks(run)
    assert (attack.model, attack.noise, attack.steps, attack.digest) == (
        "ByColour",
        "ant",
        2,
        "7a58e4c2d4",
    )


def test_a_training_is_known_as_finished(folder: Path) -> None:
    before = contents(folder / "trained")
    assert "trained was finished before" in command(f"{TRAIN} --out trained --device cpu")
    after = contents(folder / "trained")
    assert after["model.safetensors"] == before["model.safetensors"]
    assert after["log.jsonl"] == before["log.jsonl"]


def test_a_built_folder_is_complete_extended_and_verified(folder: Path) -> None:
    before = contents(folder / "built")
    command(f"{BUILD} fog")
    assert contents(folder / "built") == before
    command(f"{BUILD} contrast")
    after = contents(folder / "built")
    assert "contrast.npy" in after
    assert after["fog.npy"] == before["fog.npy"]
    command("verify built")


@pytest.mark.parametrize("name", EXPECTED["nets"])
def test_the_source_of_a_net_is_part_of_identities_and_stays(name: str) -> None:
    assert sources(make_net(name, 10)) == EXPECTED["nets"][name]
