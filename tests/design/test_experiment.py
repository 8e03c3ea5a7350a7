"""The overlap experiment on small images: killed, resumed, read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy.design.accuracy import collect
from hardy.design.experiment import run_overlap, sized
from hardy.design.proxy import read_features
from hardy.design.results import summarise, write_overlap
from hardy.errors import HardyError, InputError
from hardy.scores import score_run
from hardy.store.reader import StoredRun, find_runs
from hardy.suites import load
from hardy.suites.cells import NONE, Cell
from hardy.train.hyperparameters import ADDED
from tests.photos import random_images
from tests.records import read_unsealed
from tests.train.small import NARROW, narrow, write_arrays
from tests.train.test_class_names import write_folders

__all__ = ["narrow"]

NAMES = ("gaussian_noise", "brightness", "contrast", "pixelate")
RECIPE = replace(NARROW, epochs=1)


class Killed(Exception):
    pass


def run_it(folder: Path, say=lambda line: None, **changes) -> Path:
    wanted = {"only": NAMES, "recipe": RECIPE, **changes}
    train, test = (write_arrays(folder / part, count) for part, count in (("a", 48), ("b", 30)))
    run_overlap(
        "cifar10_c",
        str(train),
        folder / "out",
        wanted["recipe"],
        images=str(test),
        only=wanted["only"],
        device="cpu",
        say=say,
        clean_only=wanted.get("clean_only", False),
    )
    return folder / "out"


def turned(run: StoredRun) -> StoredRun:
    """As if the images had been others, with the same ids and labels."""
    other = replace(run)
    contents = run._contents
    other.__dict__["_contents"] = contents._replace(pixels=contents.pixels[::-1])
    return other


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Killed as the third model was about to begin, after the proxy had been asked for alone."""
    patch = pytest.MonkeyPatch()
    from hardy.train import NETS
    from tests.train.small import make_narrow

    patch.setitem(NETS._objects, "narrow", make_narrow)
    folder = tmp_path_factory.mktemp("overlap")
    out = run_it(folder, clean_only=True)
    alone = summarise(out)
    assert alone.accuracy is None
    assert alone.overlaps == ()
    assert {kind: one.shape for kind, one in alone.similarities.items()} == dict.fromkeys(
        ("distance", "shift", "by_class", "by_image", "errors"), (4, 4)
    )
    given = alone.similarities["errors"]

    def kill(line: str) -> None:
        if line.startswith("model 3"):
            raise Killed

    with pytest.raises(Killed):
        run_it(folder, kill)
    with pytest.raises(InputError, match="but 3 are not finished, such as that of brightness"):
        summarise(out)
    said: list[str] = []
    run_it(folder, said.append)
    assert [line for line in said if line.startswith("model")] == [
        f"model {k} of 5: trained with {name}" for k, name in enumerate(NAMES[1:], 3)
    ]
    patch.undo()
    assert np.array_equal(summarise(out).similarities["errors"], given, equal_nan=True)
    return out


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


def test_another_experiment_is_refused(finished, narrow) -> None:
    with pytest.raises(InputError, match=r"holds another overlap: recipe\.epochs is 2 and was 1;"):
        run_it(finished.parent, recipe=NARROW)
    with pytest.raises(InputError, match="holds another overlap: cells is"):
        run_it(finished.parent, only=NAMES[:3])


def test_predictions_on_other_images_are_refused(finished) -> None:
    runs = {one.model: one for one in find_runs(finished / "predictions")}
    runs = {name: runs[name] for name in (NONE, *NAMES)}
    cells = [Cell(name, 1) for name in NAMES]
    recorded = json.loads((finished / "experiment.json").read_text())["test_hash"]
    assert collect(runs, cells, recorded).accuracy.names == NAMES
    mixed = {**runs, "contrast": turned(runs["contrast"])}
    with pytest.raises(InputError, match="same images, but contrast has other pixels than none"):
        collect(mixed, cells)
    every = {name: turned(one) for name, one in runs.items()}
    with pytest.raises(InputError, match="images that the overlap was begun with, got others"):
        collect(every, cells, recorded)


def test_predictions_can_be_scored(finished) -> None:
    """A copy of the suite, which was fitted to the images, scores them."""
    for one in find_runs(finished / "predictions"):
        assert one.suite == "cifar10_c_at_16"
        assert score_run(one)["mean error"].circumstances.names == NAMES


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("models/contrast/finished.json", "{}", "finished.json: predictions: expected text"),
        ("models/contrast/finished.json", '{"predictions": 3}', "predictions: expected text"),
        ("experiment.json", '{"format": 1}', "experiment.json: cells: expected a list"),
        ("experiment.json", '{"format": 1, "cells": ["x"]}', r"cells: expected .* got \['x'\]"),
    ],
)
def test_damaged_records(finished, tmp_path, file, content, message) -> None:
    out = shutil.copytree(finished, tmp_path / "out")
    (out / file).write_text(content)
    with pytest.raises(InputError, match=message):
        summarise(out)


ONE, OTHERS = "gaussian_noise:1", ["brightness:1", "contrast:1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recipe": {}}, "recipe: expected a table with net, a text, and epochs, a whole number"),
        ({"recipe": {"net": 1, "epochs": 1}}, "recipe: expected a table with net"),
        ({"more": float("nan")}, "experiment.json is damaged"),
        ({"more": [float("inf")]}, "experiment.json is damaged"),
        ({"cells": []}, "experiment.json: expected two or more corruptions"),
        ({"cells": [ONE]}, "experiment.json: expected two or more corruptions"),
        ({"cells": [ONE, "none:1"]}, 'experiment.json: expected .* none "none"'),
        ({"cells": [ONE, "fog:" + "1" * 5000]}, "cells: expected a list of corruptions"),
        ({"cells": [ONE, "f" * 5000 + ":1"]}, "cells: expected a list of corruptions"),
        ({"cells": [ONE, ONE, *OTHERS]}, "cells: expected a list of corruptions"),
        ({"cells": [ONE, *OTHERS]}, "of gaussian_noise, brightness, contrast, in this order"),
    ],
)
def test_edited_records(finished, tmp_path, change, message) -> None:
    out = shutil.copytree(finished, tmp_path / "out")
    record = read_unsealed(out / "experiment.json")
    (out / "experiment.json").write_text(json.dumps(record | change))
    with pytest.raises(InputError, match=message):
        summarise(out)


@pytest.mark.parametrize("file", ["experiment.json", "models/contrast/finished.json"])
@pytest.mark.parametrize("text", ["[" * 100_000, '{"more": 1e999}', '{"more": "\\ud800"}'])
def test_records_that_cannot_be_written_again(finished, tmp_path, file, text) -> None:
    out = shutil.copytree(finished, tmp_path / "out")
    (out / file).write_text(text)
    with pytest.raises(InputError, match=r"\.json(: expected JSON, but| is damaged \()"):
        summarise(out)


def test_folders_with_other_things(tmp_path, narrow) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").touch()
    with pytest.raises(InputError, match="holds other things than an overlap"):
        run_it(tmp_path)
    with pytest.raises(InputError, match="expected a folder that `hardy overlap` wrote"):
        summarise(tmp_path / "out")


def test_bad_requests(tmp_path, narrow) -> None:
    with pytest.raises(InputError, match='unknown corruption of cifar10_c_at_16 "fogg"'):
        run_it(tmp_path, only=["fogg"])
    with pytest.raises(InputError, match="expected two or more corruptions"):
        run_it(tmp_path, only=["fog"])
    train = str(write_arrays(tmp_path / "a"))
    with pytest.raises(InputError, match="expected images to test on beside the training images"):
        run_overlap("cifar10_c", train, tmp_path / "out", RECIPE, device="cpu")
    assert not (tmp_path / "out").exists()


def test_bad_requests_are_refused_before_training(tmp_path, narrow) -> None:
    def never(line: str) -> None:
        raise Killed

    def refused(suite: str, test: Path, message: str, train: Path | None = None) -> None:
        data = str(train or write_arrays(tmp_path / "a"))
        with pytest.raises(InputError, match=message):
            run_overlap(
                suite, data, tmp_path / "out", RECIPE, images=str(test), device="cpu", say=never
            )
        assert not (tmp_path / "out").exists()

    test = write_arrays(tmp_path / "b")
    refused("cifar10_p", test, "expected a suite of corruptions, got cifar10_p")
    more = tmp_path / "more.npz"
    np.savez(more, images=np.zeros((8, 16, 16, 3), np.uint8), labels=np.arange(8))
    refused("cifar10_c", more, "expected test images of the 3 classes .* trained on, got 8")
    trained = write_folders(tmp_path / "d", ("circle", "square", "stripe"))
    others = write_folders(tmp_path / "e", ("square", "stripe", "z_circle"))
    refused("cifar10_c", others, 'with "square" as number 1, which is 0 here', train=trained)
    tiny = write_arrays(tmp_path / "c", side=4)
    refused("cifar10_c", tiny, "at least 8 pixels per side, got 4", train=tiny)


def test_predictions_that_cannot_be_written(tmp_path, narrow, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hardy.design.experiment.Evaluation.run", full)
    with pytest.raises(HardyError, match=r"predictions could not be written .* goes on"):
        run_it(tmp_path, clean_only=True)


def test_arrays_under_a_suite_of_files(tmp_path, narrow) -> None:
    """Its ids are file names, which arrays have none of."""

    def kill(line: str) -> None:
        raise Killed

    train, test = (str(write_arrays(tmp_path / part)) for part in ("a", "b"))
    with pytest.raises(Killed):
        run_overlap(
            "imagenet_c", train, tmp_path / "out", RECIPE, images=test, device="cpu", say=kill
        )


def test_the_computing_needs_no_libraries_for_commands_and_pictures() -> None:
    """A machine with a GPU may have none."""
    absent = ("typer", "rich", "plotly", "matplotlib", "jinja2")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent}))\n"
        "import hardy.design.experiment, hardy.design.results"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_all_models_or_none(finished) -> None:
    runs = {one.model: one for one in find_runs(finished / "predictions")}
    cells = [Cell(name, 1) for name in NAMES]
    with pytest.raises(InputError, match="got none for contrast"):
        collect({name: one for name, one in runs.items() if name != "contrast"}, cells)
    with pytest.raises(InputError, match="got none of pixelate"):
        collect({name: runs[name] for name in (NONE, *NAMES)}, cells[:3])


def test_one_class_says_nothing(finished) -> None:
    runs = {one.model: one for one in find_runs(finished / "predictions")}
    runs = {name: replace(runs[name], labels=np.zeros(30, np.int32)) for name in (NONE, *NAMES)}
    with pytest.raises(InputError, match="two or more classes, got one"):
        collect(runs, [Cell(name, 1) for name in NAMES])


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
