"""The training loop. A `Method` says what happens to a batch and what the loss is.

A run is a function of its method, data and hyperparameters: whatever is random comes from the
`Draw` of the run, whose state is part of each checkpoint. So a killed run resumes to the same
weights; on a GPU with `deterministic` only, because without it the net is compiled there and whole
steps are recorded and replayed.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hardy.errors import HardyError, InputError
from hardy.models.weights import load_checkpoint
from hardy.progress import Track, untracked
from hardy.train import record
from hardy.train.checkpoint import restore, save_checkpoint, write_tensors
from hardy.train.cuda_graphs import Recorded, can_record, fitting, running
from hardy.train.hyperparameters import Hyperparameters, learning_rate
from hardy.train.method import Classifier, Draw, Method, make_method, to_pixels
from hardy.train.nets import make_net, normalisation
from hardy.train.outlook import Outlook
from hardy.train.processes import ALONE, Ranks
from hardy.train.trained_model import load_last
from hardy.train.training import TrainingResult
from hardy.train.training_data import Data, batches, crop_and_flip, endless, give_stylised, held_out
from hardy.train.trial import try_out

Loss = Callable[[nn.Module, Tensor, Tensor], Tensor]

# A checkpoint costs less than a second: epochs shorter than this share one.
SAVE_SECONDS = 10.0


def run_training(
    method: str,
    data: Data,
    out: Path,
    hyper: Hyperparameters | None = None,
    *,
    settings: Mapping[str, object] | None = None,
    init: Path | None = None,
    stylised: Data | None = None,
    validation: Data | None = None,
    device: torch.device | None = None,
    ranks: Ranks = ALONE,
    say: record.Say = lambda line: None,
    track: Track = untracked,
) -> TrainingResult:
    """Train by a method, on images that are read, into a folder; the same call resumes.

    `init` is a file with the first weights; `stylised` images take a part of each batch of ANT;
    after each epoch the log gets the accuracy on `validation` images, by which nothing is chosen.
    """
    hyper = hyper or Hyperparameters()
    device = device or torch.device("cpu")
    with running(device, deterministic=hyper.deterministic), fitting(hyper, device):
        chosen = make_method(method, settings)
        if stylised is not None:
            give_stylised(chosen, stylised, data, device)
        training = Training(chosen, data, hyper, device, ranks, validation)
        if init is not None:
            todo = "start from weights of the same net, made for as many classes as the data has"
            load_checkpoint(training.net, init, f"{todo}, or leave `init` out")
        with record.alone_in(out) if ranks.first else nullcontext():
            if ranks.first:
                wanted = record.training_record(method, training, init, stylised)
                record.begin_run(out, wanted, say)
            ranks.wait()
            epochs, log = _train_the_rest(training, out, ranks, say, track)
            all_seen = init is None or record.seen_before(init) is not None
            return TrainingResult(out, epochs, log, record.seen_in(out), all_seen, ranks.rank)


def _train_the_rest(
    training: Training, out: Path, ranks: Ranks, say: record.Say, track: Track
) -> tuple[int, record.Log]:
    """Train the epochs after the last one that was saved; how many these were, and the log."""
    path, target = out / record.CHECKPOINT, out / record.MODEL
    if target.exists():
        load_last(training.net, out)
        if ranks.first:
            path.unlink(missing_ok=True)  # a kill just after the last save leaves it
        return 0, record.read_log(out)
    if path.exists():
        restore(training, path)
    first = training.epoch
    besides = "" if training.validation is None else " and without validation"
    training.outlook = Outlook(say, training.hyper.epochs * training.steps, besides)
    while training.epoch < training.hyper.epochs:
        training.run_epoch(track)
        training.outlook.after_epoch(training.epoch * training.steps, training.describe)
        # By the sum of the log, which is the same in all processes; a clock is not.
        elapsed = sum(row["seconds"] for row in training.log[training.saved :])
        if elapsed >= SAVE_SECONDS:
            save_checkpoint(training, path)
    training.finish()
    if ranks.first:
        record.write_log(out, training.log)
        write_tensors(target, training.net.state_dict(), {})
        path.unlink(missing_ok=True)
    ranks.wait()
    return training.epoch - first, training.log


class Training:
    """The state of a run while it trains."""

    def __init__(
        self,
        method: Method,
        data: Data,
        hyper: Hyperparameters,
        device: torch.device,
        ranks: Ranks = ALONE,
        validation: Data | None = None,
    ) -> None:
        self.ranks = ranks
        self.validation = None if validation is None else held_out(validation, data)
        whole, rest = divmod(len(data.images), hyper.batch)
        self.steps = whole + (rest >= ranks.world)
        if not self.steps or hyper.batch < ranks.world:
            raise InputError(
                f"expected at least one image in each batch for each of {ranks.world} processes, "
                f"got {len(data.images)} images in batches of {hyper.batch}"
            )
        self.method, self.data, self.hyper, self.device = method, data, hyper, device
        # Nets take their weights from the global generator: that of the host, no GPU's.
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(hyper.seed)
            self.net = make_net(hyper.net, data.classes, hyper.antialias, hyper.blur_after_conv)
        self.net = self.net.to(device, memory_format=torch.channels_last)
        self.preprocessing = normalisation(hyper.net, self.net)
        self.model = Classifier(self.net, *self.preprocessing).to(device)
        self.rate = torch.tensor(hyper.lr, device=device)  # a tensor can be changed in a recording
        self.optimizer = torch.optim.SGD(
            self.net.parameters(),
            self.rate,
            momentum=hyper.momentum,
            weight_decay=hyper.weight_decay,
            nesterov=True,
            fused=device.type == "cuda",
        )
        self.draw = Draw(hyper.seed, device, ranks)
        method.classifier, method.epochs, method.batch = self.model, hyper.epochs, hyper.batch
        method.all_steps = hyper.epochs * self.steps
        method.begin(self.draw, data.shape)
        self.epoch = self.saved = 0  # finished ones, and those that a checkpoint holds
        self.log: record.Log = []
        self.outlook = Outlook(lambda line: None, method.all_steps)
        self.total = torch.zeros((), device=device)  # of the losses in the epoch
        self.first_bad = torch.zeros((), device=device)  # step in which the loss was no number
        # But for the last batch of an epoch, which is smaller.
        self.fast = can_record(device, ranks)
        self.compiled = torch.compile(self.model, dynamic=False) if self.fast else self.model
        self._recorded: dict[tuple[bool, int], Recorded] = {}
        try_out(self.net, data, hyper, device, ranks)

    def run_epoch(self, track: Track) -> None:
        """One pass over the images."""
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
        if self.validation is not None:
            self.log[-1][record.VALIDATED] = round(self._validate(self.validation, track), 6)

    def _all_steps(self, track: Track) -> tuple[float, int]:
        """The steps of an epoch: the last learning rate, and how many images there were. Losses
        stay on the device, so that the host runs ahead."""
        hyper = self.hyper
        data = replace(self.data, images=self.method.epoch_images(self.epoch, self.data.images))
        self.total.zero_()
        self.first_bad.fill_(self.steps)
        self.model.train()
        self.method.track = track
        with self.mixed():
            more = endless(data, hyper.batch, self.draw)
            self.method.begin_epoch(self.epoch, self.compiled, more)
        epoch = batches(data, hyper.batch, self.draw)
        rate, seen = hyper.lr, 0
        unit = f"steps of epoch {self.epoch + 1} of {hyper.epochs}"
        for step, (images, labels) in enumerate(track(epoch, self.steps, unit)):
            number = self.epoch * self.steps + step
            rate = learning_rate(hyper, number, hyper.epochs * self.steps)
            self.rate.fill_(rate)
            cropped = crop_and_flip(images, self.draw)
            batch = (cropped, labels, torch.full((), step, device=self.device))
            self._descend(self.method.loss, True, *batch)
            if self.method.has_extra(number):
                self._descend(self.method.extra_loss, False, *batch)
            seen += len(labels)
            self.outlook.after_step(number + 1, self.device.type)
        return rate, seen

    def _descend(self, loss_of: Loss, counts: bool, *batch: Tensor) -> None:
        """One step down a loss, by a recording where that is possible; `counts` says whether the
        log has the loss."""
        if not self.fast or len(batch[0]) < self.hyper.batch:
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
        """Check the net, and free the recordings' memory on the GPU: they lie in cycles, which
        Python would free when it likes."""
        self.check_sound()
        self._recorded.clear()
        if self.fast:
            gc.collect()

    def check_sound(self) -> None:
        """Refuse a net that gives no numbers; after the last step no loss would tell."""
        logits = self._logits(self.data.images[:64])
        if not bool(torch.isfinite(logits).all()):
            raise self._gone_wrong(f"the net gives no numbers after epoch {self.epoch}")

    def describe(self) -> str:
        """How far it is: the last loss, and the accuracy on validation images. Where none are
        given, that on a batch of the training images as they are: to hold some of these out would
        train another net."""
        if self.validation is not None:
            share = f"{self.log[-1][record.VALIDATED]:.1%}"
            right = f"{share} right of {len(self.validation.images):,} validation images"
        else:
            some = torch.linspace(0, len(self.data.images) - 1, self.hyper.batch).long().unique()
            share = f"{self._count_right(self.data, some) / len(some):.0%}"
            right = f"{share} right of {len(some)} training images"
        loss = self.log[-1]["loss"]
        return f"epoch {self.epoch} of {self.hyper.epochs}: loss {loss:.4f}, {right}"

    def _validate(self, data: Data, track: Track) -> float:
        """The share of held-out images that the net gets right."""
        parts = torch.arange(len(data.images)).split(self.hyper.batch)
        unit = f"batches of validation after epoch {self.epoch}"
        right = [self._count_right(data, part) for part in track(parts, len(parts), unit)]
        return sum(right) / len(data.images)

    def _count_right(self, data: Data, some: Tensor) -> int:
        answers = self._logits(data.images[some]).argmax(1).cpu()
        return int((answers == data.labels[some].cpu()).sum())

    def _logits(self, images: Tensor) -> Tensor:
        self.model.eval()
        with torch.no_grad():
            logits: Tensor = self.model(to_pixels(images.to(self.device).permute(0, 3, 1, 2)))
        self.model.train()
        return logits

    def _gone_wrong(self, what: str) -> HardyError:
        kept = f"what was saved after epoch {self.saved} is kept; try, in another folder,"
        kept = kept if self.saved else "nothing has been saved yet; try"
        return HardyError(f"{what}; {kept} a lower learning rate, or milder settings of the method")

    def mixed(self) -> Any:
        half = self.hyper.precision == "bfloat16"  # whose range needs no scaling of the loss
        return torch.autocast(self.device.type, torch.bfloat16, enabled=half)
