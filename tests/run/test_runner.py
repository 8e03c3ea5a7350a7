"""The runner: every model sees every cell once, whatever was stored before."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.images import RECIPES, open_images
from hardy.images.datasets import CLASSES
from hardy.images.numpy_files import source_of_array
from hardy.images.source import part_of
from hardy.models import load_model as load_model
from hardy.run.predicting import list_tasks
from hardy.run.selection import open_subject
from hardy.store.worst_images import read_worst
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell
from hardy.variants.generated import Generated
from tests.run.runs import FEW, Counting, one
from tests.store.stores import contents_hash
from tests.suites.helpers import write_photos, write_rows


def test_stored_predictions_are_those_of_the_public_functions(rows: Path, tmp_path: Path) -> None:
    run = one(evaluate("fake:10", images=rows, store=tmp_path / "runs", **FEW))
    images, labels = (np.load(rows)[name] for name in ("images", "labels"))
    assert CLEAN in run.stored.cells
    model = load_model("fake:10")
    for cell in (CLEAN, Cell("contrast", 5), Cell("brightness", 2)):
        shown = images if cell == CLEAN else hardy.corrupt(images, cell.name, cell.level)
        logits = model.logits(shown)
        got = run.stored.read([cell], ["rank", "top5"])
        order = np.argsort(-logits, axis=1, kind="stable")
        assert (got["top5"][:, 0] == order[:, :5]).all()
        assert (got["rank"][:, 0] == (order == labels[:, None]).argmax(axis=1)).all()


def test_each_image_is_read_once_and_each_cell_shown_once(rows: Path, tmp_path: Path) -> None:
    reads: list[int] = []
    source = open_images(rows, id_rule="row_index")

    class Watched:
        def __getattr__(self, name: str) -> Any:
            return getattr(source, name)

        def __len__(self) -> int:
            return len(source)

        def read(self, index: int, convert: Any = None) -> Any:
            reads.append(index)
            return source.read(index, convert)

    first, second = Counting("fake:10:1"), Counting("fake:10:2")
    runs = evaluate([first, second], images=Watched(), store=tmp_path / "runs", **FEW)
    assert isinstance(runs, list)
    assert (first.seen, second.seen) == (1 + 20 * 11, 1 + 20 * 11)  # the first is for rehearsal
    # One more of the first, to see that it is the image that was stored, and the size of all.
    assert sorted(set(reads)) == list(range(20))
    assert len(reads) <= 20 + 2 + 2 * 2 * 3
    assert reads.count(19) == 1


def test_resumes_and_extends(rows: Path, tmp_path: Path) -> None:
    def run(model: Counting, **what: Any) -> int:
        before = model.seen
        evaluate(model, images=rows, store=tmp_path / "runs", **{**FEW, **what})
        return model.seen - before

    model = Counting()
    # One image for rehearsal; where something is stored, two cells of it again: still the same?
    assert run(model, severities=[1, 3]) == 1 + 20 * 5
    assert run(model, severities=[1, 3]) == 1 + 40
    assert run(model) == 1 + 40 + 20 * 6
    assert run(model, only=["contrast", "pixelate"]) == 1 + 40 + 20 * 5
    other = Counting("fake:10:7")
    assert run(other) == 1 + 20 * 11


def test_more_images_extend_and_the_subset_is_nested(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 40)
    model = Counting()
    # Besides what is missing: one for rehearsal, those stored again, and from 30 images on, once,
    # all of them to check the model's preprocessing.
    expectations = ((10, 111), (30, 1 + 20 + 30 + 220), (30, 61), (None, 1 + 60 + 110), (10, 21))
    for size, expected in expectations:
        before = model.seen
        evaluate(model, images=rows, store=tmp_path / "runs", subset=size, **FEW)
        assert model.seen - before == expected
    whole = one(evaluate("fake:10", images=rows, store=tmp_path / "whole", **FEW))
    grown = one(evaluate("fake:10", images=rows, store=tmp_path / "runs", **FEW))
    assert contents_hash(whole.stored) == contents_hash(grown.stored)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_change_nothing(rows: Path, tmp_path: Path, workers: int) -> None:
    runs = [
        one(evaluate("fake:10", images=rows, store=tmp_path / str(n), workers=n, **FEW))
        for n in (1, workers)
    ]
    assert contents_hash(runs[0].stored) == contents_hash(runs[1].stored)


def test_the_seed_is_another_run(rows: Path, tmp_path: Path) -> None:
    runs = [
        one(evaluate("fake:10", images=rows, store=tmp_path, seed=seed, suite="cifar10_c",
                     only=["gaussian_noise"], severities=[5]))
        for seed in (0, 1)
    ]  # fmt: skip
    assert runs[0].folder != runs[1].folder
    assert contents_hash(runs[0].stored) != contents_hash(runs[1].stored)


def test_sequences(rows: Path, tmp_path: Path) -> None:
    run = one(
        evaluate(
            "fake:10", suite="cifar10_p", images=rows, store=tmp_path, only=["tilt", "shot_noise"]
        )
    )
    assert run.stored.cells == tuple(
        Cell(*c) for c in (("shot_noise", 1), ("shot_noise", 2), ("shot_noise", 3), ("tilt", 1))
    )
    got = run.stored.read([Cell("tilt", 1)], ["top5", "zipf"])
    image = np.load(rows)["images"][3]
    frames = hardy.perturb(image, "tilt", id=3, recipe="none@1").array()
    logits = load_model("fake:10").logits(frames)
    assert (got["top5"][3, 0, :, 0] == logits.argmax(axis=1)).all()
    assert got["zipf"].shape == (20, 1, len(frames), 4)
    assert "flip probability" in run.score()


def test_the_storage_step_is_that_of_the_suite(tmp_path: Path) -> None:
    write_photos(tmp_path / "photos", 4)
    for old, new in (("n00000000", "n01440764"), ("n00000001", "n01443537")):
        (tmp_path / "photos" / old).rename(tmp_path / "photos" / new)
    run = one(
        evaluate("fake:1000", suite="imagenet_c", images=tmp_path / "photos", store=tmp_path / "r",
                 only=["fog"], severities=[3])
    )  # fmt: skip
    path = next((tmp_path / "photos").rglob("photo_002.JPEG"))
    clean = RECIPES["resize256_crop224@1"].prepare(Image.open(path))
    foggy = hardy.corrupt(clean, "fog", 3, ids="photo_002")
    Image.fromarray(foggy).save(tmp_path / "foggy.jpg", quality=85)
    shown = np.asarray(Image.open(tmp_path / "foggy.jpg"))[None]
    expected = load_model("fake:1000").logits(shown).argmax()
    place = run.stored.ids.index("photo_002")
    assert run.stored.read([Cell("fog", 3)], ["top5"])["top5"][place, 0, 0] == expected
    assert run.stored.labels.tolist() == [0, 1, 0, 1]


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
    assert "2 images are left out: 2 that could not be read" in scores.notes
    assert not [note for note in scores.notes if "resumes" in note]
    # Mended, the same call adds it.
    Image.fromarray(np.full((32, 32, 3), 80, np.uint8)).save(folder / CLASSES[4] / "4.png")
    run = one(evaluate("fake:10", images=folder, store=tmp_path / "runs", **FEW))
    assert run.score()["mean error"].circumstances.images == 9


def test_names_that_are_no_text(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    for k in range(4):
        place = folder / f"c{k % 2}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(k).integers(0, 256, (64, 64, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(place / f"{k}.png")
    (folder / "c0" / "0.png").rename(folder / "c0" / "\udcff\udcfe.png")
    what: dict[str, Any] = {"suite": "imagenet64_c", "own_classes": True, "only": ["contrast"]}
    run = one(evaluate("fake:2", images=folder, store=tmp_path / "runs", subset=4, **what))
    assert "mean error" in run.score()


def test_arrays(rows: Path, tmp_path: Path) -> None:
    arrays = np.load(rows)
    images, labels = arrays["images"], arrays["labels"]
    run = one(evaluate("fake:10", images=images, labels=labels, store=tmp_path, **FEW))
    again = one(evaluate("fake:10", images=rows, store=tmp_path, **FEW))
    assert again.folder == run.folder
    for bad, message in ((images / 255, "float64"), (images[0], "uint8"), (7, "got int")):
        with pytest.raises(InputError, match=message):
            evaluate("fake:10", images=bad, labels=labels, store=tmp_path, **FEW)
    with pytest.raises(InputError, match="class numbers"):
        evaluate("fake:10", images=images, labels=labels / 2, store=tmp_path, **FEW)


def test_a_run_shows_itself_briefly(rows: Path, tmp_path: Path) -> None:
    run = one(evaluate("fake:10", images=rows, store=tmp_path, severities=3, **FEW))
    assert len(repr(run)) < 300
    assert run == run
    assert len({run, run}) == 1


def test_tasks_keep_their_blocks(tmp_path: Path) -> None:
    """Whatever is there already, rows are shown together only with those of their own block."""
    subject = open_subject(load("cifar10_c"), images=write_rows(tmp_path, 2400), only=["contrast"])
    have = np.zeros((2400, 6), np.bool_)
    have[1024:2048, :2] = True
    have[5] = True
    tasks = list_tasks(subject, [have])
    spans: Sequence[Any] = [
        (int(t.rows[0]), int(t.rows[-1]), len(t.rows), len(t.lacking)) for t in tasks
    ]
    assert spans == [(0, 1023, 1023, 6), (1024, 2047, 1024, 4), (2048, 2399, 352, 6)]


def test_worst_images_of_old_predictions_do_not_outlive_a_kill(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    def again(only: str) -> int:
        run = one(evaluate("fake:10", images=rows, store=tmp_path, suite="cifar10_c", only=[only]))
        return len(read_worst(run.folder))

    assert again("fog") == again("fog") == 3
    monkeypatch.setattr("hardy.run.runner.keep_worst", killed)
    with pytest.raises(KeyboardInterrupt):
        again("pixelate")
    monkeypatch.undo()
    assert not list(tmp_path.glob("*/worst.parquet"))  # all predictions are there
    assert again("pixelate") == 6


def test_worst_images_are_kept(rows: Path, tmp_path: Path) -> None:
    import io

    import pyarrow.parquet as pq

    run = one(evaluate("fake:10", images=rows, store=tmp_path, **FEW))
    kept = pq.read_table(run.folder / "worst.parquet").to_pylist()
    assert len(kept) == 6
    images = np.load(rows)["images"]
    for row in kept:
        assert row["predicted"] != row["label"]
        made = hardy.corrupt(images, row["corruption"], row["severity"])[int(row["image"])]
        assert (np.asarray(Image.open(io.BytesIO(row["corrupted"]))) == made).all()
        assert (np.asarray(Image.open(io.BytesIO(row["clean"]))) == images[int(row["image"])]).all()
    names = dict.fromkeys(row["corruption"] for row in kept)
    for name in names:
        cells = [cell for cell in run.stored.cells if cell.name == name]
        got = run.stored.read(cells, ["log_prob", "rank"])
        least = np.where(got["rank"] > 0, got["log_prob"], 0).min()
        assert next(row for row in kept if row["corruption"] == name)["log_prob"] == least
    # Another corruption adds its own; a part of the images changes nothing.
    evaluate("fake:10", images=rows, store=tmp_path, suite="cifar10_c", only=["pixelate"])
    assert len(pq.read_table(run.folder / "worst.parquet")) == 9
    evaluate("fake:10", images=rows, store=tmp_path, suite="cifar10_c", only=["fog"], subset=5)
    assert len(pq.read_table(run.folder / "worst.parquet")) == 9


def test_arrays_of_the_suites_size_are_taken_as_they_are(tmp_path: Path) -> None:
    """Others, sequences, and recipes that leave such a square alone, go as before."""
    photos = np.random.default_rng(0).integers(0, 256, (3, 224, 224, 3), np.uint8)
    what: dict[str, Any] = {"labels": [0, 1, 2], "store": tmp_path / "runs"}
    what |= {"suite": "imagenet_c", "only": ["contrast"], "severities": [1]}
    described: list[str] = []
    run = one(
        evaluate(
            "fake:1000", images=photos, announce=lambda e: described.extend(e.describe()), **what
        )
    )
    assert "taken as they are, imagenet_c on the fly" in described[0]
    assert run.stored.details["recipe"] == "as_is@1"
    assert run.score()["mean error"].circumstances.recipe == "as_is@1"
    top = load_model("fake:1000").logits(photos).argmax(axis=1)
    assert run.stored.read([CLEAN], ["top5"])["top5"][:, 0, 0].tolist() == top.tolist()
    wider = np.pad(photos, [(0, 0), (1, 1), (1, 1), (0, 0)])
    larger = one(evaluate("fake:1000", images=wider, **what))
    assert larger.stored.details["recipe"] == "resize256_crop224@1"
    assert larger.folder != run.folder, "enlarged arrays of 0.1.0 are not mixed with these"
    with pytest.raises(InputError, match="preprocessing recipe"):
        hardy.compare(run, larger)


@pytest.mark.parametrize(
    ("suite", "side", "recipe"),
    [
        ("imagenet_c_299", 299, "as_is@1"),
        ("imagenet64_c", 64, None),
        ("tiny_imagenet_c", 64, None),
        ("cifar10_c", 32, None),
        ("imagenet_p", 224, None),
    ],
)
def test_which_recipe_arrays_go_by(suite: str, side: int, recipe: str | None) -> None:
    images = source_of_array(np.zeros((2, side, side, 3), np.uint8), [0, 1])
    for source in (images, part_of(images, np.array([1]))):
        assert Generated(load(suite), source).recipe == (recipe or load(suite).recipe)
