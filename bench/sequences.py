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
from bench.cpu import RESULTS, commit, machine, versions
from bench.photos import PHOTOS, folder
from bench.table import grid
from hardy.images.recipes import RECIPES
from hardy.suites import load
from hardy.variants.base_picture import BasePicture

BAR_MS = 500.0
REPEATS = 9


def milliseconds(stage: BasePicture, name: str) -> list[float]:
    edition = load("imagenet_p").edition
    times = []
    for _ in range(REPEATS + 1):  # the first one compiles
        start = process_time()
        for _ in stage.frames(edition, name, 1, seed=0, id=0):
            pass
        times.append(1000 * (process_time() - start))
    return sorted(times[1:])


def main() -> int:
    package, name = PHOTOS[0]
    with Image.open(folder(package) / name) as photo:
        stage = BasePicture.of(photo, RECIPES[load("imagenet_p").recipe])
    rows, total = [], 0.0
    for name in hardy.perturbations():
        frames, times = load("imagenet_p").edition.steps(name).frames, milliseconds(stage, name)
        total += median(times)
        spread = f"{times[len(times) // 4]:.1f}-{times[-1 - len(times) // 4]:.1f}"
        rows.append([name, f"{median(times):.1f}", spread, str(frames)])
    verdict = "PASS" if total <= BAR_MS else "FAIL"
    host = machine()
    libraries = ", ".join(f"{name} {version}" for name, version in versions().items())
    text = f"""# All 14 sequences of one photograph

Machine: {host["cpu"]}, {host["cores"]} cores. {libraries}. Commit {commit()}.

* {verdict}  all 14 sequences at 224 within {BAR_MS:.0f} ms of one core: {total:.0f} ms

Process-CPU milliseconds from the base image to all frames, median (quartiles) of {REPEATS}.

{grid(["perturbation", "ms", "quartiles", "frames"], rows)}
"""
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "sequences.md").write_text(text)
    return int(total > BAR_MS)


if __name__ == "__main__":
    sys.exit(main())
