"""`python -m bench.gpu_runs`: whole runs on a GPU from JPEG files, against their forward passes.

    python -m bench.gpu_runs start=256 [--compile]  a first run: what it waits for, and when
    python -m bench.gpu_runs sequences=256          ImageNet-P, and what its perturbations take
    python -m bench.gpu_runs trace=1024             where a GPU's time goes in ImageNet-C
    python -m bench.gpu_runs whole=4096             ImageNet-C
    python -m bench.gpu_runs decode=512             images read a second; see taskset

Files are written to a folder build/photos-IMAGES, unless they are there. A ResNet-50 with random
weights sees them in bfloat16. `start` is cold where TRITON_CACHE_DIR and TORCHINDUCTOR_CACHE_DIR
name empty folders. All are measured in one process, in wall time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

BEGUN = time.perf_counter()
NET = f"torch:{Path(__file__).with_name('devices.py')}:resnet50"
BATCH = 256
# Sides (H, W) in ImageNet's way: most are 500 pixels wide or high, and many are of their own kind.
SIZES = ((375, 500), (375, 500), (333, 500), (375, 500), (500, 375), (500, 500), (375, 500))


def write_one(folder: Path, number: int) -> None:
    import numpy as np
    from PIL import Image

    from bench.photos import PHOTOS
    from bench.photos import folder as package_folder

    package, name = PHOTOS[number % len(PHOTOS)]
    height, width = SIZES[number % len(SIZES)]
    if number % 3 == 2:  # of its own kind
        height, width = height + number % 61, width - number % 53
    with Image.open(package_folder(package) / name) as photo:
        picture = np.asarray(photo.convert("RGB").resize((560, 560)))
    picture = np.roll(picture, 17 * number, axis=1)[:height, :width]
    target = folder / ("n01440764", "n01443537")[number % 2] / f"{number:05d}.JPEG"
    Image.fromarray(picture).save(target, quality=90)


def photos(count: int) -> Path:
    folder = Path(f"build/photos-{count}")
    if not folder.exists():
        for name in ("n01440764", "n01443537"):
            (folder / name).mkdir(parents=True)
        with ProcessPoolExecutor() as pool:
            list(pool.map(partial(write_one, folder), range(count), chunksize=16))
    return folder


def evaluated(model: Any, images: Path, suite: str, **options: Any) -> Any:
    from hardy.evaluation import evaluate

    with tempfile.TemporaryDirectory() as store:
        how: dict[str, Any] = {"precision": "bfloat16", "batch": BATCH, "warn": lambda text: None}
        return evaluate(model, suite=suite, images=images, store=store, **how, **options)


def start(images: Path, **options: bool) -> None:
    marks = {"imported": 0.0}

    def mark(name: str) -> None:
        marks.setdefault(name, time.perf_counter() - BEGUN)

    def track(steps: Iterable[int], total: int, *how: Any) -> Iterator[int]:
        mark("ready to predict")
        for number, step in enumerate(steps):
            mark("first batch" if number == 0 else "second cell")
            yield step

    from hardy.evaluation import evaluate  # noqa: F401, part of what is timed

    marks["imported"] = time.perf_counter() - BEGUN
    announced = partial(mark, "model loaded")
    evaluated(NET, images, "imagenet_c", track=track, announce=lambda _: announced(), **options)
    mark("done")
    loaded = [name for name in ("numba", "timm") if name in sys.modules]
    print(f"start {options}:", ", ".join(
        f"{name} {seconds:.1f} s" for name, seconds in marks.items()
    ), loaded, flush=True)  # fmt: skip


@cache
def compiled() -> Any:
    import torch

    from bench.gpu_eval import resnet50

    torch.set_float32_matmul_precision("high")
    return resnet50()


def forward(module: Any, passes: int) -> float:
    """Seconds of a batch."""
    import torch

    images = torch.randn((BATCH, 3, 224, 224), device="cuda")
    images = images.to(memory_format=torch.channels_last)
    with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16):
        for count in (5, passes):
            torch.cuda.synchronize()
            begun = time.perf_counter()
            for _ in range(count):
                module(images)
            torch.cuda.synchronize()
    return (time.perf_counter() - begun) / passes


def race(module: Any, images: Path, count: int, suite: str, **options: Any) -> None:
    from hardy.suites import load

    chosen = load(suite)
    per_image = 76
    if chosen.kind == "perturbations":
        per_image = sum(chosen.edition.steps(name).frames for name in chosen.counted)
    alone = forward(module, 100) / BATCH * count * per_image
    begun = time.perf_counter()
    evaluated(module, images, suite, **options)
    took = time.perf_counter() - begun
    again = forward(module, 100) / BATCH * count * per_image
    print(
        f"{suite}, {count:,} images: {took:.2f} s, forward {alone:.2f} and {again:.2f} s, "
        f"{2 * took / (alone + again):.3f} times",
        flush=True,
    )


def whole(images: Path, count: int) -> None:
    race(compiled(), images, count, "imagenet_c")


def sequences(images: Path, count: int) -> None:
    module = compiled()
    for _ in range(2):  # kernels are loaded by the first
        race(module, images, count, "imagenet_p")
    cells(images)


def cells(images: Path) -> None:
    """What each perturbation of one block takes: the host to ask for it, the GPU to make it."""
    import numpy as np
    import torch

    from hardy.run.selection import open_subject
    from hardy.suites import load

    subject: Any = open_subject(load("imagenet_p"), images=images, only=["counted"])
    loaded = subject.load(np.arange(24))
    begun = time.perf_counter()
    chunk = loaded.chunk.on("cuda:0")
    torch.cuda.synchronize()
    print(f"on the device: {1000 * (time.perf_counter() - begun):.1f} ms")
    for cell in subject.cells:
        for _ in range(2):
            torch.cuda.synchronize()
            begun = time.perf_counter()
            chunk.make(cell)
            asked = time.perf_counter()
            torch.cuda.synchronize()
            done = time.perf_counter()
        print(f"{cell}: asked {1000 * (asked - begun):.1f} ms, made {1000 * (done - begun):.1f} ms")


def trace(images: Path, count: int) -> None:
    """Milliseconds on the GPU by what they are for."""
    from torch.profiler import ProfilerActivity, profile

    module = compiled()
    what: dict[str, Any] = {"severities": 3, "subset": min(count, 1024)}
    evaluated(module, images, "imagenet_c", **what)
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        begun = time.perf_counter()
        evaluated(module, images, "imagenet_c", **what)
        took = time.perf_counter() - begun
    spent: Counter[str] = Counter()
    for event in seen.key_averages():
        spent[event.key[:60]] += event.device_time_total / 1000
    print(f"{took * 1000:.0f} ms in all, {sum(spent.values()):.0f} on the GPU")
    for name, milliseconds in spent.most_common(45):
        print(f"{milliseconds:9.1f}  {name}")


def decode(images: Path, count: int) -> None:
    import numpy as np

    from hardy.execute import Threads, processors
    from hardy.run.selection import open_subject
    from hardy.suites import load

    subject: Any = open_subject(load("imagenet_c"), images=images, only=["counted"])
    subject.read(np.arange(8))
    pieces = np.split(np.arange(count), range(16, count, 16))
    begun = time.perf_counter()
    for _ in Threads(processors()).run(lambda: subject.read, pieces):
        pass
    rate = count / (time.perf_counter() - begun)
    print(f"{processors()} cores: {rate:.0f} images/s read", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu_runs", description=__doc__)
    parser.add_argument("what", nargs="+", metavar="WHAT=IMAGES")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    measures = {"sequences": sequences, "trace": trace, "whole": whole, "decode": decode}
    for what in options.what:
        name, _, count = what.partition("=")
        folder = photos(int(count))
        if name == "start":
            start(folder, **({"compile": True} if options.compile else {}))
        else:
            measures[name](folder, int(count))


if __name__ == "__main__":
    main()
