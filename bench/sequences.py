"""`python -m bench.sequences`: all 14 perturbation sequences of one photograph, on one core.

From the base image (shorter side 256) to all frames of the centre 224 x 224, in processor time,
which other work on the machine disturbs least. The exit status is 1 when the bar fails.
"""

from __future__ import annotations

import sys
from statistics import median
from time import process_time

from PIL import Image

import hardy
from bench.photos import PHOTOS, folder
from hardy.images.recipes import RECIPES
from hardy.suites import load
from hardy.suites.stage import Stage

BAR_MS = 500.0
REPEATS = 9


def milliseconds(stage: Stage, name: str) -> float:
    edition = load("imagenet_p").edition
    times = []
    for _ in range(REPEATS + 1):  # the first one compiles
        start = process_time()
        for _ in stage.frames(edition, name, 1, seed=0, id=0):
            pass
        times.append(process_time() - start)
    return 1000 * median(times[1:])


def main() -> int:
    package, name = PHOTOS[0]
    with Image.open(folder(package) / name) as photo:
        stage = Stage.of(photo, RECIPES[load("imagenet_p").recipe])
    total = 0.0
    for name in hardy.perturbations():
        frames = load("imagenet_p").edition.steps(name).frames
        spent = milliseconds(stage, name)
        total += spent
        print(f"{name:<16}{spent:8.1f} ms{frames:5} frames{spent / frames:9.3f} ms each")
    verdict = "holds" if total <= BAR_MS else "fails"
    print(f"{'all':<16}{total:8.1f} ms, at most {BAR_MS:.0f}: {verdict}")
    return int(total > BAR_MS)


if __name__ == "__main__":
    sys.exit(main())
