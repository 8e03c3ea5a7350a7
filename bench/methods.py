"""`python -m bench.methods`: what the methods' augmentations cost in a step of training.

A step of `standard` is timed, and for each method what it makes of a batch: images on the device,
the augmentation alone and, if CUDA is there, recorded and replayed as the loop does it. The bar is
25 % of the step that the method itself takes: net, as often as its views need it, and augmentation.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from hardy.train.cuda_graphs import WARM_UP, Recorded, running
from hardy.train.method import Classifier, Draw, make_method, to_pixels
from hardy.train.nets import make_net

SIDE, CLASSES = 32, 10
BAR = 25  # percent
# What is done to a batch before the net sees it, and how many times as many images the net sees.
PARTS: dict[str, tuple[Callable[[Any, Tensor], Tensor], int]] = {
    "augmix": (lambda method, images: method.mixtures(images, 2), 3),
    "apr": (lambda method, images: method.paired(method.view(images)), 2),
    "hybrid_augment": (lambda method, images: method.paired(method.view(images)), 2),
    "prime": (lambda method, images: method.mixtures(images, 2), 3),
    "trivial_augment": (lambda method, images: method.view(images), 1),
    "pix_mix": (lambda method, images: method.view(images), 1),
    "afa": (lambda method, images: method.waved(to_pixels(images)), 2),
}


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.methods", description=__doc__)
    parser.add_argument("methods", nargs="*", default=list(PARTS))
    parser.add_argument("--net", default="wrn_40_2")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=50)
    options = parser.parse_args(words)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(
        f"{options.net}, batches of {options.batch}, {SIDE} px, {name}, torch {torch.__version__}"
    )
    print(f"{'method':16} {'augmentation':>13} {'net':>10} {'share':>7}   bar {BAR} %")
    with running(device):
        for method in options.methods:
            made, net = measure(method, options.net, options.batch, options.repeats, device)
            share = 100 * made / (made + net)
            verdict = "" if share <= BAR else "  above"
            print(f"{method:16} {1e3 * made:10.3f} ms {1e3 * net:7.3f} ms {share:5.1f} %{verdict}")
    return 0


def measure(
    name: str, net: str, batch: int, repeats: int, device: torch.device
) -> tuple[float, float]:
    """Seconds of the augmentation of a batch, and of forward and backward of what it yields."""
    part, times = PARTS[name]
    method, draw = make_method(name), Draw(0, device)
    half = (0.5, 0.5, 0.5)
    module = make_net(net, CLASSES).to(device, memory_format=torch.channels_last)
    method.classifier = Classifier(module, half, half).to(device).train()
    method.batch = batch
    method.begin(draw, (3, SIDE, SIDE))
    method.begin_epoch(0, method.classifier, iter(()))
    images = draw.integers(256, batch, 3, SIDE, SIDE).to(torch.uint8)
    views = to_pixels(images).repeat(times, 1, 1, 1)
    labels = draw.integers(CLASSES, times * batch)
    compiles = device.type == "cuda"
    model = torch.compile(method.classifier, dynamic=False) if compiles else method.classifier

    def augment(batch: Tensor) -> None:
        part(method, batch)

    def learn(batch: Tensor) -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=compiles):
            loss = functional.cross_entropy(model(batch), labels)
        loss.backward()

    return (
        seconds(augment, images, draw.there, repeats),
        seconds(learn, views, draw.there, repeats),
    )


def seconds(
    work: Callable[[Tensor], None], batch: Tensor, generator: torch.Generator, repeats: int
) -> float:
    """The median; on a GPU of what was recorded."""
    cuda = batch.device.type == "cuda"
    step = Recorded(work, generator) if cuda else work
    for _ in range(WARM_UP + 2):
        step(batch)
    found = []
    for _ in range(repeats):
        if cuda:
            torch.cuda.synchronize()
        started = time.perf_counter()
        step(batch)
        if cuda:
            torch.cuda.synchronize()
        found.append(time.perf_counter() - started)
    return statistics.median(found)


if __name__ == "__main__":
    raise SystemExit(main())
