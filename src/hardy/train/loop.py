"""The training loop. A `Method` says what happens to a batch and what the loss is.

A run is a function of its method, data, recipe and seed: whatever is random comes from the `Draw`
of the run, whose state is part of each checkpoint, so that a killed run resumes to the same
weights, on a GPU with `deterministic` only.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hardy.errors import HardyError, InputError
from hardy.models.checkpoint import load_checkpoint
from hardy.models.model import hash_files
from hardy.registry import unknown
from hardy.suites.build import versions
from hardy.train.data import Data, batches, endless
from hardy.train.files import read_tensors, write_tensors
from hardy.train.method import Classifier, Draw, Method
from hardy.train.methods import make_method, settings_of
from hardy.train.nets import make_net
from hardy.train.ranks import ALONE, Ranks
from hardy.train.run import CHECKPOINT, FORMAT, MODEL, open_run, write_log

# Wraps the steps of an epoch to show progress: so many, and what to call them.
Track = Callable[[Iterable[Any], int, str], Iterable[Any]]

MEAN = STD = (0.5, 0.5, 0.5)
SCHEDULES = ("cosine", "step")
PRECISIONS = ("float32", "bfloat16")
LOWEST_LR = 1e-6
# A checkpoint costs less than a second: epochs shorter than this share one.
SAVE_SECONDS = 10.0


@dataclass(frozen=True)
class Recipe:
    """The defaults are AugMix's for CIFAR and WRN-40-2. The learning rate falls along a cosine, in
    each step, or to a tenth after each third of the epochs."""

    net: str = "wrn_40_2"
    antialias: int = 1
    epochs: int = 100
    batch: int = 128
    lr: float = 0.1
    schedule: str = "cosine"
    momentum: float = 0.9
    weight_decay: float = 5e-4
    precision: str = "float32"
    deterministic: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, lowest in (("epochs", 1), ("batch", 1), ("seed", 0)):
            if getattr(self, name) < lowest:
                raise InputError(f"expected {name} of at least {lowest}, got {getattr(self, name)}")
        if not 0 < self.lr < math.inf:
            raise InputError(f"expected a learning rate above 0, got {self.lr}")
        if not 0 < self.momentum < 1:  # Nesterov's needs some
            raise InputError(f"expected a momentum between 0 and 1, got {self.momentum}")
        if not 0 <= self.weight_decay < math.inf:
            raise InputError(f"expected a weight decay of at least 0, got {self.weight_decay}")
        for kind, value, known in (
            ("schedule", self.schedule, SCHEDULES),
            ("precision", self.precision, PRECISIONS),
        ):
            if value not in known:
                raise unknown(kind, value, known)


def learning_rate(recipe: Recipe, step: int, steps: int) -> float:
    """In step 0, 1, ... of so many in all."""
    if recipe.schedule == "cosine":
        low = min(LOWEST_LR, recipe.lr)
        return low + (recipe.lr - low) * (1 + math.cos(math.pi * step / steps)) / 2
    return recipe.lr * 0.1 ** (3 * step // steps)


class Outcome(NamedTuple):
    epochs: int  # trained in this session
    log: list[dict[str, float]]  # of all epochs


def train(
    method: str,
    data: Data,
    out: Path,
    recipe: Recipe | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    init: Path | None = None,
    device: torch.device | None = None,
    ranks: Ranks = ALONE,
    track: Track = lambda steps, total, unit: steps,
) -> Outcome:
    """Train by a method into a folder; again = resume. `hardy:FOLDER` is then a model. With `init`
    the weights start as those in a file."""
    recipe = recipe or Recipe()
    device = device or torch.device("cpu")
    with _deterministic(recipe.deterministic):
        training = Training(make_method(method, settings), data, recipe, device, ranks)
        if init is not None:
            load_checkpoint(training.net, init)
        if ranks.first:
            open_run(out, _described(method, init, training))
        ranks.wait()
        path = out / CHECKPOINT
        if (out / MODEL).exists():
            return Outcome(0, [])
        if path.exists():
            training.restore(path)
        first = training.epoch
        while training.epoch < recipe.epochs:
            training.run_epoch(track)
            # By the sum of the log, which is the same in all processes; a clock is not.
            elapsed = sum(row["seconds"] for row in training.log[training.saved :])
            if elapsed >= SAVE_SECONDS:
                training.save(path)
        if ranks.first:
            write_log(out, training.log)
            write_tensors(out / MODEL, training.net.state_dict(), {})
            path.unlink(missing_ok=True)
        ranks.wait()
        return Outcome(recipe.epochs - first, training.log)


class Training:
    """All that changes while training, and how to save and restore it."""

    def __init__(
        self,
        method: Method,
        data: Data,
        recipe: Recipe,
        device: torch.device,
        ranks: Ranks = ALONE,
    ) -> None:
        self.ranks = ranks
        self.method, self.data, self.recipe, self.device = method, data, recipe, device
        with torch.random.fork_rng(devices=[]):  # nets take their weights from the global generator
            torch.manual_seed(recipe.seed)
            self.net = make_net(recipe.net, data.classes, recipe.antialias)
        self.net = self.net.to(device, memory_format=torch.channels_last)
        self.model = Classifier(self.net, MEAN, STD).to(device)
        self.optimizer = torch.optim.SGD(
            self.net.parameters(),
            recipe.lr,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
            nesterov=True,
        )
        self.draw = Draw(recipe.seed, device, ranks)
        method.begin(self.draw, data.shape)
        self.epoch = self.saved = 0  # finished ones, and those that a checkpoint holds
        self.log: list[dict[str, float]] = []
        whole, rest = divmod(len(data.images), recipe.batch)
        self.steps = whole + (rest >= ranks.world)
        if not self.steps or recipe.batch < ranks.world:
            raise InputError(
                f"expected at least one image in each batch for each of {ranks.world} processes, "
                f"got {len(data.images)} images in batches of {recipe.batch}"
            )

    def run_epoch(self, track: Track) -> None:
        """One pass. Losses stay on the device until its end, so that the host runs ahead."""
        recipe, started = self.recipe, time.perf_counter()
        total, seen = torch.zeros((), device=self.device), 0
        first_bad = torch.full((), self.steps, device=self.device)
        self.model.train()
        with self._mixed():
            more = endless(self.data, recipe.batch, self.draw)
            self.method.begin_epoch(self.epoch, self.model, more)
        epoch = batches(self.data, recipe.batch, self.draw)
        rate = recipe.lr
        unit = f"steps of epoch {self.epoch + 1} of {recipe.epochs}"
        for step, (images, labels) in enumerate(track(epoch, self.steps, unit)):
            rate = learning_rate(recipe, self.epoch * self.steps + step, recipe.epochs * self.steps)
            loss = self._step(images, labels, rate)
            total += loss * len(labels)
            seen += len(labels)
            bad = torch.where(torch.isfinite(loss), self.steps, step)
            first_bad = torch.minimum(first_bad, bad)
        if int(first_bad) < self.steps:
            raise HardyError(
                f"the loss was no number in epoch {self.epoch + 1}, step {int(first_bad) + 1} of "
                f"{self.steps}; what was saved after epoch {self.saved} is kept; try a lower "
                "learning rate, in another folder"
            )
        self.epoch += 1
        # What evaluation reads; in training each process has its own.
        self.ranks.take_first(list(self.net.buffers()))
        figures = torch.stack([total / seen, torch.tensor(time.perf_counter() - started).to(total)])
        self.ranks.average([figures])
        loss_per_image, seconds = figures.tolist()
        self.log.append(
            {
                "epoch": self.epoch,
                "loss": round(loss_per_image, 6),
                "lr": rate,
                "seconds": round(seconds, 3),
                "images_per_second": round(len(self.data.images) / seconds, 1),
            }
        )

    def _step(self, images: Tensor, labels: Tensor, rate: float) -> Tensor:
        self.optimizer.param_groups[0]["lr"] = rate
        with self._mixed():
            loss = self.method.loss(self.model, images, labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.ranks.average([weight.grad for weight in self.net.parameters()])
        self.optimizer.step()
        return loss.detach().float()

    def _mixed(self) -> Any:
        half = self.recipe.precision == "bfloat16"  # whose range needs no scaling of the loss
        return torch.autocast(self.device.type, torch.bfloat16, enabled=half)

    def save(self, path: Path) -> None:
        momentum = {
            name: self.optimizer.state[parameter]["momentum_buffer"]
            for name, parameter in self.net.named_parameters()
        }
        parts = {
            "net": self.net.state_dict(),
            "momentum": momentum,
            "draw": self.draw.state(),
            "method": self.method.state(),
        }
        tensors = {f"{part}.{name}": t for part, held in parts.items() for name, t in held.items()}
        if self.ranks.first:
            write_tensors(path, tensors, {"log": json.dumps(self.log)})
            write_log(path.parent, self.log)
        self.saved = self.epoch

    def restore(self, path: Path) -> None:
        tensors, notes = read_tensors(path)

        def part(name: str) -> dict[str, Tensor]:
            start = f"{name}."
            return {key[len(start) :]: t for key, t in tensors.items() if key.startswith(start)}

        try:
            self.net.load_state_dict(part("net"))
            momentum = part("momentum")
            for name, parameter in self.net.named_parameters():
                buffer = torch.empty_like(parameter).copy_(momentum[name])
                self.optimizer.state[parameter]["momentum_buffer"] = buffer
            self.method.restore(part("method"))
            self.draw.restore(part("draw"))
            self.log = json.loads(notes["log"])
        except (KeyError, RuntimeError, ValueError) as error:
            raise InputError(
                f"{path} is no checkpoint of this run ({error!r}); delete it to begin anew"
            ) from error
        self.epoch = self.saved = len(self.log)


def _described(method: str, init: Path | None, training: Training) -> dict[str, Any]:
    data = training.data
    return {
        "format": FORMAT,
        "method": {"name": method, **settings_of(training.method)},
        "seen_corruptions": training.method.seen,
        "data": {
            "images": data.described,
            "shape": data.shape,
            "classes": data.classes,
            "sha256": data.sha256,
        },
        "recipe": asdict(training.recipe),
        "init": None if init is None else hash_files([init]),
        "processes": training.ranks.world,
        "preprocessing": {"mean": MEAN, "std": STD},
        "versions": versions(("numpy", "torch", "safetensors")),
        "device": _device_name(training.device),
    }


def _device_name(device: torch.device) -> str:
    return str(torch.cuda.get_device_name(device) if device.type == "cuda" else device.type)


@contextmanager
def _deterministic(wanted: bool) -> Iterator[None]:
    """For a while: it slows down whatever else the process does on a GPU."""
    if not wanted:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    benchmark = torch.backends.cudnn.benchmark
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # which cuBLAS asks for
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.backends.cudnn.benchmark = benchmark
