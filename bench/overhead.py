"""`python -m bench.overhead`: what the runner adds to the engine, and whether its memory grows.

A model that costs nothing is evaluated on two cores. Beside it the engine alone: the same cells of
the same images, decoded beforehand, made by as many threads and thrown away. Both run by turns, in
wall time, so the machine must have nothing else to do. The exit status is 1 when a bar fails.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from PIL import Image

from bench.cpu import RESULTS, commit, machine, versions
from bench.photos import PHOTOS, folder
from bench.table import grid
from hardy.evaluation import evaluate
from hardy.execute import Threads
from hardy.run.selection import open_subject
from hardy.run.subject import Subject
from hardy.suites import load

WORKERS = 2
BAR_SHARE = 0.8
BAR_GROWTH_MIB = 64.0  # of 50,000 images, between the first tenth and the end
REPEATS = 3
LARGE, SMALL, MANY = 384, 8000, 50_000  # images


class Free:
    """Logits of nothing: the same for every image."""

    name, identity = "free", "free"
    preprocessing = None
    device, precision = "cpu", "float32"

    def __init__(self, classes: int) -> None:
        self._logits = np.linspace(0, 1, classes, dtype=np.float32)[None]

    def logits(self, images: np.ndarray, preprocessing: object = None) -> np.ndarray:
        return np.broadcast_to(self._logits, (len(images), self._logits.shape[1]))


def write_photos(place: Path, count: int) -> Path:
    """JPEG photographs, each another part of one of those at hand."""
    pictures = []
    for package, name in PHOTOS:
        with Image.open(folder(package) / name) as photo:
            pictures.append(np.asarray(photo.convert("RGB")))
    names = ("n01440764", "n01443537")
    for number in range(count):
        picture = np.roll(pictures[number % len(pictures)], 17 * number, axis=1)[:400, :480]
        target = place / names[number % 2] / f"{number:05d}.JPEG"
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(target, quality=90)
    return place


def write_rows(place: Path, count: int) -> Path:
    images = np.random.default_rng(0).integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
    np.savez(place / "rows.npz", images=images, labels=np.arange(count) % 10)
    return place / "rows.npz"


def engine_seconds(subject: Subject) -> float:
    size = subject.chunk_size
    rows = np.arange(len(subject))
    chunks = [subject.load(rows[start : start + size]).chunk for start in range(0, len(rows), size)]
    work = [(chunk, cell) for chunk in chunks for cell in subject.cells]
    start = time.perf_counter()
    for _ in Threads(WORKERS).run(lambda: lambda item: item[0].make(item[1]), work):
        pass
    return time.perf_counter() - start


def runner_seconds(suite: str, images: Path, classes: int) -> float:
    with tempfile.TemporaryDirectory() as store:
        start = time.perf_counter()
        evaluate(Free(classes), suite=suite, images=images, store=store, workers=WORKERS)
        return time.perf_counter() - start


def compare(suite: str, images: Path, classes: int) -> tuple[list[str], float]:
    subject = open_subject(load(suite), images=images)
    engine, runner, shares = [], [], []
    for turn in range(REPEATS + 1):  # the first one compiles
        pair = engine_seconds(subject), runner_seconds(suite, images, classes)
        if turn:
            engine.append(subject.predictions / pair[0])
            runner.append(subject.predictions / pair[1])
            shares.append(pair[0] / pair[1])
    spread = f"{min(shares):.1%}-{max(shares):.1%}"
    row = [suite, f"{len(subject):,}", f"{median(engine):,.0f}", f"{median(runner):,.0f}"]
    return [*row, f"{median(shares):.1%}", spread], median(shares)


def memory(images: Path) -> list[float]:
    """Peak MiB of this process after each tenth of the predictions."""
    peaks: list[float] = []

    def track(done: Iterable[Any], total: int, *_: object) -> Iterable[Any]:
        made = 0
        for count in done:
            made += count
            while made >= (len(peaks) + 1) * total / 10:
                peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            yield count

    with tempfile.TemporaryDirectory() as store:
        evaluate(
            Free(10), suite="cifar10_c", images=images, store=store, workers=WORKERS, track=track
        )
    return peaks


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        # First, because a process never gives its peak back.
        many = memory(write_rows(place, MANY))
        results = [
            compare("cifar10_c", write_rows(place, SMALL), 10),
            compare("imagenet_c", write_photos(place / "photos", LARGE), 1000),
        ]
    share, growth = min(share for _, share in results), many[-1] - many[0]
    passed = (share >= BAR_SHARE, growth <= BAR_GROWTH_MIB)
    verdicts = ["PASS" if good else "FAIL" for good in passed]
    host = machine()
    libraries = ", ".join(f"{name} {version}" for name, version in versions().items())
    columns = ["suite", "images", "engine/s", "runner/s", "share", "from-to"]
    text = f"""# What the runner adds to the engine

Machine: {host["cpu"]}, {host["cores"]} cores. {libraries}. Commit {commit()}.

* {verdicts[0]}  a free model: {share:.0%} of the engine's images/s (bar {BAR_SHARE:.0%})
* {verdicts[1]}  {MANY:,} images: peak memory grows by {growth:.0f} MiB (bar {BAR_GROWTH_MIB:.0f})

Corrupted images per second on {WORKERS} threads, all 75 cells and the clean images, median of
{REPEATS} turns. The engine's images are decoded before its time begins and thrown away as they
are made; the runner reads and decodes, reduces logits and stores them as Parquet.

{grid(columns, [row for row, _ in results])}

Peak MiB of the process after each tenth of {MANY:,} images of 32 x 32:
{", ".join(f"{peak:.0f}" for peak in many)}.
"""
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "overhead.md").write_text(text)
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
