"""`python -m bench.devices cpu`: images a second on one device and on two, which share a run.

`python -m bench.devices 0` has two processes share one GPU: the devices are "0" and "0,0". A few
convolutions (on the CPU, one severity) or a ResNet-50 (on a GPU, all) see ImageNet-C, made from
JPEG photographs. One device on the CPU is one processor, and two are two. Starting processes,
loading models and checking them on the first images takes as long for few images as for many, so
the rate is that of the images by which two runs differ. The exit status is 1 when a bar fails.
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
from typing import Any, NamedTuple

from bench import gpu_runs
from bench.overhead import write_photos
from hardy.evaluation import evaluate
from hardy.run.prepared import CHECKED


class Race(NamedTuple):
    """What is evaluated on a kind of device, and how much faster two must be than one."""

    net: str
    severities: int | None  # one of them, or all
    few: int  # images; from CHECKED on, the check before a run takes no longer
    many: int
    repeats: int
    photos: Callable[[Path, int], Path]
    bar: float


ON_CPU = Race("convolutions", 3, CHECKED, 3 * CHECKED, 2, write_photos, 1.8)
# Photographs are links to some: a GPU sees more than can be written in a minute.
ON_GPU = Race("resnet50", None, 512, 3072, 1, lambda _, count: gpu_runs.photos(count), 1.0)


def convolutions() -> Any:
    """A net that takes some ten milliseconds for an image on a CPU."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [nn.Conv2d(a, b, 3, 2, 1) for a, b in ((3, 32), (32, 64), (64, 128), (128, 256))]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 1000))


def resnet50() -> Any:
    import torch
    from torchvision import models

    torch.manual_seed(0)
    return models.resnet50().eval()


def tossed_resnet50() -> Any:
    """A ResNet-50 that takes every second image for the first class and the others for the second,
    by what looks like chance: the parity of what it sees."""
    import torch
    from torch import nn

    class Tossed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = resnet50()

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            coin = (images.float() * 64).round().sum((1, 2, 3)) % 2
            logits = self.net(images).float()
            toss = torch.stack([coin, 1 - coin], 1) * 10
            return torch.cat([toss, 1e-6 * torch.tanh(logits[:, 2:])], 1)

    return Tossed().eval()


@contextmanager
def processors_for(devices: str) -> Iterator[None]:
    """Leave one processor to one CPU device, which would use all of them, and so be no half of
    two."""
    every = os.sched_getaffinity(0)
    try:
        if devices == "cpu":
            os.sched_setaffinity(0, {min(every)})
        yield
    finally:
        os.sched_setaffinity(0, every)


def seconds(race: Race, devices: str, images: Path) -> float:
    with tempfile.TemporaryDirectory() as store, processors_for(devices):
        start = time.perf_counter()
        evaluate(
            f"torch:{__file__}:{race.net}",
            suite="imagenet_c",
            images=images,
            severities=race.severities,
            store=store,
            devices=devices,
            precision="float32" if devices.startswith("cpu") else "bfloat16",
            warn=lambda text: None,
        )
        return time.perf_counter() - start


def rate(race: Race, devices: str, few: Path, many: Path) -> float:
    """Images a second, without what every run takes."""
    before, after = (seconds(race, devices, images) for images in (few, many))
    return (race.many - race.few) / (after - before)


def main(arguments: list[str]) -> int:
    (device,) = arguments or ["cpu"]
    race = ON_CPU if device == "cpu" else ON_GPU
    with tempfile.TemporaryDirectory() as folder:
        few, many = (race.photos(Path(folder, str(n)), n) for n in (race.few, race.many))
        seconds(race, device, few)  # kernels are compiled and kept
        rates: dict[str, list[float]] = {device: [], f"{device},{device}": []}
        for _ in range(race.repeats):
            for devices, found in rates.items():
                found.append(rate(race, devices, few, many))
    for devices, found in rates.items():
        every = ", ".join(f"{each:.1f}" for each in found)
        print(f"{devices}: {median(found):.1f} images/s, the median of {every}")
    one, two = map(median, rates.values())
    print(f"two are {two / one:.2f} times one; the bar is {race.bar}")
    return 0 if two >= race.bar * one else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
