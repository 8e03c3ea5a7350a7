"""The overlap experiment: other work, damaged records and bad requests are refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hardy.design.accuracy import collect
from hardy.design.experiment import run_overlap
from hardy.design.results import summarise
from hardy.errors import HardyError, InputError
from hardy.store.reader import StoredRun, find_runs
from hardy.suites.cells import NONE, Cell
from tests.design.design_runs import NAMES, RECIPE, Killed, run_it
from tests.records import read_unsealed
from tests.train.small import NARROW, narrow, write_arrays
from tests.train.test_class_names import write_folders

__all__ = ["narrow"]


def turned(run: StoredRun) -> StoredRun:
    """As if the images had been others, with the same ids and labels."""
    other = replace(run)
    contents = run._contents
    other.__dict__["_contents"] = contents._replace(pixels=contents.pixels[::-1])
    return other


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
