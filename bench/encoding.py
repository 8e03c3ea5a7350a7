"""The yardstick of `bench.build`: encoding alone, of the outputs that the build writes."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Images whose outputs are in memory at a time; they are made outside of the timed part.
BLOCK = 16


def opencv(image: NDArray[np.uint8]) -> bytes:
    """The one that the build uses."""
    from hardy.variants.disk import encode

    return encode.jpeg(image, 85)


def pillow(image: NDArray[np.uint8]) -> bytes:
    """The one that the benchmark was written with, whose pixels are the measure."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=85, optimize=True)
    return file.getvalue()


ENCODERS = {"pillow": pillow, "opencv": opencv}


def variants(folder: Path) -> Any:
    """The outputs of the photographs in a folder, as `build` makes them."""
    from hardy.images.readers import open_images
    from hardy.suites import load
    from hardy.variants.generated import Generated

    suite = load("imagenet_c")
    source = open_images(folder, id_rule=suite.id_rule)
    return Generated(suite, source, stored=False)


def _share(folder: str, indices: Sequence[int], barrier: Any, results: Any) -> None:
    """One process. All meet before and after every timed part, so that they encode together."""
    from hardy.suites.cells import choose_cells

    made_by = variants(Path(folder))
    cells = choose_cells(made_by.suite)
    seconds = {f"{name}_{clock}": 0.0 for name in ENCODERS for clock in ("wall", "cpu")}
    for start in range(0, len(indices), BLOCK):
        chunk = made_by.chunk(indices[start : start + BLOCK])
        outputs = [image for cell in cells for image in chunk.make(cell)]
        for name, encoder in ENCODERS.items():
            barrier.wait()
            began = time.perf_counter(), time.process_time()
            for image in outputs:
                encoder(image)
            seconds[f"{name}_cpu"] += time.process_time() - began[1]
            barrier.wait()
            seconds[f"{name}_wall"] += time.perf_counter() - began[0]
    results.put(seconds)


def encode_alone(folder: Path, indices: Sequence[int], workers: int) -> dict[str, float]:
    """Seconds per encoder for the outputs of some images, `workers` processes working together.

    Wall seconds are those of all together, CPU seconds their sum.
    """
    if len(indices) % (workers * BLOCK):
        raise ValueError(f"expected a multiple of {workers * BLOCK} images, got {len(indices)}")
    context = get_context("spawn")
    barrier, results = context.Barrier(workers), context.Queue()
    processes = [
        context.Process(target=_share, args=(str(folder), indices[k::workers], barrier, results))
        for k in range(workers)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            raise SystemExit("a process of the bench died")
    found = [results.get() for _ in processes]
    return {
        key: (max if key.endswith("wall") else sum)(one[key] for one in found) for key in found[0]
    }
