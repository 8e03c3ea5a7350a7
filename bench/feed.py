"""`python -m bench.feed IMAGES ...`: how fast streamed images, from files or packs, feed a net.

Three rates in images a second, at one batch size: of the net alone, on batches that lie on the
device; of the feed alone, which reads, decodes, cuts and moves; and of both together. The last over
the first is the share of the net's rate that is fed. `--net none` tells of the feed alone, also for
a second of one processor. `--decode both` has a GPU decode half of the JPEG files. A machine that
is timed must have nothing else to do.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from itertools import count

import torch
from torch import Tensor
from torch.nn import functional

from bench.cpu import commit, machine, versions
from hardy.execute import count_workers
from hardy.train.crops import DECODED_THERE, ScaleCrop
from hardy.train.method import Classifier, Draw, to_pixels
from hardy.train.nets import make_net, normalisation
from hardy.train.training_data import Streaming, open_data

WARM_UP = 5  # batches before the clock starts: kernels are compiled, threads run ahead

Batches = Iterator[tuple[Tensor, Tensor]]


def rate(batches: Batches, step: Callable[[Tensor, Tensor], object], steps: int) -> float:
    """Images a second through so many steps, after those that warm up."""
    seen = 0
    for number, (images, labels) in enumerate(batches):
        if number == WARM_UP:
            _finish(images)
            started = time.perf_counter()
        step(images, labels)
        seen += len(images) if number >= WARM_UP else 0
        if number + 1 == WARM_UP + steps:
            break
    _finish(images)
    return seen / (time.perf_counter() - started)


def _finish(images: Tensor) -> None:
    if images.is_cuda:
        torch.cuda.synchronize()


def trainer(name: str, classes: int, device: torch.device) -> Callable[[Tensor, Tensor], object]:
    """A plain step of training, compiled and in bfloat16 on a GPU."""
    net = make_net(name, classes, 1, False).to(device, memory_format=torch.channels_last)
    model = Classifier(net, *normalisation(name, net)).to(device).train()
    optimizer = torch.optim.SGD(net.parameters(), 1e-3, momentum=0.9)
    cuda = device.type == "cuda"
    shown = torch.compile(model, dynamic=False) if cuda else model

    def step(images: Tensor, labels: Tensor) -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=cuda):
            loss = functional.cross_entropy(shown(to_pixels(images)).float(), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def measured(images: str, asked: argparse.Namespace, device: torch.device, workers: int) -> str:
    """What is found for one image set."""
    began = time.perf_counter()
    streaming = Streaming(True, ScaleCrop(asked.side), workers, decode=asked.decode)
    data = open_data(images, device, streaming)
    listed = time.perf_counter() - began
    feed = data.feed(asked.batch, Draw(0, device))

    def streamed() -> Batches:
        return (batch for epoch in count() for batch in feed.epoch(epoch))

    used = time.process_time()
    reading = rate(streamed(), lambda images, labels: None, asked.steps)
    used = (time.process_time() - used) / ((WARM_UP + asked.steps) * asked.batch)
    found = f"{data.described}, listed in {listed:.1f} s\n"
    if asked.net == "none":
        return f"{found}the feed alone {reading:,.0f} images/s, {1 / used:,.0f} by a processor"
    step = trainer(asked.net, data.classes, device)
    lying = next(streamed())
    alone = rate((lying for _ in count()), step, asked.steps)
    both = rate(streamed(), step, asked.steps)
    return (
        f"{found}the net alone {alone:,.0f} images/s, the feed alone {reading:,.0f}, both "
        f"{both:,.0f}: {both / alone:.0%} of the net's rate"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.feed")
    parser.add_argument(
        "images", nargs="+", help="class folders, packs, tar shards or Parquet, with labels"
    )
    parser.add_argument("--net", default="torchvision:resnet50", help="or none")
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--decode", default="threads", choices=DECODED_THERE)
    asked = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    workers = count_workers(asked.workers)
    host = machine()
    where = torch.cuda.get_device_name() if device.type == "cuda" else "no GPU"
    libraries = ", ".join(f"{name} {version}" for name, version in versions().items())
    print(
        f"{host['cpu']}, {os.cpu_count()} cores, {where}, torch {torch.__version__}, {libraries}, "
        f"commit {commit()}\n"
        f"{asked.net} at {asked.side}, batches of {asked.batch}, {workers} threads, decoded by "
        f"{asked.decode}, {asked.steps} steps"
    )
    for images in asked.images:
        print(measured(images, asked, device, workers))


if __name__ == "__main__":
    main()
