"""`python -m bench.laptop`: how long a real ImageNet classifier takes for ImageNet-C on this
machine, when the score need not be more precise than ± 1 point.

EfficientNet-Lite0 (`hardy fetch models`) sees a folder of 50,000 files: the twenty photographs with
ImageNet's labels that the demo shows, under 2,500 names each, which corruptions tell apart. So the
cost of an image and of a prediction are those of a real set; the score is not, and how many
predictions it takes depends on how much photographs differ, which twenty hardly tell.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import hardy
from bench.cpu import machine
from hardy.demonstration import unpack_photos
from hardy.images.demo_photos import fetch_wheels
from hardy.progress import in_time
from hardy.scores.stored_sample import find_sample

FILES = 50_000


def link_photos(folder: Path, home: Path) -> Path:
    """The photographs of the demo, under many names each."""
    wheel = next(fetch_wheels().glob("foolbox-*.whl"))
    unpack_photos(wheel, home)
    photos = sorted(home.rglob("*.jpg"))
    for number in range(FILES):
        photo = photos[number % len(photos)]
        place = folder / photo.parent.name
        place.mkdir(parents=True, exist_ok=True)
        os.link(photo, place / f"{photo.stem}_{number:05}.jpg")
    return folder


def main() -> None:
    hardy.fetch("models", "efficientnet_lite0")
    with tempfile.TemporaryDirectory() as place:
        images = link_photos(Path(place, "images"), Path(place, "photos"))
        began = time.monotonic()
        run = hardy.evaluate(
            "zoo:efficientnet_lite0",
            suite="imagenet_c",
            images=images,
            store=Path(place, "runs"),
            until=1,
        )
        took = time.monotonic() - began
        sample = find_sample(run.stored)
        assert sample is not None
        made, every = sample.predictions
        print(machine())
        print(run.score())
        each = took / made
        print(f"{made:,} of {every:,} predictions in {in_time(took)}: {1e3 * each:.1f} ms each")
        print(f"all of them would take {in_time(each * every)} at that rate")


if __name__ == "__main__":
    main()
