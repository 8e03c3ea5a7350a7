"""Run by torchrun: data, folder. Each process prints what `test_ranks.py` then compares."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from hashlib import sha256
from itertools import count, islice
from pathlib import Path

import torch

from hardy.train import NETS, checkpoint, loop, tested
from hardy.train.blurpool import Halving
from hardy.train.crops import ScaleCrop
from hardy.train.loop import Training, run_training
from hardy.train.method import Draw, make_method
from hardy.train.processes import Ranks, joined
from hardy.train.training_data import Data, Streaming, batches, open_data, read_data
from tests.train.small import CPU, NARROW, make_narrow
from tests.train.test_loop import killed_in
from tests.train.tiny import linear_net

SETTINGS = {"restart_steps": "2"}


def make_linear(classes: int, halving: Halving) -> torch.nn.Module:
    return linear_net(3 * 16 * 16, classes)


def unequal_parts(data: Data, ranks: Ranks) -> list[float]:
    """The loss of an epoch of two batches, 35 and 29, and some of the weights after it. All is as
    in one process: no batch norm, and images that stay as they are when cropped and flipped."""
    black = replace(data, images=torch.zeros_like(data.images))
    recipe = replace(NARROW, net="linear", batch=35)
    training = Training(make_method("standard"), black, recipe, CPU, ranks)
    training.run_epoch(lambda steps, total, unit: steps)
    weights = torch.cat([weight.flatten() for weight in training.net.parameters()])
    return [training.log[0]["loss"], *weights[-9:].tolist()]


def streamed(source: str, ranks: Ranks) -> list[float]:
    """The losses of two epochs of images that are cut and corrupted as they are read, in batches of
    35 and 29, and some of the weights: as in one process, since crops and noise hang on the image.
    """
    data = open_data(source, CPU, Streaming(True, ScaleCrop(16), workers=ranks.rank + 1))
    recipe = replace(NARROW, net="linear", batch=35)
    method = make_method("corrupted", {"corruption": "gaussian_noise"})
    training = Training(method, data, recipe, CPU, ranks)
    for _ in range(2):
        training.run_epoch(lambda steps, total, unit: steps)
    weights = torch.cat([weight.flatten() for weight in training.net.parameters()])
    return [*(row["loss"] for row in training.log), *weights[-9:].tolist()]


def streamed_images(source: str, ranks: Ranks) -> list[list[str]]:
    """Sums of the images of the first 50 batches that this process gets, read while it trains."""
    stream = open_data(source, CPU, Streaming(True, ScaleCrop(8), workers=2))
    feed = stream.feed(11, Draw(0, CPU, ranks))
    every = (images for epoch in count() for images, _ in feed.epoch(epoch))
    return [
        [sha256(image.numpy().tobytes()).hexdigest() for image in images]
        for images in islice(every, 50)
    ]


def unreadable(folder: Path, out: Path, ranks: Ranks) -> str:
    """What is listed of photographs that this process and the other could not read."""
    stream = open_data(str(folder), CPU, Streaming(True, ScaleCrop(16), most_unreadable=0.5))
    run_training("standard", stream, out, replace(NARROW, batch=12, epochs=1), ranks=ranks)
    return (out / "unreadable.txt").read_text()


def main(source: str, out: Path) -> None:
    NETS.add("narrow", make_narrow)
    NETS.add("linear", make_linear)
    loop.SAVE_SECONDS = 0.0
    checkpoint.WITHIN_SECONDS, checkpoint._AGREE_STEPS = 0.0, 1  # it resumes within an epoch
    tested._FEW = 2  # images that every process reads, beside its own
    recipe = replace(NARROW, deterministic=True)
    with joined("cpu") as ranks:
        data = read_data(source, CPU)
        draw = Draw(0, CPU, ranks)
        sizes = [len(labels) for _, labels in batches(data, recipe.batch, draw)]
        mine = torch.tensor([float(ranks.rank), 1.0])
        ranks.average([mine[:1], mine[1:]])
        weighted = torch.tensor(float(ranks.rank))
        ranks.average([weighted], ranks.rank + 1)

        training = Training(make_method("ant", SETTINGS), data, recipe, CPU, ranks)
        noise = training.draw.normal(4)
        training.run_epoch(lambda steps, total, unit: steps)
        state = {**training.net.state_dict(), **training.method.state()}
        weights = torch.cat([tensor.double().flatten() for tensor in state.values()])

        run_training("ant", data, out / "whole", recipe, settings=SETTINGS, ranks=ranks)
        try:
            run_training(
                *("ant", data, out / "cut", recipe),
                settings=SETTINGS,
                ranks=ranks,
                track=killed_in(2),
            )
        except KeyboardInterrupt:
            ranks.wait()
        resumed = run_training("ant", data, out / "cut", recipe, settings=SETTINGS, ranks=ranks)
        told = {
            "sizes": sizes,
            "averaged": mine.tolist(),
            "weighted": weighted.item(),
            "unequal": unequal_parts(data, ranks),
            "streamed": streamed(source, ranks),
            "unreadable": unreadable(out / "photos", out / "streamed", ranks),
            "noise": noise.tolist(),
            "streamed_images": streamed_images(source, ranks),
            "weights": float((weights * torch.arange(len(weights))).sum()),
            "resumed": resumed.epochs,
        }
    left = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    told["threads"] = [name for name in left if "gloo" in name]
    (out / f"{os.environ['RANK']}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
