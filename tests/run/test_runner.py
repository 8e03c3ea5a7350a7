"""The runner: every model sees every cell once, whatever was stored before."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from operator import length_hint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.images import RECIPES, open_images
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
    assert [len(task.rows) for task in tasks] == [1023, 1024, 352]  # as often as one asks
    have[:2048] = True
    assert [length_hint(list_tasks(subject, [some])) for some in (have, ~have | have)] == [1, 0]


def test_tasks_take_no_memory_until_they_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardy.run.subject.SMALL", 1)
    subject = open_subject(load("cifar10_c"), images=write_rows(tmp_path, 2400), only=["contrast"])
    tracemalloc.start()
    count = sum(1 for _ in list_tasks(subject, [np.zeros((2400, 6), np.bool_)]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 2400
    assert peak < 100 * count  # bytes; a list takes several times as many


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
