"""`python -m bench.gpu_runs`: whole runs on a GPU from JPEG files, against their forward passes.

    python -m bench.gpu_runs start=256 [--compile]  a first run: what it waits for, and when
    python -m bench.gpu_runs until=50000            ImageNet-C sampled until mCE is ± 0.5
    python -m bench.gpu_runs sequences=256          ImageNet-P, and what its perturbations take
    python -m bench.gpu_runs trace=1024             where the time goes, a GPU's and the host's
    python -m bench.gpu_runs whole=4096             ImageNet-C
    python -m bench.gpu_runs decode=512             images read a second; see taskset
    python -m bench.gpu_runs nvjpeg=256             what decodes on the GPU, and its bytes

Files are written to a folder build/photos-IMAGES, unless they are there: 2,048 photographs, and
links to them. A ResNet-50 with random weights sees them in bfloat16; that of `until` tosses a coin
for its answer, because what always errs is known at once. `start` and `until` are cold where
TRITON_CACHE_DIR, TORCHINDUCTOR_CACHE_DIR and NUMBA_CACHE_DIR name empty folders. All are measured
in one process, in wall time.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from cProfile import Profile
from functools import cache, partial
from pathlib import Path
from pstats import Stats
from typing import Any

BEGUN = time.perf_counter()
NET = f"torch:{Path(__file__).with_name('devices.py')}:resnet50"
TOSSED = f"torch:{Path(__file__).with_name('devices.py')}:tossed_resnet50"
BATCH = 256
DISTINCT = 2048  # photographs; further files are links to them
# Sides (H, W) in ImageNet's way: most are 500 pixels wide or high, and many are of their own kind.
SIZES = ((375, 500), (375, 500), (333, 500), (375, 500), (500, 375), (500, 500), (375, 500))


CLASSES = ("n01440764", "n01443537")


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
    Image.fromarray(picture).save(file_of(folder, number), quality=90)


def file_of(folder: Path, number: int) -> Path:
    return folder / CLASSES[number % 2] / f"{number:05d}.JPEG"


def photos(count: int) -> Path:
    folder = Path(f"build/photos-{count}")
    if not folder.exists():
        for name in CLASSES:
            (folder / name).mkdir(parents=True)
        with ProcessPoolExecutor() as pool:
            list(pool.map(partial(write_one, folder), range(min(count, DISTINCT)), chunksize=16))
        for number in range(DISTINCT, count):
            os.link(file_of(folder, number % DISTINCT), file_of(folder, number))
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


def until(images: Path, **options: bool) -> None:
    """What the command line takes for `--until 0.5`, but for the start of Python."""
    from hardy.evaluation import evaluate

    rounds: list[str] = []

    def track(steps: Iterable[int], total: int, *how: Any) -> Iterable[int]:
        rounds.append(f"{total:,} predictions from {time.perf_counter() - BEGUN:.1f} s")
        return steps

    with tempfile.TemporaryDirectory() as store:
        run = evaluate(
            TOSSED,
            suite="imagenet_c",
            images=images,
            store=store,
            until=0.5,
            precision="bfloat16",
            track=track,
            warn=lambda text: None,
            **options,
        )
        took = time.perf_counter() - BEGUN
        print(f"until ± 0.5, {options}: {took:.1f} s; {run.score()['mCE']}; {rounds}", flush=True)


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
    from hardy.run.selection import open_subject
    from hardy.suites import load

    subject = open_subject(load(suite), images=images, only=["counted"])
    per_image = subject.predictions / len(subject)
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
    """Milliseconds on the GPU by what they are for, and of the host's main thread."""
    from torch.profiler import ProfilerActivity, profile

    module = compiled()
    few = {"subset": min(count, 256)}
    for suite, what in (("imagenet_c", {"severities": 3}), ("imagenet_p", few)):
        begun, host = time.perf_counter(), Profile()
        host.runcall(evaluated, module, images, suite, **what)
        print(f"{suite}: {time.perf_counter() - begun:.2f} s with its host observed")
        Stats(host).sort_stats("tottime").print_stats(25)
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            begun = time.perf_counter()
            evaluated(module, images, suite, **what)
            took = time.perf_counter() - begun
        spent: Counter[str] = Counter()
        for event in seen.key_averages():
            spent[event.key[:60]] += event.device_time_total / 1000
        print(f"{suite}: {took * 1000:.0f} ms in all, {sum(spent.values()):.0f} on the GPU")
        for name, milliseconds in spent.most_common(30):
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


def nvjpeg(images: Path, count: int) -> None:
    import numpy as np
    import torch
    from PIL import Image
    from torchvision.io import decode_jpeg, read_file

    files = sorted(images.rglob("*.JPEG"))
    content = [read_file(str(file)) for file in files]
    for _ in range(2):  # the first one sets nvJPEG up
        begun = time.perf_counter()
        decoded = decode_jpeg(content, device="cuda")
        torch.cuda.synchronize()
        rate = len(files) / (time.perf_counter() - begun)
    differ, most = [], 0
    for file, pixels in list(zip(files, decoded, strict=True))[:32]:
        with Image.open(file) as image:
            ours = np.asarray(image.convert("RGB")).astype(int)
        apart = np.abs(pixels.permute(1, 2, 0).cpu().numpy() - ours)
        differ.append(np.mean(apart != 0))
        most = max(most, int(apart.max()))
    print(f"{rate:.0f} images/s; {np.mean(differ):.1%} of bytes differ, by up to {most} levels")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu_runs", description=__doc__)
    parser.add_argument("what", nargs="+", metavar="WHAT=IMAGES")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    measures = {"sequences": sequences, "trace": trace, "whole": whole, "decode": decode}
    measures["nvjpeg"] = nvjpeg
    for what in options.what:
        name, _, count = what.partition("=")
        folder = photos(int(count))
        if name in ("start", "until"):
            begin = start if name == "start" else until
            begin(folder, **({"compile": True} if options.compile else {}))
        else:
            measures[name](folder, int(count))


if __name__ == "__main__":
    main()
