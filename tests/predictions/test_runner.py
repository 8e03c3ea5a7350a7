"""The runner: every model sees every cell once, whatever was stored before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.evaluation import Run, evaluate
from hardy.images import RECIPES, open_images
from hardy.models import load as load_model
from hardy.predictions.opening import open_subject
from hardy.predictions.runner import list_tasks
from hardy.predictions.store import contents_hash
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell
from tests.suites.helpers import built, write_photos, write_rows

FEW: dict[str, Any] = {"suite": "cifar10_c", "only": ["contrast", "brightness"]}


class Counting:
    """A model that counts the images it is shown."""

    preprocessing = None
    known_accuracy = None
    device = "cpu"
    precision = "float32"

    def __init__(self, name: str = "fake:10") -> None:
        self._model = load_model(name)
        self.name, self.identity = self._model.name, self._model.identity
        self.seen = 0

    def logits(self, images, preprocessing=None):
        self.seen += len(images)
        return self._model.logits(images)


def one(found: Run | list[Run]) -> Run:
    assert isinstance(found, Run)
    return found


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_rows(tmp_path, 20)


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


def test_official_files_and_their_clean_images(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 20)
    built("cifar10_c", rows, tmp_path / "built", "contrast", "brightness")
    files: dict[str, Any] = {**FEW, "files": tmp_path / "built"}
    alone = one(evaluate("fake:10", store=tmp_path / "a", **files))
    assert CLEAN not in alone.stored.cells
    assert "clean error" not in alone.score()
    both = one(evaluate("fake:10", images=rows, store=tmp_path / "b", **files))
    fly = one(evaluate("fake:10", images=rows, store=tmp_path / "b", **FEW))
    cells, columns = list(fly.stored.cells), ["rank", "log_prob", "top5"]
    assert set(both.stored.cells) == set(cells)
    for name, values in fly.stored.read(cells, columns).items():
        assert (both.stored.read(cells, columns)[name] == values).all()
    assert both.folder != fly.folder
    with pytest.raises(InputError, match="different ways of making the images"):
        hardy.compare(both, fly)


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


def test_unreadable_images_are_told_and_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    for k in range(10):
        place = folder / f"class{k}" / f"{k}.png"
        place.parent.mkdir(parents=True)
        Image.fromarray(np.full((32, 32, 3), 20 * k, np.uint8)).save(place)
    (folder / "class4" / "4.png").write_bytes(b"not a picture")
    Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(folder / "class5" / "5.png")
    run = one(evaluate("fake:10", images=folder, store=tmp_path / "runs", **FEW))
    assert len(run.faults) == 2
    assert "4.png" in run.faults[0]
    assert "expected the size of the first image" in run.faults[1]
    scores = run.score()
    assert scores["mean error"].circumstances.images == 8
    # Mended, the same call adds it.
    Image.fromarray(np.full((32, 32, 3), 80, np.uint8)).save(folder / "class4" / "4.png")
    run = one(evaluate("fake:10", images=folder, store=tmp_path / "runs", **FEW))
    assert run.score()["mean error"].circumstances.images == 9


def test_other_pixels_under_the_same_ids_are_refused(rows: Path, tmp_path: Path) -> None:
    evaluate("fake:10", images=rows, store=tmp_path / "runs", **FEW)
    arrays = dict(np.load(rows))
    arrays["images"] = arrays["images"] + np.uint8(1)
    np.savez(rows, **arrays)
    with pytest.raises(InputError, match="other pixels"):
        evaluate("fake:10", images=rows, store=tmp_path / "runs", **FEW)


def test_nan_and_wrong_width_keep_what_was_there(rows: Path, tmp_path: Path) -> None:
    class Broken(Counting):
        def logits(self, images, preprocessing=None):
            logits = super().logits(images)
            if self.seen > 100:
                logits[3, 2] = np.nan
            return logits

    with pytest.raises(InputError, match=r"fake:10: expected finite logits.*1 of 20 images: 3"):
        evaluate(Broken(), images=rows, store=tmp_path / "runs", workers=1, **FEW)
    model = Counting()
    evaluate(model, images=rows, store=tmp_path / "runs", workers=1, **FEW)
    assert model.seen == 1 + 40 + 20 * 11 - 80
    with pytest.raises(InputError, match=r"fake:7: expected logits for 10 classes, got 7"):
        evaluate("fake:7", images=rows, store=tmp_path / "runs", **FEW)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"model": []}, "at least one model"),
        ({"model": ["fake:10", "fake:10"]}, "which are the same"),
        ({"model": ["fake:10", "fake:10:1"], "checkpoint": "x"}, "one model for the checkpoint"),
        ({"images": None}, "expected images to evaluate on"),
        ({"only": ["mist"]}, "mist"),
        ({"subset": 0}, "from 1 to 20 images"),
        ({"images_per_class": 3}, "from 1 to 2 images per class"),
        ({"subset": 5, "images_per_class": 1}, "either a size or"),
        ({"files": "nowhere"}, "nowhere"),
        ({"workers": 0}, "at least 1 worker"),
        ({"seed": -1}, "expected a seed from 0"),
    ],
)
def test_refusals(rows: Path, tmp_path: Path, what: dict[str, Any], message: str) -> None:
    words = {"model": "fake:10", "images": rows, **FEW, **what}
    with pytest.raises(InputError, match=message):
        evaluate(words.pop("model"), store=tmp_path / "runs", **words)


def test_a_model_cannot_change_what_others_see(rows: Path, tmp_path: Path) -> None:
    class Greedy(Counting):
        def logits(self, images, preprocessing=None):
            with pytest.raises(ValueError, match="read-only"):
                images[...] = 0
            return super().logits(images)

    greedy, honest = Greedy("fake:10:1"), Counting("fake:10:2")
    runs = evaluate([greedy, honest], images=rows, store=tmp_path / "a", **FEW)
    alone = one(evaluate("fake:10:2", images=rows, store=tmp_path / "b", **FEW))
    assert isinstance(runs, list)
    assert contents_hash(runs[1].stored) == contents_hash(alone.stored)


def test_pixels_of_any_image_may_have_changed(rows: Path, tmp_path: Path) -> None:
    evaluate("fake:10", images=rows, store=tmp_path / "runs", **FEW)
    arrays = dict(np.load(rows))
    arrays["images"][19] //= 2
    np.savez(rows, **arrays)
    with pytest.raises(InputError, match="other pixels"):
        evaluate("fake:10", images=rows, store=tmp_path / "runs", **FEW)


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


def test_a_store_among_the_images_is_refused(tmp_path: Path) -> None:
    folder = write_photos(tmp_path / "val", 2)
    with pytest.raises(InputError, match="lies in the images' folder"):
        evaluate("fake:2", suite="imagenet_c", images=folder, store=folder / "runs")


def test_a_failed_start_leaves_nothing(rows: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="got 7"):
        evaluate("fake:7", images=rows, store=tmp_path / "runs", **FEW)
    assert not (tmp_path / "runs").exists()


def test_a_function_with_other_weights_is_noticed(rows: Path, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).normal(size=(3, 10))

    def classify(images: Any) -> Any:
        return images.mean((1, 2)) @ weights

    run = one(evaluate(classify, images=rows, store=tmp_path, **FEW))
    assert one(evaluate(classify, images=rows, store=tmp_path, **FEW)).folder == run.folder
    weights[:, :5] += 0.05
    with pytest.raises(InputError, match="the weights or the images have changed"):
        evaluate(classify, images=rows, store=tmp_path, **FEW)
    named = one(evaluate(classify, images=rows, store=tmp_path, name="another", **FEW))
    assert named.folder != run.folder


def test_other_weights_show_though_clean_images_hide_them(rows: Path, tmp_path: Path) -> None:
    """Certain of every clean image before and after, and another model all the same."""
    clean = {image.tobytes(): k % 10 for k, image in enumerate(np.load(rows)["images"])}
    drift = np.zeros(10)

    def classify(images: Any) -> Any:
        known = np.array([clean.get(np.ascontiguousarray(i).tobytes(), -1) for i in images])
        logits = images.mean((1, 2)) @ np.linspace(-1, 1, 30).reshape(3, 10) / 50 + drift
        logits[known >= 0] = 1000 * np.eye(10)[known[known >= 0]]
        return logits

    evaluate(classify, images=rows, store=tmp_path, **FEW)
    drift[3] = 1
    with pytest.raises(InputError, match="of them differ"):
        evaluate(classify, images=rows, store=tmp_path, **FEW)


def test_a_suite_of_small_images_wants_small_images(tmp_path: Path) -> None:
    images = np.zeros((4, 48, 40, 3), np.uint8)
    with pytest.raises(InputError, match=r"images of 32 x 32 for CIFAR-10-C.*got 48 x 40"):
        evaluate("fake:10", images=images, labels=np.arange(4), store=tmp_path, **FEW)


def test_files_of_another_build_are_another_run(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 20)
    what: dict[str, Any] = {"suite": "cifar10_c", "only": ["gaussian_noise"]}
    runs = []
    for seed in (7, 8):
        built("cifar10_c", rows, tmp_path / str(seed), "gaussian_noise", seed=seed)
        files = tmp_path / str(seed)
        runs.append(one(evaluate("fake:10", files=files, store=tmp_path / "runs", **what)))
    assert runs[0].folder != runs[1].folder
    assert runs[0].stored.details["made"] == "files of hardy build, npy"
    for option in ({"seed": 3}, {"labels": "labels.txt"}):
        with pytest.raises(InputError, match="with files, which bring their own"):
            evaluate("fake:10", files=tmp_path / "7", store=tmp_path, **what, **option)


def test_official_files_that_were_changed_are_noticed(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 20)
    images = np.load(rows)["images"]
    folder = tmp_path / "CIFAR-10-C"
    folder.mkdir()
    np.save(folder / "labels.npy", np.tile(np.load(rows)["labels"], 5))
    what: dict[str, Any] = {"suite": "cifar10_c", "files": folder, "only": ["fog"]}
    for shift in (0, 90):
        np.save(folder / "fog.npy", np.concatenate([images + np.uint8(shift)] * 5))
        if not shift:
            run = one(evaluate("fake:10", store=tmp_path / "runs", **what))
            assert run.stored.details["made"] == "official files"
    with pytest.raises(InputError, match="the weights or the images have changed"):
        evaluate("fake:10", store=tmp_path / "runs", **what)


def test_one_broken_file_among_official_ones_stops_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "Tiny-ImageNet-C"
    for severity in range(1, 6):
        for k in range(4):
            place = folder / "fog" / str(severity) / f"n0000000{k % 2}" / f"{k}.JPEG"
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((64, 64, 3), 40 * k, np.uint8)).save(place)
    (folder / "fog" / "3" / "n00000001" / "3.JPEG").write_bytes(b"torn")
    what: dict[str, Any] = {"suite": "tiny_imagenet_c", "files": folder, "own_classes": True}
    run = one(evaluate("fake:2", store=tmp_path / "runs", only=["fog"], **what))
    assert len(run.faults) == 1
    assert "3.JPEG" in run.faults[0]
    assert run.score()["mean error"].circumstances.images == 3
    assert run.stored.complete([Cell("fog", 2)]).all()


def test_the_same_model_by_another_name_is_the_same_run(rows: Path, tmp_path: Path) -> None:
    model = Counting()
    first = one(evaluate("fake:10", images=rows, store=tmp_path, **FEW))
    model.name = "the fake"
    second = one(evaluate(model, images=rows, store=tmp_path, **FEW))
    assert second.folder == first.folder
    assert model.seen == 1 + 40


def test_runs_on_other_pixels_are_not_compared(rows: Path, tmp_path: Path) -> None:
    """Rows of arrays have the same ids everywhere."""
    arrays = np.load(rows)
    runs = [
        one(
            evaluate(f"fake:10:{seed}", images=arrays["images"] + np.uint8(seed),
                     labels=arrays["labels"], store=tmp_path, **FEW)
        )
        for seed in (0, 1)
    ]  # fmt: skip
    with pytest.raises(InputError, match="different image sets"):
        hardy.compare(*runs)
    with pytest.raises(InputError, match="image"):
        runs[0].score(reference=runs[1])


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


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty"):
        evaluate("fake:10", images=tmp_path / "empty", store=tmp_path / "runs", **FEW)
    assert not (tmp_path / "runs").exists()


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
