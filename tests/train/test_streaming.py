"""Images that are read while the net trains: the same for any number of threads and processes."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import hardy
from hardy.errors import HardyError, InputError
from hardy.images.image_files import read_image
from hardy.train import METHODS, checkpoint, training_data
from hardy.train.crops import ScaleCrop, ShiftCrop
from hardy.train.loop import run_training
from hardy.train.method import Draw, Method, make_method
from hardy.train.processes import Ranks
from hardy.train.streaming import Stream
from hardy.train.training_data import Data, Streaming, crop_and_flip, open_data
from tests.photos import random_images
from tests.train.small import CPU, NARROW, narrow, write_arrays
from tests.train.test_loop import killed_in, same, weights

__all__ = ["narrow"]

SMALL = ScaleCrop(16)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """24 JPEGs of three classes and several sizes, whose brightness says their class."""
    for number in range(24):
        folder = tmp_path / "photos" / "abc"[number % 3]
        folder.mkdir(parents=True, exist_ok=True)
        pixels = random_images(1, 30 + number, 70 - number)[0] // 3 + 80 * (number % 3)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number:02}.jpg")
    return tmp_path / "photos"


def opened(where: Path | str, crop: ScaleCrop | None = SMALL, **more: object) -> Stream:
    streamed = open_data(str(where), CPU, Streaming(True, crop, **more))
    assert isinstance(streamed, Stream)
    return streamed


def shown(stream: Stream, ranks: Ranks | None = None, batches: int = 50) -> list[tuple]:
    """The first batches of a run, in bytes."""
    feed = stream.feed(5, Draw(0, CPU, ranks or Ranks()))
    every = (batch for epoch in range(20) for batch in feed.epoch(epoch))
    return [(images.numpy(), labels.numpy()) for images, labels in islice(every, batches)]


def equal(one: list[tuple], other: list[tuple]) -> bool:
    pairs = zip(one, other, strict=True)
    return all(np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]) for a, b in pairs)


def test_the_first_fifty_batches_are_the_same_for_any_number_of_threads(photos) -> None:
    alone = shown(opened(photos, workers=1))
    assert len(alone) == 50
    assert alone[0][0].shape == (5, 3, 16, 16)
    assert len(alone[4][0]) == 4
    for workers in (2, 8):
        assert equal(alone, shown(opened(photos, workers=workers)))
    assert not equal(alone[:5], alone[5:10])  # another epoch


def test_any_step_can_be_the_first(photos) -> None:
    feed = opened(photos, workers=2).feed(5, Draw(0, CPU))
    whole = [images for images, _ in feed.epoch(3)]
    rest = [images for images, _ in feed.epoch(3, 2)]
    assert all(map(torch.equal, whole[2:], rest))
    assert len(rest) == 3


def test_two_processes_share_out_the_same_batches(photos) -> None:
    stream = opened(photos, workers=2)
    alone, first, second = (shown(stream, ranks) for ranks in (Ranks(), Ranks(0, 2), Ranks(1, 2)))
    for whole, one, two in zip(alone, first, second, strict=True):
        for part in (0, 1):
            assert np.array_equal(whole[part][0::2], one[part])
            assert np.array_equal(whole[part][1::2], two[part])


def test_half_of_the_images_are_corrupted_after_the_cut(photos) -> None:
    """As images in memory are, by their places in the set, whoever reads them."""
    settings = {"suite": "cifar10_c", "corruption": "gaussian_noise"}

    def feed(ranks: Ranks | None = None, corruption: str = "gaussian_noise", workers: int = 2):
        made = make_method("corrupted", {**settings, "corruption": corruption})
        draw = Draw(0, CPU, ranks or Ranks())
        made.begin(draw, (3, 16, 16))
        return opened(photos, workers=workers).feed(5, draw).changed(made, 1)

    whole = list(feed().epoch(1))
    clean = torch.cat([images for images, _ in feed(corruption="none").epoch(1)])
    noisy = torch.cat([images for images, _ in whole])
    differ = (clean != noisy).flatten(1).any(1)
    assert int(differ.sum()) == 12
    assert all(torch.equal(a[0], b[0]) for a, b in zip(whole[2:], feed().epoch(1, 2), strict=True))
    first, second = (feed(Ranks(rank, 2), workers=rank + 1).epoch(1) for rank in range(2))
    for (images, labels), one, two in zip(whole, first, second, strict=True):
        assert torch.equal(images[::2], one[0])
        assert torch.equal(images[1::2], two[0])
        assert torch.equal(labels[::2], one[1])


def test_what_stays_of_a_batch_with_damage_is_corrupted_alike(photos) -> None:
    made = make_method("corrupted", {"suite": "cifar10_c", "corruption": "contrast"})
    draw = Draw(0, CPU)
    made.begin(draw, (3, 16, 16))

    def batches() -> list[torch.Tensor]:
        stream = opened(photos, most_unreadable=0.1)
        return [images for images, _ in stream.feed(24, draw).changed(made, 0).epoch(0)]

    (whole,) = batches()
    row = sorted(photos.rglob("*.jpg"))[4]
    row.write_bytes(b"no picture")
    (rest,) = batches()
    assert len(rest) == 23
    kept = [one for one in whole if any(torch.equal(one, other) for other in rest)]
    assert len(kept) == 23


def test_an_epoch_shows_every_image_once_and_more_batches_are_others(photos) -> None:
    stream = opened(photos, workers=2)
    feed = stream.feed(5, Draw(0, CPU))
    labels = torch.cat([labels for _, labels in feed.epoch(0)])
    assert labels.bincount().tolist() == [8, 8, 8]
    more = list(islice(feed.more(0), 6))
    assert all(len(images) == 5 for images, _ in more)
    assert not torch.equal(more[0][0], next(feed.epoch(0))[0])


def test_what_is_cut_is_a_part_of_the_image(photos) -> None:
    crop = ScaleCrop(8, (0.2, 0.5), (0.5, 2.0))
    draws = np.random.default_rng(0).random((200, crop.numbers))
    for drawn in draws:
        top, left, height, width = crop.box(60, 90, drawn)
        assert 0 <= top <= 60 - height
        assert 0 <= left <= 90 - width
        assert 0.15 < height * width / 5400 < 0.55
        assert 0.45 < width / height < 2.2
    flat = ScaleCrop(8, (1.0, 1.0)).box(10, 100, draws[0])
    assert flat == (0, 43, 10, 13)  # no part fits: the middle, at the widest aspect
    assert ScaleCrop(8, (1.0, 1.0)).box(100, 10, draws[0]) == (43, 0, 13, 10)
    pixels = random_images(1, 60, 90)[0]
    top, left, height, width = SMALL.box(60, 90, draws[0])
    part = Image.fromarray(pixels[top : top + height, left : left + width])
    expected = np.asarray(part.resize((16, 16), Image.Resampling.BILINEAR))
    made = SMALL.cut(pixels, np.append(draws[0][:-1], 0.9))
    assert np.array_equal(made, expected)
    assert np.array_equal(SMALL.cut(pixels, np.append(draws[0][:-1], 0.1)), made[:, ::-1])


def test_large_jpegs_are_decoded_smaller(tmp_path, monkeypatch) -> None:
    ramp = np.linspace(0, 255, 640, dtype=np.uint8)
    image = Image.fromarray(np.dstack([np.broadcast_to(ramp, (480, 640))] * 3))
    image.save(tmp_path / "ramp.jpg", quality=95)
    image.save(tmp_path / "ramp.png")
    drawn, asked = np.full(SMALL.numbers, 0.6), []
    monkeypatch.setattr(
        "PIL.JpegImagePlugin.JpegImageFile.draft",
        lambda self, mode, size: asked.append(size) or None,
    )
    cut = [
        read_image(tmp_path / f"ramp.{kind}", lambda it: SMALL.cut(it, drawn)).astype(int)
        for kind in ("png", "jpg")
    ]
    assert asked == [(80, 60)]
    assert np.abs(cut[0] - cut[1]).max() <= 3
    monkeypatch.undo()
    smaller = read_image(tmp_path / "ramp.jpg", lambda it: SMALL.cut(it, drawn)).astype(int)
    assert np.abs(smaller - cut[0]).max() <= 3


def test_shifts_are_those_of_images_in_memory() -> None:
    """There are 18 crops of an image of 8 x 8: both ways give them, and no others."""
    image = random_images(1, 8, 8)
    resident = crop_and_flip(torch.from_numpy(image).expand(600, -1, -1, -1), Draw(0, CPU))
    crop = ShiftCrop("none@1", (8, 8))
    draws = np.random.default_rng(0).random((600, crop.numbers))
    streamed = {crop.cut(image[0], drawn).tobytes() for drawn in draws}
    assert streamed == {one.permute(1, 2, 0).numpy().tobytes() for one in resident}
    assert len(streamed) == 18


def test_what_is_streamed_and_what_is_held(tmp_path, photos, monkeypatch) -> None:
    arrays = str(write_arrays(tmp_path))
    assert isinstance(open_data(arrays, CPU, Streaming()), Data)
    assert isinstance(open_data(arrays, CPU, Streaming(True)), Stream)
    assert isinstance(open_data(str(photos), CPU, Streaming(crop=SMALL)), Stream)
    monkeypatch.setattr(training_data, "LARGEST_RESIDENT", 1000)
    assert isinstance(open_data(arrays, CPU, Streaming()), Stream)
    assert isinstance(open_data(arrays, CPU, Streaming(False)), Data)
    with pytest.raises(InputError, match="streamed for crops at random scales of `side` 16"):
        Streaming(False, SMALL)
    with pytest.raises(InputError, match="expected images in memory for the filter median"):
        open_data(arrays, CPU, Streaming(True), input="median")


def test_the_command_trains_and_says_how(photos, tmp_path, narrow) -> None:
    said: list[str] = []
    out = tmp_path / "out"
    trained = hardy.train(
        *("standard",),
        data=photos,
        out=out,
        net="narrow",
        epochs=4,
        batch=8,
        lr=0.02,
        side=16,
        scale=(0.5, 1),
        workers=2,
        validation=photos,
        say=said.append,
    )
    assert trained.log[-1]["validation_accuracy"] > 0.6
    assert said[0].endswith("read while the net trains by 2 threads, cut to 16 x 16")
    run = json.loads((out / "run.json").read_text())
    streamed = run["data"]["streamed"]
    assert streamed["crop"]["kind"] == "scale"
    assert streamed["crop"]["scale"] == [0.5, 1]
    assert "Pillow" in streamed["decoder"]
    assert run["data"]["shape"] == [3, 16, 16]


def test_a_streamed_run_goes_on_with_the_next_batch(photos, tmp_path, narrow, monkeypatch) -> None:
    monkeypatch.setattr(checkpoint, "WITHIN_SECONDS", 0.0)
    recipe = replace(NARROW, batch=5, deterministic=True)
    run_training("standard", opened(photos, workers=1), tmp_path / "whole", recipe)
    with pytest.raises(KeyboardInterrupt):
        run_training(
            *("standard", opened(photos, workers=2), tmp_path / "cut", recipe), track=killed_in(2)
        )
    run_training("standard", opened(photos, workers=8), tmp_path / "cut", recipe)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


def test_images_that_cannot_be_read_are_left_out_and_listed(photos, tmp_path, narrow) -> None:
    damaged = photos / "a/00.jpg"
    damaged.write_bytes(damaged.read_bytes()[:300])
    out, recipe = tmp_path / "out", replace(NARROW, batch=5, epochs=1)
    stream = opened(photos, most_unreadable=0.05)
    run_training("standard", stream, out, recipe)
    assert "a/00.jpg" in (out / "unreadable.txt").read_text()
    with pytest.raises(HardyError, match=r"1 of 24 images cannot be read, .*a/00.jpg"):
        run_training("standard", opened(photos), tmp_path / "other", recipe)
    with pytest.raises(InputError, match="`most_unreadable` as a share from 0 to below 1, got 1"):
        opened(photos, most_unreadable=1.0)


@dataclass
class Inverted(Method):
    """One that can change all images only."""

    def epoch_images(self, epoch: int, images: torch.Tensor) -> torch.Tensor:
        return 255 - images


def test_input_that_cannot_be(photos, tmp_path, narrow, monkeypatch) -> None:
    monkeypatch.setitem(METHODS._objects, "inverted", Inverted)
    with pytest.raises(InputError, match="expected images in memory, all of which Inverted"):
        run_training("inverted", opened(photos), tmp_path / "o", NARROW)
    with pytest.raises(InputError, match="expected `side` or a `recipe`"):
        hardy.train("standard", data=photos, out=tmp_path / "o", side=8, recipe="resize64_exact@1")
    with pytest.raises(HardyError, match=r"images cannot be read, .* like the first, got"):
        list(opened(photos, None).feed(5, Draw(0, CPU)).epoch(0))
    Image.new("RGB", (1, 1)).save(photos / "a/pixel.png")
    with pytest.raises(HardyError, match=r"1 of 25 .* at least 8 pixels per side, got 1 x 1"):
        list(opened(photos).feed(25, Draw(0, CPU)).epoch(0))
    (photos / "d").mkdir()
    with pytest.raises(InputError, match=r"the class folder .*d has no image files"):
        opened(photos)


def test_a_shard_that_is_cut_off(tmp_path) -> None:
    buffer = io.BytesIO()
    Image.fromarray(random_images(1, 40, 40)[0]).save(buffer, "PNG")
    with tarfile.open(tmp_path / "set.tar", "w") as shard:
        for number in range(4):
            for name, data in (("png", buffer.getvalue()), ("cls", b"%d" % (number % 2))):
                member = tarfile.TarInfo(f"{number}.{name}")
                member.size = len(data)
                shard.addfile(member, io.BytesIO(data))
    assert len(shown(opened(tmp_path / "set.tar"), batches=1)[0][1]) == 4
    whole = (tmp_path / "set.tar").read_bytes()
    (tmp_path / "set.tar").write_bytes(whole[: len(buffer.getvalue()) + 6000])
    with pytest.raises(InputError, match=r"cannot read .*set.tar to its end"):
        opened(tmp_path / "set.tar")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"side": 0}, "expected `side` from 1 to 4,096 pixels, got 0"),
        ({"scale": (0.5, 0.2)}, r"expected `scale` as two shares of the area, got 0.5,0.2"),
        ({"scale": (0.5,)}, r"expected `scale` as two numbers"),
        ({"ratio": (0, 2)}, r"expected `ratio` as two aspects, width by height, got 0,2"),
    ],
)
def test_crops_that_cannot_be(change, message) -> None:
    with pytest.raises(InputError, match=message):
        ScaleCrop(**{"side": 8, **change})
