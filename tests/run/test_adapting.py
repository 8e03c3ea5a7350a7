"""Models that adapt see the same images together, whatever was stored before."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hardy
from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.images import open_images
from hardy.models import Model
from hardy.models import load_model as load_model
from hardy.models.defences import defend
from hardy.run import subject
from hardy.run.batching import answers, batches_of, mixed
from hardy.run.reduce import reduce
from hardy.run.selection import open_subject
from hardy.scores.scoring import Run
from hardy.store.reader import find_runs
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell
from tests.models.tiny import tiny
from tests.run.runs import FEW, one
from tests.store.stores import contents_hash
from tests.suites.helpers import write_photos

# 20 images in blocks of 8, and these in batches of 3: 3 + 3 + 2, 3 + 3 + 2, 3 + 1.
BLOCK, BATCH = 8, 3
PLACES = [slice(0, 3), slice(3, 6), slice(6, 8), slice(8, 11), slice(11, 14), slice(14, 16)]
PLACES += [slice(16, 19), slice(19, 20)]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "SMALL", BLOCK)


def adapting(batch: int = BATCH) -> Model:
    return defend(load_model(tiny(classes=10), name="tiny", batch=batch), "bn_adapt:2")


def predicted(store: Path, rows: Path, model: Any = None, **options: Any) -> Run:
    return one(evaluate(model or adapting(), images=rows, store=store, **(FEW | options)))


def test_a_batch_is_of_one_cell_and_at_a_fixed_place(rows: Path, tmp_path: Path) -> None:
    run = predicted(tmp_path / "runs", rows)
    images, labels = (np.load(rows)[name] for name in ("images", "labels"))
    model = adapting()
    order = sorted(range(20), key=lambda id: sha256(f"{id}".encode()).hexdigest())
    for cell in (CLEAN, Cell("contrast", 5), Cell("brightness", 2)):
        shown = images if cell == CLEAN else hardy.corrupt(images, cell.name, cell.level)
        logits = np.concatenate([model.logits(shown[order][place]) for place in PLACES])
        got = run.stored.read([cell], ["log_prob"])["log_prob"][order, 0]
        expected = reduce(logits, labels[order])["log_prob"]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_the_order_of_the_source_does_not_matter(tmp_path: Path) -> None:
    first, second = write_photos(tmp_path / "some"), tmp_path / "others"
    for photo in first.rglob("*.JPEG"):  # in folders of other names, so in another order
        place = second / f"n0000000{2 - int(photo.parent.name[-1])}" / photo.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(photo.read_bytes())
    opened = [
        open_subject(load("imagenet_c"), images=source, own_classes=True, only=["contrast"])
        for source in (open_images(path, id_rule="file_stem") for path in (first, second))
    ]
    assert opened[0].ids != opened[1].ids
    model = adapting()
    one_order, another = (mixed([model], each) for each in opened)
    assert one_order.ids == another.ids
    assert batches_of(model, one_order) == batches_of(model, another)
    for before, after in zip(opened, (one_order, another), strict=True):
        labels = [dict(zip(each.ids, each.classes.labels, strict=True)) for each in (before, after)]
        assert labels[0] == labels[1]
    plain = load_model("fake:10")
    assert mixed([plain], opened[0]) is opened[0]


def test_a_stopped_run_goes_on_with_the_same_batches(rows: Path, tmp_path: Path) -> None:
    whole = predicted(tmp_path / "whole", rows)

    def stop(steps, *_):
        for number, step in enumerate(steps):
            yield step
            if number == 7:  # in the second block
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predicted(tmp_path / "stopped", rows, track=stop)
    (stored,) = find_runs(tmp_path / "stopped")
    assert len(stored.cells) > 0
    assert not stored.complete([CLEAN, Cell("brightness", 5)]).all()
    again = predicted(tmp_path / "stopped", rows)
    assert contents_hash(again.stored) == contents_hash(whole.stored)


def test_more_cells_join_the_run(rows: Path, tmp_path: Path) -> None:
    whole = predicted(tmp_path / "whole", rows)
    predicted(tmp_path / "runs", rows, only=["contrast"])
    more = predicted(tmp_path / "runs", rows)
    assert contents_hash(more.stored) == contents_hash(whole.stored)
    assert len(find_runs(tmp_path / "runs")) == 1


def test_other_images_are_another_run(rows: Path, tmp_path: Path) -> None:
    some = predicted(tmp_path / "runs", rows, subset=10)
    every = predicted(tmp_path / "runs", rows)
    assert some.folder != every.folder
    assert len(some.stored.ids) == 10
    alone = predicted(tmp_path / "alone", rows)
    assert contents_hash(every.stored) == contents_hash(alone.stored)


def test_other_batches_and_settings_are_another_run(rows: Path, tmp_path: Path) -> None:
    plain = load_model(tiny(classes=10), name="tiny", batch=BATCH)
    models = [plain, adapting(), adapting(5), defend(plain, "bn_adapt:0"), defend(plain, "median")]
    folders = {predicted(tmp_path / "runs", rows, model).folder for model in models}
    assert len(folders) == 5


def test_what_is_stored_says_how(rows: Path, tmp_path: Path) -> None:
    run = predicted(tmp_path / "runs", rows).stored
    assert run.model == "tiny+bn_adapt:2 (adapted)"
    assert run.adapted
    assert run.defence is not None
    assert run.defence.startswith("bn_adapt:2: batch norm by the statistics of up to 3 test")
    assert run.folder.name.startswith("tiny-bn_adapt-2-adapted--cifar10_c--")
    median = predicted(tmp_path / "runs", rows, "fake:10", defend="median").stored
    assert (median.model, median.defence) == ("fake:10+median", "median: 3 x 3 median")
    assert not median.adapted
    plain = predicted(tmp_path / "runs", rows, "fake:10").stored
    assert (plain.defence, plain.adapted) == (None, False)


def test_the_same_batches_in_blocks_of_other_sizes(rows: Path, monkeypatch) -> None:
    def batches(block: int, batch: int, kind: str = "cifar10_c") -> str | None:
        monkeypatch.setattr(subject, "SMALL", block)
        model = adapting(batch)
        opened = open_subject(load(kind), images=rows, only=["brightness"])
        return batches_of(model, mixed([model], opened))

    assert batches(8, 4) == batches(16, 4) != batches(10, 4)
    assert batches(8, 4) != batches(8, 2)
    # A block has whole batches of sequences, in which 31 frames of each image count.
    assert batches(31, 4, "cifar10_p") == batches(400, 4, "cifar10_p")
    assert batches(31, 4, "cifar10_p") != batches(31, 3, "cifar10_p")
    plain = load_model("fake:10")
    assert batches_of(plain, open_subject(load("cifar10_c"), images=rows)) is None


@pytest.mark.parametrize("tensors", [False, True])
def test_where_nothing_moves_nothing_changes(rows: Path, tensors) -> None:
    """The frames of a sequence see the same images beside them, however batches are cut."""
    still = np.repeat(np.load(rows)["images"][:, None], 5, axis=1)
    model = adapting()
    opened = open_subject(load("cifar10_p"), images=rows)
    shown = torch.from_numpy(still) if tensors else still
    said = answers(model, shown, np.arange(20), mixed([model], opened))
    said = np.asarray(said).reshape(20, 5, 10)
    assert (said == said[:, :1]).all()
    np.testing.assert_array_equal(said[:, 0], model.logits(still[:, 0].copy()))


def test_a_batch_of_sequences_has_one_frame_of_each_image(rows: Path, tmp_path: Path) -> None:
    run = predicted(tmp_path / "runs", rows, suite="cifar10_p", only=["brightness"])
    images, labels = (np.load(rows)[name] for name in ("images", "labels"))
    order = sorted(range(20), key=lambda id: sha256(f"{id}".encode()).hexdigest())
    frames = np.stack([hardy.perturb(images[id], "brightness", id=id).array() for id in order])
    model = adapting()
    got = run.stored.read([Cell("brightness", 1)], ["log_prob"])["log_prob"][order, 0]
    for frame in (0, 7, 30):
        places = [slice(start, start + BATCH) for start in range(0, 20, BATCH)]
        logits = np.concatenate([model.logits(frames[place, frame]) for place in places])
        expected = reduce(logits, labels[order])["log_prob"]
        np.testing.assert_allclose(got[:, frame], expected, rtol=1e-4, atol=1e-6)


def halted(steps, *_):
    """After the first block and cell."""
    yield next(iter(steps))
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("what", "small", "large"),
    [
        ({"suite": "cifar10_p", "only": ["brightness"]}, 31, 31 * 16),
        ({"suite": "cifar10_c", "only": ["contrast"]}, 4, 16),
    ],
)
def test_a_stopped_run_goes_on_in_blocks_of_another_size(
    rows: Path, tmp_path: Path, monkeypatch, what, small, large
) -> None:
    """As another device has them."""
    whole = predicted(tmp_path / "whole", rows, adapting(4), **what)
    monkeypatch.setattr(subject, "SMALL", small)
    with pytest.raises(KeyboardInterrupt):
        predicted(tmp_path / "runs", rows, adapting(4), track=halted, **what)
    monkeypatch.setattr(subject, "SMALL", large)
    again = predicted(tmp_path / "runs", rows, adapting(4), **what)
    assert not again.faults
    assert len(find_runs(tmp_path / "runs")) == 1
    assert contents_hash(again.stored) == contents_hash(whole.stored)


class Faulty:
    """Images of which number 9 cannot be read."""

    broken = True

    def __init__(self, rows: Path) -> None:
        self.source = open_images(rows, id_rule="row_index")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def __len__(self) -> int:
        return len(self.source)

    def read(self, index: int, convert: Any = None) -> Any:
        if self.broken and index == 9:
            raise InputError("cannot read it")
        return self.source.read(index, convert)


def test_an_image_that_could_not_be_read_moves_no_other(rows: Path, tmp_path, monkeypatch) -> None:
    found = []
    for block in (4, 16):
        monkeypatch.setattr(subject, "SMALL", block)
        store = tmp_path / str(block)
        run = predicted(store, Faulty(rows), adapting(4), only=["contrast"])  # type: ignore[arg-type]
        found.append(contents_hash(run.stored))
    assert found[0] == found[1]


def test_an_image_that_could_not_be_read_stays_out(rows: Path, tmp_path: Path) -> None:
    images = Faulty(rows)
    first = predicted(tmp_path / "runs", images, only=["contrast"])  # type: ignore[arg-type]
    before = contents_hash(first.stored)
    assert first.faults == ("9: cannot read it",)
    images.broken = False
    again = predicted(tmp_path / "runs", images, only=["contrast"])  # type: ignore[arg-type]
    assert contents_hash(again.stored) == before
    (fault,) = again.faults
    assert fault.startswith("9: tiny+bn_adapt:2 (adapted) was shown the images beside it already")


def test_beside_a_model_that_has_some_of_the_images(rows: Path, tmp_path: Path) -> None:
    plain = load_model("fake:10")
    evaluate(plain, images=rows, store=tmp_path / "runs", subset=10, **FEW)
    both = [plain, adapting()]
    with pytest.raises(InputError, match=r"tiny\+bn_adapt:2 \(adapted\) adapts.* but fake:10 has"):
        evaluate(both, images=rows, store=tmp_path / "runs", **FEW)
    evaluate(plain, images=rows, store=tmp_path / "runs", **FEW)
    _, found = evaluate(both, images=rows, store=tmp_path / "runs", **FEW)
    alone = predicted(tmp_path / "alone", rows)
    assert contents_hash(found.stored) == contents_hash(alone.stored)


def test_sequences(rows: Path, tmp_path: Path) -> None:
    run = predicted(tmp_path / "runs", rows, suite="cifar10_p", only=["brightness"], subset=3)
    assert run.stored.adapted
    assert "mFR" in run.score() or "flip probability" in run.score()
