"""`make bench-cluster`: what Ray costs beside threads, and how fast and how light the driver is.

Ray runs on this machine: a head that does no work, and two nodes of one processor each. A few
convolutions see clean and contrast of ImageNet-C, made from photographs, there and by two threads;
and a part of ImageNet-C is built there and by two processes.
Starting a run takes as long for few images as for many, so the rate is that of the images by which
two runs differ. Writes bench/results/cluster.md; the exit status is 1 when a bar fails.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.cpu import RESULTS, commit, machine, versions
from bench.overhead import write_photos
from bench.table import grid
from hardy.evaluation import evaluate
from hardy.execute import RayCrew
from hardy.execute.executor import LARGE_PAGES
from hardy.execute.feeding import feed
from hardy.progress import untracked
from hardy.variants.disk.build import build
from tests.cluster.conftest import Nodes
from tests.execute.workforces import FakeForce

NODES = 2
REPEATS = 2
FEW, MANY = 256, 2304  # images; a block has 64, and workers take some of them to warm up
FED = 100_000  # blocks, to workers that do nothing
SIMULATED, WORKERS = 1_000_000, 1000  # blocks and workers on a fake clock
BUILT = ["contrast", "brightness"]  # ten files for each image
BAR_SHARE, BAR_BUILD, BAR_FED, BAR_GROWTH_MIB = 0.9, 0.8, 200, 8.0


@contextmanager
def two_nodes() -> Iterator[str]:
    nodes = Nodes()
    try:
        nodes.have(NODES)
        yield nodes.address
    finally:
        nodes.close()


def evaluating(images: Path, folder: str, **how: Any) -> None:
    evaluate(
        f"torch:{Path(__file__).with_name('devices.py')}:convolutions",
        suite="imagenet_c",
        images=images,
        only=["contrast"],
        severities=3,
        store=folder,
        device="cpu",
        warn=lambda text: None,
        **how,
    )


def building(images: Path, folder: str, **how: Any) -> None:
    build("imagenet_c", images=images, out=folder, only=BUILT, track=untracked, **how)


def rate(work: Callable[..., None], few: Path, many: Path, **how: Any) -> float:
    """Images a second, without what every run takes."""
    took = []
    for images in (few, many):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            work(images, folder, **how)
            took.append(time.perf_counter() - start)
    return (MANY - FEW) / (took[1] - took[0])


def compare(work: Callable[..., None], address: str) -> tuple[list[str], float]:
    """Images a second by `--workers` and by nodes, in turns."""
    workers, nodes = [], []
    with tempfile.TemporaryDirectory() as scratch:
        few = write_photos(Path(scratch) / "few", FEW)
        many = write_photos(Path(scratch) / "many", MANY)
        for turn in range(REPEATS + 1):  # the first one compiles
            pair = rate(work, few, many, workers=NODES), rate(work, few, many, on=address)
            if turn:
                workers.append(pair[0])
                nodes.append(pair[1])
    shares = [a / b for a, b in zip(nodes, workers, strict=True)]
    spread = f"{min(shares):.0%}-{max(shares):.0%}"
    row = [f"{median(workers):.1f}", f"{median(nodes):.1f}", f"{median(shares):.0%}", spread]
    return row, median(shares)


def begin() -> Callable[[int], int]:
    """Work that is none."""
    return _nothing


def _nothing(item: int) -> int:
    return item


def fed_per_second(address: str) -> tuple[float, list[float]]:
    """Blocks a second, and MiB of this process after each tenth of them."""
    start, found = 0.0, []
    for done, _ in enumerate(RayCrew(address).run(begin, iter(range(FED))), 1):
        if done == 1:
            start = time.perf_counter()  # workers have begun
        if done % (FED // 10) == 0:
            found.append(resident())
    return (FED - 1) / (time.perf_counter() - start), found


def resident() -> float:
    """MiB of this process now."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def simulate() -> list[float]:
    """MiB of this process after each tenth of the blocks, by the driver's loop on a fake clock; one
    worker in ten thousand dies of a block, and one in a million hangs."""
    found = []
    force = FakeForce(WORKERS, dies=1e-4, hangs=1e-6, late=60)
    for done, _ in enumerate(feed(force, iter(range(SIMULATED))), 1):
        if done % (SIMULATED // 10) == 0:
            found.append(resident())
    return found


def in_words(sizes: list[float]) -> str:
    return ", ".join(f"{size:.0f}" for size in sizes)


def main() -> int:
    os.environ.setdefault(*LARGE_PAGES)  # as the command line does, and Ray's workers
    sizes = simulate()
    with two_nodes() as address:
        fed, real_sizes = fed_per_second(address)
        row, share = compare(evaluating, address)
        built_row, built_share = compare(building, address)
    growth = max(max(sizes) - sizes[0], max(real_sizes) - real_sizes[0])
    passed = (
        share >= BAR_SHARE,
        built_share >= BAR_BUILD,
        fed >= BAR_FED,
        growth <= BAR_GROWTH_MIB,
    )
    verdicts = ["PASS" if good else "FAIL" for good in passed]
    rows = [["eval", *row], ["build", *built_row]]
    host = machine()
    libraries = ", ".join(f"{name} {version}" for name, version in versions().items())
    text = f"""# What Ray costs

Machine: {host["cpu"]}, {host["cores"]} cores, load {host["load"]:.1f}. {libraries}.
Commit {commit()}.

* {verdicts[0]}  `hardy eval` on two nodes of one processor: {share:.0%} of the images/s of
  `--workers 2` (bar {BAR_SHARE:.0%})
* {verdicts[1]}  `hardy build` there: {built_share:.0%} (bar {BAR_BUILD:.0%})
* {verdicts[2]}  the driver feeds {fed:,.0f} blocks/s to two workers that do nothing (bar {BAR_FED})
* {verdicts[3]}  its memory grows by {growth:.1f} MiB at most (bar {BAR_GROWTH_MIB:.0f})

A net of a few convolutions, which takes some ten milliseconds for an image, sees clean images and
contrast at severity 3 of ImageNet-C, made from JPEG photographs; a build writes
{len(BUILT)} corruptions of them. The rate is that of
{MANY - FEW:,} images by which two runs differ, so that what every run takes to start is left out;
the median of {REPEATS} turns.

{grid(["command", "--workers/s", "nodes/s", "share", "from-to"], rows)}

The memory of the driver after each tenth of {FED:,} blocks, by Ray: {in_words(real_sizes)} MiB.
That of its loop alone after each tenth of a million blocks, on a fake clock and with {WORKERS:,}
workers that come within a minute, of which some die and some hang: {in_words(sizes)} MiB.
"""
    print(text)
    (RESULTS / "cluster.md").write_text(text, encoding="utf-8")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
