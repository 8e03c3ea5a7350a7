"""`python -m bench.methods`: what the methods' augmentations cost in a step of training.

What a method makes of a batch is timed alone: images on the device and, if CUDA is there, recorded
and replayed as the loop does it. Where it cannot be told from the net's own work, as under noise in
features or against an adversary, it is what the step takes beyond the net. The bar is 25 % of the
step that the method itself takes: net, as often as its views need it, and augmentation.
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
Part = Callable[[Any, Tensor], Tensor]


def augmented(method: Any, images: Tensor) -> Tensor:
    made: Tensor = method.augment(to_pixels(images))
    return made


# What is done to a batch before the net sees it, where that is all, and how many times as many
# images the net sees. Those that are missing do nothing in a step but the net's own.
PARTS: dict[str, tuple[Part | None, int]] = {
    **dict.fromkeys(("gauss_single", "gauss_mult", "speckle"), (augmented, 1)),
    **dict.fromkeys(("patch_gaussian", "patch_uniform"), (augmented, 1)),
    **dict.fromkeys(("noise2net", "deep_augment"), (augmented, 1)),
    **dict.fromkeys(("ant", "ant3x3"), (None, 1)),
    "stability": (lambda method, images: method.noisy(to_pixels(images)), 2),
    "alp": (None, 2),
    "noisy_mix": (None, 3),
    "augmix": (lambda method, images: method.mixtures(images, 2), 3),
    "apr": (lambda method, images: method.paired(method.view(images)), 2),
    "hybrid_augment": (lambda method, images: method.paired(method.view(images)), 2),
    "prime": (lambda method, images: method.mixtures(images, 2), 3),
    "trivial_augment": (lambda method, images: method.view(images), 1),
    "pix_mix": (lambda method, images: method.view(images), 1),
    "best": (lambda method, images: torch.cat(method.both(images)), 2),
    "afa": (lambda method, images: method.waved(to_pixels(images)), 2),
}
# How good its networks are changes nothing in what they cost.
SETTINGS = {"deep_augment": {"steps": 0}}


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
    method, draw = make_method(name, SETTINGS.get(name)), Draw(0, device)
    half = (0.5, 0.5, 0.5)
    module = make_net(net, CLASSES).to(device, memory_format=torch.channels_last)
    method.classifier = Classifier(module, half, half).to(device).train()
    method.batch, method.epochs, method.all_steps = batch, 1, 1
    method.begin(draw, (3, SIDE, SIDE))
    method.begin_epoch(0, method.classifier, iter(()))
    images = draw.integers(256, batch, 3, SIDE, SIDE).to(torch.uint8)
    views = to_pixels(images).repeat(times, 1, 1, 1)
    labels = draw.integers(CLASSES, batch)
    compiles = device.type == "cuda"
    model = torch.compile(method.classifier, dynamic=False) if compiles else method.classifier

    def mixed() -> Any:
        return torch.autocast(device.type, torch.bfloat16, enabled=compiles)

    def augment(batch: Tensor) -> None:
        assert part is not None
        with mixed():
            part(method, batch)

    def learn(batch: Tensor) -> None:
        with mixed():
            loss = functional.cross_entropy(model(batch), labels.repeat(times))
        loss.backward()

    def descend(batch: Tensor) -> None:
        with mixed():
            loss = method.loss(model, batch, labels)
        loss.backward()

    net = seconds(learn, views, draw.there, repeats)
    if part is not None:
        return seconds(augment, images, draw.there, repeats), net
    return max(0.0, seconds(descend, images, draw.there, repeats) - net), net


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
