"""`python -m bench.first_step 1280000`: a training on so many files, from start to steps.

    python -m bench.first_step 1280000 --side 224 --net torchvision:resnet50 --steps 2000

Files are hard links, in 1,000 class folders, to 350 distinct JPEGs of ImageNet's sizes;
they are made in a folder build/links-FILES, unless it is there. Said are the seconds since the
start of Python after which all files are listed and the first step is done, the rate of the others,
and the memory of the process after the first, the hundredth and the last: it must not grow.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

BEGUN = time.perf_counter()
CLASSES = 1000
DISTINCT = 350  # a file system gives a file 65,000 names at most
SETTLED = 100  # steps after which memory has been taken


class Done(Exception):
    """Enough steps have been seen."""


def links(files: int) -> Path:
    """The folder of that many hard links."""
    folder = Path(f"build/links-{files}")
    if not folder.exists():
        from bench.gpu_runs import photos

        sources = sorted(photos(DISTINCT).rglob("*.JPEG"))
        making = folder.with_suffix(".unfinished")
        with ProcessPoolExecutor() as pool:
            list(pool.map(partial(_link_class, making, files, sources), range(CLASSES)))
        making.rename(folder)
    return folder


def _link_class(folder: Path, files: int, sources: list[Path], number: int) -> None:
    place = folder / f"class-{number:04}"
    place.mkdir(parents=True, exist_ok=True)
    for file in range(number, files, CLASSES):
        target = place / f"{file:08}.JPEG"
        if not target.exists():
            os.link(sources[file % len(sources)], target)


def watched(steps: int, marks: dict[str, str]) -> Any:
    """What a training is shown by, which ends it after so many steps, and notes when they came."""
    from bench.child import resident_mb

    def note(name: str) -> None:
        now, peak = resident_mb()
        marks[name] = f"{time.perf_counter() - BEGUN:.1f} s, {now:,.0f} MB (most {peak:,.0f})"

    def track(items: Iterable[Any], total: int, unit: str) -> Iterator[Any]:
        if not unit.startswith("steps"):
            yield from items
            return
        for number, item in enumerate(items):
            if number in (1, SETTLED, steps):
                note(f"step {number}")
            if number == steps:
                raise Done
            yield item
        note("the last step")

    return track


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.first_step", description=__doc__)
    parser.add_argument("files", type=int)
    parser.add_argument("--net", default="torchvision:resnet50")
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--decode", default="threads")
    asked = parser.parse_args()
    began = time.perf_counter()
    folder = links(asked.files)
    print(f"{folder}, made or found in {time.perf_counter() - began:.1f} s")
    global BEGUN
    BEGUN += time.perf_counter() - began
    import hardy

    marks: dict[str, str] = {}

    def say(line: str) -> None:
        marks.setdefault("listed", f"{time.perf_counter() - BEGUN:.1f} s")

    with tempfile.TemporaryDirectory() as out, suppress(Done):
        hardy.train(
            "standard",
            data=folder,
            out=Path(out) / "net",
            net=asked.net,
            side=asked.side,
            batch=asked.batch,
            decode=asked.decode,
            epochs=90,
            say=say,
            track=watched(asked.steps, marks),
        )
    print(*(f"{name}: {what}" for name, what in marks.items()), sep="\n")


if __name__ == "__main__":
    main()
