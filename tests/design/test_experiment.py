"""The overlap experiment on small images: killed, resumed, read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy.design.experiment import sized
from hardy.design.proxy import read_features
from hardy.design.results import summarise, write_overlap
from hardy.errors import InputError
from hardy.scores import score_run
from hardy.store.reader import find_runs
from hardy.suites import load
from hardy.suites.cells import NONE, Cell
from hardy.train.hyperparameters import ADDED
from tests.design.design_runs import NAMES, run_it
from tests.photos import random_images
from tests.records import read_unsealed
from tests.train.small import narrow

__all__ = ["narrow"]


def test_predictions_are_kept_and_weights_are_not(finished) -> None:
    assert len(find_runs(finished / "predictions")) == 5
    assert list(finished.rglob("*.safetensors")) == []
    for name in (NONE, *NAMES):
        assert (finished / "models" / name / "log.csv").exists()


def test_the_matrix_is_what_the_predictions_say(finished) -> None:
    results = summarise(finished)
    assert results.accuracy is not None
    assert results.names == NAMES
    runs = {one.model: one for one in find_runs(finished / "predictions")}
    for row, name in enumerate((NONE, *NAMES)):
        clean = runs[name].read([Cell("clean", 0)], ["rank"])["rank"]
        assert results.accuracy.values[row, 0] == pytest.approx((clean == 0).mean())
        cells = [Cell("contrast", level) for level in (1, 2, 3, 4, 5)]
        ranks = runs[name].read(cells, ["rank"])["rank"]
        assert results.accuracy.values[row, 3] == pytest.approx((ranks == 0).mean())
    assert results.images == 30
    assert results.resampling == "1,000 bootstrap replicates over images, seed 0"


def test_models_differ_by_their_corruption_alone(finished) -> None:
    runs = [json.loads((finished / "models" / n / "run.json").read_text()) for n in (NONE, *NAMES)]
    for one in runs:
        assert one["recipe"] == runs[0]["recipe"]
    assert [one["seen_corruptions"] for one in runs] == [[], *([name] for name in NAMES)]


def test_features_are_of_the_clean_model(finished) -> None:
    features = read_features(finished / "features.npz", NAMES)
    assert features.names == NAMES
    assert features.shifts.shape == (4, 3, 64)
    assert features.sizes.tolist() == [10, 10, 10]
    # Σ over images of ‖δ‖² is at least what the class means have of it.
    of_means = (features.shifts**2).sum(axis=2) @ features.sizes
    assert (np.diagonal(features.products) >= of_means * (1 - 1e-6)).all()


def test_what_is_written(finished) -> None:
    written = {path.name for path in write_overlap(summarise(finished), finished)}
    assert {"accuracy.csv", "overlap_ratio.csv", "overlap_raw.csv", "overlap_pairs.csv"} < written
    lines = (finished / "overlap_pairs.csv").read_text().splitlines()
    assert lines[0].startswith("first,second,ratio,ratio_low,ratio_high,raw,")
    assert len(lines) == 7
    content = json.loads((finished / "overlap.json").read_text())
    assert content["experiment"]["suite"] == "cifar10_c_at_16"
    assert content["experiment"]["recipe"]["net"] == "narrow"
    assert len(content["pairs"]) == 6
    assert np.array(content["accuracy"]).shape == (5, 5)


def test_predictions_can_be_scored(finished) -> None:
    """A copy of the suite, which was fitted to the images, scores them."""
    for one in find_runs(finished / "predictions"):
        assert one.suite == "cifar10_c_at_16"
        assert score_run(one)["mean error"].circumstances.names == NAMES


def test_the_computing_needs_no_libraries_for_commands_and_pictures() -> None:
    """A machine with a GPU may have none."""
    absent = ("typer", "rich", "plotly", "matplotlib", "jinja2")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent}))\n"
        "import hardy.design.experiment, hardy.design.results"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_a_suite_is_fitted_to_the_images() -> None:
    cifar, large = load("cifar10_c"), load("imagenet_c")
    assert sized(cifar, (32, 32)) is cifar
    made = sized(large, (32, 32))
    assert (made.name, made.recipe, made.storage) == ("imagenet_c_at_32", "none@1", None)
    assert made.edition.side == 32
    assert made.edition.params("fog", 3) == large.edition.params("fog", 3)
    assert made.reference == large.reference
    with pytest.raises(
        InputError, match="expected square training images, got width 16, height 32"
    ):
        sized(cifar, (32, 16))


def test_a_suite_for_squares_that_were_cut() -> None:
    large = load("noc_23")
    assert sized(large, (224, 224), cut=True) is large
    assert sized(large, (224, 224)).recipe == "none@1"
    assert sized(large, (64, 64), cut=True).name == "noc_23_at_64"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Twelve photographs of three classes, no two of one size, to train on and to test on."""
    for number in range(24):
        folder = tmp_path / "photos" / ("train", "val")[number // 12] / "abc"[number % 3]
        folder.mkdir(parents=True, exist_ok=True)
        pixels = random_images(1, 30 + number, 70 - number)[0] // 3 + 80 * (number % 3)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number:02}.png")
    return tmp_path / "photos"


def test_photographs_as_published(photos, tmp_path, narrow, run) -> None:
    """Read while nets train, cut at random; the suite is the training's own, fitted to the side."""
    out = tmp_path / "out"
    words = ("overlap", "--as", "noc-overlap", "--data", str(photos / "train"), "--out", str(out))
    small = ("--net", "narrow", "--epochs", "2", "--batch", "6", "--side", "16", "--device", "cpu")
    small = (*small, "--only", "noc_border,noc_hue", "--images", str(photos / "val"))
    code, _, err = run(*words, *small)
    assert code == 0, err
    experiment = json.loads((out / "experiment.json").read_text())
    assert experiment["suite"] == "noc_23_at_16"
    changed = ["net", "epochs", "batch", "side"]
    assert experiment["like"] == {"name": "noc-overlap", "said_otherwise": changed}
    assert experiment["streamed"]["crop"]["side"] == 16
    assert experiment["recipe"]["drops"] == [1.0, 1.5]
    assert "photos/val, the centre 16 x 16, noc_23_at_16 on" in experiment["test"]
    assert [one.form for one in summarise(out).overlaps] == ["ratio", "raw"]
    models = [json.loads((path / "run.json").read_text()) for path in (out / "models").iterdir()]
    assert {one["method"]["corruption"] for one in models} == {"none", "noc_border", "noc_hue"}
    assert all(one["data"]["streamed"]["crop"]["side"] == 16 for one in models)
    assert run(*words, *small)[0] == 0  # finished before


def test_a_record_from_before_later_options_is_the_same_experiment(finished, tmp_path, narrow):
    copy = tmp_path / "older"
    shutil.copytree(finished, copy / "out")
    path = copy / "out/experiment.json"
    record = read_unsealed(path)
    for name in ADDED:
        del record["recipe"][name]
    path.write_text(json.dumps(record))
    said: list[str] = []
    run_it(copy, said.append)
    assert not [line for line in said if line.startswith("model")]
