"""The training loop. A `Method` says what happens to a batch and what the loss is.

A run is a function of its method, data, recipe and seed: whatever is random comes from the `Draw`
of the run, whose state is part of each checkpoint, so that a killed run resumes to the same
weights, on a GPU with `deterministic` only. There, without it, the net is compiled and whole steps
are recorded and replayed.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from hardy.errors import HardyError, InputError
from hardy.train.checkpoint import restore, save
from hardy.train.cuda_graphs import Recorded, can_record, running
from hardy.train.description import about
from hardy.train.feasibility import fitting, try_out
from hardy.train.method import Classifier, Draw, Method, Track, to_pixels
from hardy.train.methods import make_method
from hardy.train.methods.stylised import give_stylised
from hardy.train.nets import make_net, normalisation
from hardy.train.processes import ALONE, Ranks
from hardy.train.record import (
    MODEL,
    load_first,
    load_last,
    open_run,
    read_log,
    write_log,
)
from hardy.train.run_folder import CHECKPOINT, alone_in, write_tensors
from hardy.train.settings import Recipe, learning_rate
from hardy.train.training_data import (
    Data,
    batches,
    crop_and_flip,
    endless,
)

Loss = Callable[[nn.Module, Tensor, Tensor], Tensor]

# A checkpoint costs less than a second: epochs shorter than this share one.
SAVE_SECONDS = 10.0


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
    stylised: Data | None = None,
    device: torch.device | None = None,
    ranks: Ranks = ALONE,
    track: Track = lambda steps, total, unit: steps,
) -> Outcome:
    """Train by a method into a folder; again = resume. `hardy:FOLDER` is then a model. With `init`
    the weights start as those in a file; `stylised` images take part of each batch of ANT."""
    recipe = recipe or Recipe()
    device = device or torch.device("cpu")
    with running(device, deterministic=recipe.deterministic), fitting(recipe, device):
        chosen = make_method(method, settings)
        if stylised is not None:
            give_stylised(chosen, stylised, data, device)
        training = Training(chosen, data, recipe, device, ranks)
        if init is not None:
            load_first(training.net, init)
        with alone_in(out) if ranks.first else nullcontext():
            if ranks.first:
                open_run(out, about(method, training, init, stylised))
            ranks.wait()
            return _train_the_rest(training, out, ranks, track)


def _train_the_rest(training: Training, out: Path, ranks: Ranks, track: Track) -> Outcome:
    """After what was saved, if anything was."""
    path, target = out / CHECKPOINT, out / MODEL
    if target.exists():
        load_last(training.net, out)
        if ranks.first:
            path.unlink(missing_ok=True)  # a kill just after the last save leaves it
        return Outcome(0, read_log(out))
    if path.exists():
        restore(training, path)
    first = training.epoch
    while training.epoch < training.recipe.epochs:
        training.run_epoch(track)
        # By the sum of the log, which is the same in all processes; a clock is not.
        elapsed = sum(row["seconds"] for row in training.log[training.saved :])
        if elapsed >= SAVE_SECONDS:
            save(training, path)
    training.finish()
    if ranks.first:
        write_log(out, training.log)
        write_tensors(target, training.net.state_dict(), {})
        path.unlink(missing_ok=True)
    ranks.wait()
    return Outcome(training.epoch - first, training.log)


class Training:
    """All that changes while training."""

    def __init__(
        self,
        method: Method,
        data: Data,
        recipe: Recipe,
        device: torch.device,
        ranks: Ranks = ALONE,
    ) -> None:
        self.ranks = ranks
        whole, rest = divmod(len(data.images), recipe.batch)
        self.steps = whole + (rest >= ranks.world)
        if not self.steps or recipe.batch < ranks.world:
            raise InputError(
                f"expected at least one image in each batch for each of {ranks.world} processes, "
                f"got {len(data.images)} images in batches of {recipe.batch}"
            )
        self.method, self.data, self.recipe, self.device = method, data, recipe, device
        # Nets take their weights from the global generator: that of the host, no GPU's.
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(recipe.seed)
            self.net = make_net(recipe.net, data.classes, recipe.antialias, recipe.blur_after_conv)
        self.net = self.net.to(device, memory_format=torch.channels_last)
        self.preprocessing = normalisation(recipe.net, self.net)
        self.model = Classifier(self.net, *self.preprocessing).to(device)
        self.rate = torch.tensor(recipe.lr, device=device)  # a tensor can be changed in a recording
        self.optimizer = torch.optim.SGD(
            self.net.parameters(),
            self.rate,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
            nesterov=True,
            fused=device.type == "cuda",
        )
        self.draw = Draw(recipe.seed, device, ranks)
        method.classifier, method.epochs, method.batch = self.model, recipe.epochs, recipe.batch
        method.all_steps = recipe.epochs * self.steps
        method.begin(self.draw, data.shape)
        self.epoch = self.saved = 0  # finished ones, and those that a checkpoint holds
        self.log: list[dict[str, float]] = []
        self.total = torch.zeros((), device=device)  # of the losses in the epoch
        self.first_bad = torch.zeros((), device=device)  # step in which the loss was no number
        # But for the last batch of an epoch, which is smaller.
        self.fast = can_record(device, ranks)
        self.compiled = torch.compile(self.model, dynamic=False) if self.fast else self.model
        self._recorded: dict[tuple[bool, int], Recorded] = {}
        try_out(self.net, data, recipe, device, ranks)

    def run_epoch(self, track: Track) -> None:
        """One pass."""
        started = time.perf_counter()
        with self.draw.lent(self.epoch):
            rate, seen = self._all_steps(track)
        bad = int(self.first_bad)
        if bad < self.steps:
            where = f"epoch {self.epoch + 1}, step {bad + 1} of {self.steps}"
            raise self._gone_wrong(f"the loss was no number in {where}")
        self.epoch += 1
        # What evaluation reads; in training each process has its own.
        self.ranks.take_first(list(self.net.buffers()))
        elapsed = torch.tensor(time.perf_counter() - started).to(self.total)
        figures = torch.stack([self.total / seen, elapsed])
        self.ranks.average([figures], seen)
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

    def _all_steps(self, track: Track) -> tuple[float, int]:
        """Of an epoch; the last learning rate, and how many images there were. Losses stay on the
        device, so that the host runs ahead."""
        recipe = self.recipe
        data = replace(self.data, images=self.method.epoch_images(self.epoch, self.data.images))
        self.total.zero_()
        self.first_bad.fill_(self.steps)
        self.model.train()
        self.method.track = track
        with self.mixed():
            more = endless(data, recipe.batch, self.draw)
            self.method.begin_epoch(self.epoch, self.compiled, more)
        epoch = batches(data, recipe.batch, self.draw)
        rate, seen = recipe.lr, 0
        unit = f"steps of epoch {self.epoch + 1} of {recipe.epochs}"
        for step, (images, labels) in enumerate(track(epoch, self.steps, unit)):
            number = self.epoch * self.steps + step
            rate = learning_rate(recipe, number, recipe.epochs * self.steps)
            self._step(images, labels, step, rate, self.method.has_extra(number))
            seen += len(labels)
        return rate, seen

    def _step(self, images: Tensor, labels: Tensor, step: int, rate: float, extra: bool) -> None:
        self.rate.fill_(rate)
        images = crop_and_flip(images, self.draw)
        batch = (images, labels, torch.full((), step, device=self.device))
        self._descend(self.method.loss, True, *batch)
        if extra:
            self._descend(self.method.extra_loss, False, *batch)

    def _descend(self, loss_of: Loss, counts: bool, *batch: Tensor) -> None:
        """By a recording, where there is one; `counts` says whether the log has the loss."""
        if not self.fast or len(batch[0]) < self.recipe.batch:
            self._update(loss_of, self.model, counts, *batch)
            return
        key = (counts, self.method.phase)
        if key not in self._recorded:
            update = partial(self._update, loss_of, self.compiled, counts)
            self._recorded[key] = Recorded(update, self.draw.there)
        self._recorded[key](*batch)

    def _update(
        self,
        loss_of: Loss,
        model: nn.Module,
        counts: bool,
        images: Tensor,
        labels: Tensor,
        step: Tensor,
    ) -> None:
        """One step down a loss. It never waits for the device, and changes tensors in place."""
        with self.mixed():
            loss = loss_of(model, images, labels)
        self.optimizer.zero_grad()
        loss.backward()
        slopes = [weight.grad for weight in self.net.parameters() if weight.grad is not None]
        self.ranks.average(slopes, len(labels))
        self.optimizer.step()
        loss = loss.detach().float()
        if counts:
            self.total += loss * len(labels)
        bad = torch.where(torch.isfinite(loss), self.first_bad, step)
        self.first_bad.copy_(torch.minimum(self.first_bad, bad))

    def finish(self) -> None:
        """Recordings keep memory of the GPU, in cycles that Python frees when it likes."""
        self.check_sound()
        self._recorded.clear()
        if self.fast:
            gc.collect()

    def check_sound(self) -> None:
        """The last step has no loss after it that would tell."""
        some = self.data.images[:64].to(self.device).permute(0, 3, 1, 2)
        self.model.eval()
        with torch.no_grad():
            logits = self.model(to_pixels(some))
        self.model.train()
        if not bool(torch.isfinite(logits).all()):
            raise self._gone_wrong(f"the net gives no numbers after epoch {self.epoch}")

    def _gone_wrong(self, what: str) -> HardyError:
        kept = f"what was saved after epoch {self.saved} is kept; try, in another folder,"
        kept = kept if self.saved else "nothing has been saved yet; try"
        return HardyError(f"{what}; {kept} a lower learning rate, or milder settings of the method")

    def mixed(self) -> Any:
        half = self.recipe.precision == "bfloat16"  # whose range needs no scaling of the loss
        return torch.autocast(self.device.type, torch.bfloat16, enabled=half)
