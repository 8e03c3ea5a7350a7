"""Loading: in order whatever the number of threads, a bounded way ahead, past what is broken."""

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hardy.errors import InputError
from hardy.execute.executor import AHEAD
from hardy.images import RECIPES, Fault, load_images, open_images
from hardy.images.image_files import Convert, rgb
from tests.photos import random_images

PHOTOS = random_images(30, 70, 90)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, photo in enumerate(PHOTOS):
        path = tmp_path / f"set/{number % 3}/{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(photo).save(path, quality=90)
    return tmp_path / "set"


@pytest.mark.parametrize("workers", [1, 2, 4, None])
@pytest.mark.parametrize("batch", [1, 7, 16, 64])
def test_the_same_whatever_the_workers(folder: Path, workers: int | None, batch: int) -> None:
    source = open_images(folder)
    recipe = RECIPES["resize64_crop64@1"]
    batches = list(load_images(source, recipe.name, batch=batch, workers=workers))
    assert [len(b.images) for b in batches[:-1]] == [batch] * (len(batches) - 1)
    one_by_one = [source.read(index, recipe.prepare) for index in range(30)]
    np.testing.assert_array_equal(np.concatenate([b.images for b in batches]), one_by_one)
    assert [i for b in batches for i in b.indices] == list(range(30))
    assert [i for b in batches for i in b.ids] == source.ids
    assert source.labels is not None
    assert [i for b in batches if b.labels is not None for i in b.labels] == source.labels.tolist()


def test_a_choice_of_images(folder: Path) -> None:
    source = open_images(folder)
    (batch,) = load_images(source, RECIPES["resize64_exact@1"], indices=[29, 3, 3], workers=2)
    assert batch.indices.tolist() == [29, 3, 3]
    assert batch.ids == [source.ids[29], source.ids[3], source.ids[3]]
    np.testing.assert_array_equal(batch.images[1], batch.images[2])
    np.testing.assert_array_equal(
        batch.images[0], source.read(29, RECIPES["resize64_exact@1"].prepare)
    )
    assert list(load_images(source, "none@1", indices=[])) == []


def broken(folder: Path) -> dict[str, str]:
    """Files of every kind that cannot be read, and the reason each must be given."""
    whole = (folder / "0/00.jpg").read_bytes()
    (folder / "0/a-truncated.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "0/b-empty.jpg").touch()
    (folder / "1/c-text.png").write_text("not an image")
    (folder / "1/d-bomb.ppm").write_bytes(b"P6 60000 60000 255\n")
    Image.new("I;16", (20, 20)).save(folder / "1/e-deep.png")
    (folder / "2/f-gone.jpg").symlink_to(folder / "2/02.jpg")
    return {
        "0/a-truncated.jpg": "truncated",
        "0/b-empty.jpg": "the file is empty",
        "1/c-text.png": "not an image of a known format",
        "1/d-bomb.ppm": "decompression bomb",
        "1/e-deep.png": "expected 8 bits per channel",
        "2/f-gone.jpg": "there is no such file",
    }


def test_broken_files_are_reported_and_the_rest_is_loaded(folder: Path) -> None:
    reasons = broken(folder)
    source = open_images(folder)
    (folder / "2/f-gone.jpg").unlink()
    bad = {index: file for index, file in enumerate(source.files) if file in reasons}
    assert len(bad) == 6

    faults: list[Fault] = []
    batches = list(load_images(source, "resize64_crop64@1", batch=4, faults=faults))
    assert [len(batch.images) for batch in batches] == [4] * 7 + [2]
    indices = [index for batch in batches for index in batch.indices]
    assert indices == [index for index in range(36) if index not in bad]
    assert [fault.index for fault in faults] == sorted(bad)
    for fault in faults:
        assert fault.index is not None
        assert fault.reason.startswith(f"cannot read {folder / bad[fault.index]}: ")
        assert reasons[bad[fault.index]] in fault.reason

    with pytest.raises(InputError, match=r"cannot read .*a-truncated.jpg: .*truncated"):
        list(load_images(source, "resize64_crop64@1"))


class Counting:
    """A source of one size that knows how many images were asked for."""

    files: Sequence[str] = [str(index) for index in range(1000)]
    ids = range(1000)
    labels = None
    classes = None

    def __init__(self) -> None:
        self.reads = 0
        self.lock = threading.Lock()

    def __len__(self) -> int:
        return 1000

    def read(self, index: int, convert: Convert = rgb) -> np.ndarray:
        with self.lock:
            self.reads += 1
        return convert(np.full((8, 8, 3), index % 256, np.uint8))

    def describe(self) -> str:
        return "1,000 images"


def test_it_never_runs_far_ahead_and_stops_with_its_consumer() -> None:
    source = Counting()
    batches = load_images(source, "none@1", batch=10, workers=2)
    for number in range(1, 6):
        assert (next(batches).images[:, 0, 0, 0] // 10 == number - 1).all()
        time.sleep(0.05)
        assert source.reads <= 10 * number + 8 * (2 * AHEAD + 1)
    threads = {t for t in threading.enumerate() if t.name.startswith("hardy_work")}
    assert threads
    batches.close()  # type: ignore[attr-defined]
    assert not any(thread.is_alive() for thread in threads)
    assert source.reads < 100


def test_what_is_asked_for_wrongly(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 1 image, got 0"):
        next(load_images(Counting(), "none@1", batch=0))
    with pytest.raises(InputError, match="at least 1 worker, got 0"):
        next(load_images(Counting(), "none@1", workers=0))
    wrong: Any
    for wrong in (2.5, "a", None):
        with pytest.raises(InputError, match=f"1 image, got {wrong!r}; give a whole number"):
            next(load_images(Counting(), "none@1", batch=wrong))
    for wrong in (2.5, "a"):
        with pytest.raises(InputError, match=f"1 worker, got {wrong!r}; give a whole number"):
            next(load_images(Counting(), "none@1", workers=wrong))
    with pytest.raises(InputError, match="expected a list to put faults into"):
        next(load_images(Counting(), "none@1", faults=()))  # type: ignore[arg-type]
    with pytest.raises(InputError, match='unknown recipe "resize"'):
        next(load_images(Counting(), "resize"))
    for number, size in enumerate(((10, 12), (12, 10))):
        Image.new("RGB", size).save(tmp_path / f"{number}.png")
    with pytest.raises(
        InputError,
        match=r"one size in a batch, got width 12, height 10; width 10, height 12; .*batch=1",
    ):
        list(load_images(open_images(tmp_path), "none@1"))
    assert len(list(load_images(open_images(tmp_path), "none@1", batch=1))) == 2


MEASURE = r"""
import re, sys
from pathlib import Path
def memory():
    return int(re.search(r"VmRSS:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
from hardy.images import load_images, open_images
source = open_images(sys.argv[1])
batches = load_images(source, "resize64_exact@1", batch=256)
next(batches)
for _ in range(20):
    next(batches)
early, count, late = memory(), 21 * 256, 0
for batch in batches:
    count, late = count + len(batch.images), max(late, memory())
print(early, late, count)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux for its memory")
def test_a_hundred_thousand_files(tmp_path: Path) -> None:
    """Memory stays as it was after the first batches."""
    Image.fromarray(PHOTOS[0][:32, :32]).save(tmp_path / "one.jpg")
    data = (tmp_path / "one.jpg").read_bytes()
    for number in range(100_000):
        path = tmp_path / f"set/n{number % 1000:04}/image_{number:06}.JPEG"
        if number < 1000:
            path.parent.mkdir(parents=True)
        path.write_bytes(data)
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "set")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    early, late, count = map(float, printed.split())
    assert count == 100_000
    assert late < early + 32  # the pixels would be 1,200
