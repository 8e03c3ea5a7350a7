"""Training from a pack: the same draws as from its source, and it is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import HardyError, InputError
from hardy.images import packing
from hardy.progress import untracked
from hardy.train import checkpoint
from hardy.train.loop import run_training
from hardy.train.method import Draw
from hardy.train.processes import Ranks
from hardy.train.training_data import Streaming, open_data
from tests.photos import random_images
from tests.train.small import CPU, NARROW, narrow
from tests.train.test_loop import killed_in, same, weights
from tests.train.test_streaming import equal, opened, shown

__all__ = ["narrow"]


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """23 PNGs of three classes and several sizes; packs of them have three shards."""
    monkeypatch.setattr(packing, "FEWEST_IN_SHARD", 9)
    for number in range(23):
        folder = tmp_path / "photos" / "abc"[number % 3]
        folder.mkdir(parents=True, exist_ok=True)
        pixels = random_images(1, 30 + number, 70 - number, seed=number)[0] // 3
        Image.fromarray(pixels + np.uint8(80 * (number % 3))).save(folder / f"{number:02}.png")
    return tmp_path / "photos"


def packed(photos: Path, name: str = "pack", **options: object) -> Path:
    options = {"side": 32, "track": untracked, **options}
    return hardy.pack(photos, photos.parent / name, **options).folder


def test_a_pack_that_keeps_all_pixels_gives_the_batches_of_its_source(photos) -> None:
    alone = shown(opened(photos, workers=2))
    whole = packed(photos, side=100, format="raw")
    assert equal(alone, shown(opened(whole, workers=3)))
    smaller = shown(opened(packed(photos, "jpeg"), workers=2))
    for (before, labels), (after, others) in zip(alone, smaller, strict=True):
        assert np.array_equal(labels, others)  # the same order
        assert np.abs(before.mean((1, 2, 3)) - after.mean((1, 2, 3))).max() < 8  # the same images


@pytest.mark.parametrize("format", ["jpeg", "raw"])
def test_the_first_fifty_batches_of_a_pack(format, photos) -> None:
    """They are the same for any number of threads, from any step on, and for two processes."""
    pack = packed(photos, format=format)
    alone = shown(opened(pack, workers=1))
    assert len(alone) == 50
    for workers in (2, 8):
        assert equal(alone, shown(opened(pack, workers=workers)))
    feed = opened(pack, workers=2).feed(5, Draw(0, CPU))
    rest = [(images.numpy(), labels.numpy()) for images, labels in feed.epoch(1, 3)]
    assert equal(alone[8:10], rest)
    parts = [shown(opened(pack, workers=2), Ranks(rank, 2)) for rank in (0, 1)]
    for whole, one, two in zip(alone, *parts, strict=True):
        assert np.array_equal(whole[0][0::2], one[0])
        assert np.array_equal(whole[0][1::2], two[0])


def test_a_run_on_a_pack_goes_on_with_the_next_batch(photos, tmp_path, narrow, monkeypatch) -> None:
    monkeypatch.setattr(checkpoint, "WITHIN_SECONDS", 0.0)
    recipe, pack = replace(NARROW, batch=5, deterministic=True), packed(photos)
    run_training("standard", opened(pack, workers=1), tmp_path / "whole", recipe)
    with pytest.raises(KeyboardInterrupt):
        run_training(
            *("standard", opened(pack, workers=2), tmp_path / "cut", recipe), track=killed_in(2)
        )
    run_training("standard", opened(pack, workers=8), tmp_path / "cut", recipe)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


def test_the_record_says_that_images_were_packed(photos, tmp_path, narrow, monkeypatch) -> None:
    monkeypatch.setattr(checkpoint, "WITHIN_SECONDS", 0.0)
    pack, out = packed(photos), tmp_path / "out"
    recipe = replace(NARROW, epochs=1, batch=5)
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", opened(pack), out, recipe, track=killed_in(1))
    with pytest.raises(InputError, match=r"data.packed.side is None and was 32"):
        run_training("standard", opened(photos), out, recipe)
    pack.rename(tmp_path / "moved")
    run_training("standard", opened(tmp_path / "moved"), out, recipe)
    run = json.loads((out / "run.json").read_text())
    assert run["data"]["packed"] == {
        "side": 32,
        "encoding": "jpeg",
        "recipe": "longer ones to that side by Pillow's antialiased bilinear filter; "
        "JPEG of quality 95",
        "decoder": run["data"]["streamed"]["decoder"],
        "source": f"23 images of 3 classes, class folders in {photos}",
    }
    assert "packed at 32 px as jpeg" in run["data"]["images"]


def test_small_packs_are_held_in_memory(photos, tmp_path, narrow) -> None:
    pack, recipe = packed(photos, format="raw"), "resize32_exact@1"
    data = open_data(str(pack), CPU, Streaming(), recipe=recipe)
    assert data.packed is not None
    run_training("standard", data, tmp_path / "out", replace(NARROW, epochs=1))
    run = json.loads((tmp_path / "out/run.json").read_text())
    assert run["data"]["packed"]["encoding"] == "raw"


def test_a_damaged_image_of_a_pack_is_left_out_and_listed(photos, tmp_path, narrow) -> None:
    pack = packed(photos, format="raw")
    shard = bytearray((pack / "00001.images").read_bytes())
    shard[100] ^= 255
    (pack / "00001.images").write_bytes(shard)
    out, recipe = tmp_path / "out", replace(NARROW, batch=5, epochs=1)
    run_training("standard", opened(pack, most_unreadable=0.05), out, recipe)
    assert "00001.images:b/04.png: its bytes are not" in (out / "unreadable.txt").read_text()
    with pytest.raises(HardyError, match=r"1 of 23 images cannot be read"):
        run_training("standard", opened(pack), tmp_path / "other", recipe)
