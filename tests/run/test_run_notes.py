"""What a run leaves out, doubts or never finished is said wherever its scores are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.images.datasets import CLASSES
from hardy.models import load_model as load_model
from tests.photos import photos
from tests.run.runs import FEW, one


def test_more_images_of_own_classes_leave_those_that_are_there_alone(tmp_path: Path) -> None:
    """Where a suite numbers its images, too: another file would number all later ones anew."""
    folder = tmp_path / "pets"
    for k, pixels in enumerate(photos(32)[:6]):
        place = folder / ("cat", "dog")[k % 2] / f"b{k // 2}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place)
    what: dict[str, Any] = {"images": folder, "store": tmp_path / "runs", **FEW}
    before = one(evaluate("fake:2", own_classes=True, **what))
    assert list(before.stored.ids)[:2] == ["cat/b0", "cat/b1"]
    Image.fromarray(photos(32)[6]).save(folder / "cat/a.png")
    after = one(evaluate("fake:2", own_classes=True, **what))
    assert after.folder == before.folder
    assert list(after.stored.ids)[:2] == ["cat/a", "cat/b0"]


def test_images_of_own_classes_may_have_one_name_in_each(tmp_path: Path) -> None:
    """Named by their stems, two of three would be dropped, and with them all classes but one."""
    for k, name in enumerate(("cats", "dogs", "newts")):
        for n in range(2):
            place = tmp_path / "images" / name / f"image_{n}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((64, 64, 3), 20 * k + n, np.uint8)).save(place)
    what: dict[str, Any] = {"suite": "imagenet_c", "only": ["contrast"], "severities": [1]}
    what |= {"images": tmp_path / "images", "store": tmp_path / "runs"}
    run = one(evaluate("fake:3", own_classes=True, **what))
    assert run.stored.ids[:2] == ["cats/image_0", "cats/image_1"]
    assert run.stored.labels.tolist() == [0, 0, 1, 1, 2, 2]
    with pytest.raises(InputError, match=r"same id .*4 images in all.*say `own_classes=True`"):
        evaluate("fake:1000", **what)


def test_what_a_listing_leaves_out_is_said_with_every_score(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    for k in range(6):
        Image.fromarray(np.full((32, 32, 3), 20 * k, np.uint8)).save(folder / f"{k}.png")
    (folder / "labels.csv").write_text("".join(f"{k}.png,{k}\n" for k in range(4)))
    run = one(evaluate("fake:10", images=folder, store=tmp_path / "runs", **FEW))
    note = "2 images are left out: 2 without a label"
    assert note in run.score().notes
    assert "4 of 6 images" in str(run.score())
    assert note in str(hardy.score(tmp_path / "runs"))
    assert note in str(hardy.compare(run, run).tables())
    assert note in json.loads(hardy.score(tmp_path / "runs").as_json())["notes"]
    page = hardy.report(tmp_path / "runs", tmp_path / "report.html")
    assert note in page.read_text()


def test_images_that_a_later_call_has_no_labels_for_are_not_counted_twice(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    for k in range(6):
        Image.fromarray(np.full((32, 32, 3), 20 * k, np.uint8)).save(folder / f"{k}.png")
    labels = [f"{k}.png,{k}\n" for k in range(6)]
    for number in (5, 6, 4):
        (folder / "labels.csv").write_text("".join(labels[:number]))
        score = one(evaluate("fake:10", images=folder, store=tmp_path / "runs", **FEW)).score()
        assert ("5 of 6 images" in str(score)) == (number == 5)
    assert "4 of 6 images" in str(score), "as were asked for"
    score = hardy.runs(tmp_path / "runs")[0].score()
    assert ", 6 images," in str(score)
    assert not any("left out" in note for note in score.notes)


def _numbered_folders(folder: Path, *names: str) -> Path:
    for k, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        Image.fromarray(np.full((32, 32, 3), 20 * k, np.uint8)).save(folder / name / f"{k}.png")
    return folder


def test_folders_called_by_numbers_in_the_order_of_text_are_doubted(tmp_path: Path) -> None:
    heard: list[str] = []
    what: dict[str, Any] = {"own_classes": True, "warn": heard.append, **FEW}
    images = _numbered_folders(tmp_path / "three", "1", "2", "10")
    runs = evaluate(["fake:3", "fake:3:1"], images=images, store=tmp_path / "runs", **what)
    (doubt,) = heard
    assert doubt.startswith("the classes 1, 10, 2 are in the order of text")
    assert "as 1, 2, 10, its scores mean nothing" in doubt
    assert isinstance(runs, list)
    assert all(doubt in run.score().notes for run in runs)
    images = _numbered_folders(tmp_path / "two", "1", "2")
    evaluate("fake:2", images=images, store=tmp_path / "runs", **what)
    assert heard == [doubt], "as text and as numbers these are in one order"


def test_a_model_of_more_classes_than_the_images_show(tmp_path: Path) -> None:
    images = _numbered_folders(tmp_path / "images", "cats", "dogs")
    what: dict[str, Any] = {"images": images, "store": tmp_path / "runs", **FEW}
    with pytest.raises(InputError, match=r"for 2 classes, got 5; if it tells .*`classes=5`.* map"):
        evaluate("fake:5", own_classes=True, **what)
    (tmp_path / "map.csv").write_text("cats,4\ndogs,0\n")
    what |= {"own_classes": True, "classes": 5, "labels": tmp_path / "map.csv"}
    assert one(evaluate("fake:5", **what)).stored.labels.tolist() == [4, 0]


def test_an_empty_class_folder_is_named(tmp_path: Path) -> None:
    images = _numbered_folders(tmp_path / "images", "cats", "dogs")
    (images / "emus").mkdir()
    what: dict[str, Any] = {"images": images, "store": tmp_path / "runs", **FEW}
    with pytest.raises(InputError, match=r"for 3 classes, got 2; no image is of the class emus"):
        evaluate("fake:2", own_classes=True, **what)
    run = one(evaluate("fake:3", own_classes=True, **what))
    assert "emus has no image files, and counts as a class all the same" in run.faults[0]


def test_a_run_that_was_stopped_says_so_with_every_score(rows: Path, tmp_path: Path) -> None:
    def stop(steps, *_):
        for done, step in enumerate(steps):
            if done == 5:
                raise KeyboardInterrupt
            yield step

    call: dict[str, Any] = {"images": rows, "store": tmp_path / "runs", "workers": 1, **FEW}
    with pytest.raises(KeyboardInterrupt):
        evaluate("fake:10", track=stop, **call)
    (run,) = hardy.runs(tmp_path / "runs")
    (note,) = [note for note in run.score().notes if note.startswith("unfinished: ")]
    assert re.fullmatch(r"unfinished: \d of 11 cells; the same `hardy eval` resumes", note)
    assert note in str(hardy.score(tmp_path / "runs"))
    assert f"A and B: {note}" in hardy.compare(run, run).tables()[0].notes
    assert note in hardy.report(tmp_path / "runs", tmp_path / "report.html").read_text()
    assert "unfinished" not in str(one(evaluate("fake:10", **call)).score())


def test_doubts_are_stored_and_said_wherever_scores_are(tmp_path: Path) -> None:
    """The accuracy on 4 images tells nothing; that a row has probabilities is seen at once."""

    def sure(images: Any) -> Any:
        odds = np.exp(np.asarray(load_model("fake:10").logits(images), np.float64))
        return odds / odds.sum(axis=1, keepdims=True)

    images = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), np.uint8)
    what: dict[str, Any] = {"images": images, "labels": range(4), "store": tmp_path / "runs"}
    heard: list[str] = []
    runs = evaluate([sure, "fake:10"], warn=heard.append, **what, **FEW)
    (warning,) = heard
    assert "sure: its outputs are probabilities, not logits" in warning
    note = warning[warning.index("its outputs") :]  # behind the model's name, where it is shown
    open_question = "preprocessing and class order not checked: that takes 30 clean images"
    assert isinstance(runs, list)
    doubted, plain = (run.score() for run in runs)
    assert doubted.notes == (note, open_question)
    assert plain.notes == (open_question,)
    assert warning in " ".join(str(hardy.score(tmp_path / "runs")).split())
    compared = hardy.compare(doubted, plain)
    assert f"A: {note}" in compared.tables()[0].notes
    expected = [f"A and B: {open_question}", f"A: {note}"]
    assert json.loads(compared.as_json())["notes"] == expected
    hardy.report(tmp_path / "runs", tmp_path / "results.json")
    board = hardy.leaderboard([tmp_path / "results.json"], tmp_path / "board")
    for page in (board, hardy.report(tmp_path / "runs", tmp_path / "report.html")):
        assert note in page.read_text()
    again = one(evaluate(sure, warn=heard.append, **what, **FEW))
    assert again.score().notes == doubted.notes, "each once, however often it was resumed"


def test_what_was_checked_is_not_said_to_be_open(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), np.uint8)
    labels = load_model("fake:10").logits(images).argmax(axis=1)
    what: dict[str, Any] = {"images": images, "labels": labels, "store": tmp_path / "runs"}
    assert one(evaluate("fake:10", **what, **FEW)).score().notes == ()


def test_unreadable_images_are_told_and_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    for k, name in enumerate(CLASSES):
        place = folder / name / f"{k}.png"
        place.parent.mkdir(parents=True)
        Image.fromarray(np.full((32, 32, 3), 20 * k, np.uint8)).save(place)
    (folder / CLASSES[4] / "4.png").write_bytes(b"not a picture")
    Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(folder / CLASSES[5] / "5.png")
    run = one(evaluate("fake:10", images=folder, store=tmp_path / "runs", **FEW))
    assert len(run.faults) == 2
    assert "4.png" in run.faults[0]
    assert "expected the size of the first image" in run.faults[1]
    scores = run.score()
    assert scores["mean error"].circumstances.images == 8
    assert "8 of 10 images" in str(scores)
    told = "2 images are left out: 2 that could not be read, or whose size is another"
    assert told in scores.notes
    assert not [note for note in scores.notes if "resumes" in note]
    # Mended, the same call adds it.
    Image.fromarray(np.full((32, 32, 3), 80, np.uint8)).save(folder / CLASSES[4] / "4.png")
    run = one(evaluate("fake:10", images=folder, store=tmp_path / "runs", **FEW))
    assert run.score()["mean error"].circumstances.images == 9


def test_an_image_of_another_size_does_not_keep_others_from_being_looked_at(tmp_path: Path) -> None:
    for k in range(40):
        place = tmp_path / "images" / CLASSES[k % 10] / f"{k}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        side = 40 if k == 39 else 32
        Image.fromarray(np.full((side, side, 3), 5 * k, np.uint8)).save(place)
    run = one(evaluate("fake:10", images=tmp_path / "images", store=tmp_path / "runs", **FEW))
    assert len(run.faults) == 1
    assert not [note for note in run.score().notes if "not checked" in note]
