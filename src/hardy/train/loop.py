"""The training loop. A `Method` says what happens to a batch and what the loss is.

A run is a function of its method, data and hyperparameters: whatever is random comes from the
`Draw` of the run, whose state is part of each checkpoint. So a killed run resumes to the same
weights, also within an epoch; on a GPU with `deterministic` only, because without it the net is
compiled there and whole steps are recorded and replayed.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hardy.errors import HardyError, InputError
from hardy.interrupts import noting_termination
from hardy.progress import Track, untracked
from hardy.train import record, run_folder
from hardy.train.averaging import Average
from hardy.train.checkpoint import Saver, checkpoint_part, learned_weights, restore, write_tensors
from hardy.train.cuda_graphs import Recorded, can_record, fitting, running
from hardy.train.hyperparameters import Hyperparameters, learning_rate
from hardy.train.measuring import EACH_EPOCH, Every, measure_within, measured
from hardy.train.method import Classifier, Draw, Method, make_method
from hardy.train.nets import make_net, normalisation
from hardy.train.other_images import give_stylised, held_out
from hardy.train.outlook import Outlook, how_far
from hardy.train.processes import ALONE, Ranks
from hardy.train.robust_errors import RobustErrors, RobustOn
from hardy.train.softening import Softening, batch_parts
from hardy.train.starts import Start, load_start
from hardy.train.streaming import StreamFeed
from hardy.train.teacher import Teacher
from hardy.train.tested import Tested
from hardy.train.trained_model import load_last
from hardy.train.training import TrainingResult
from hardy.train.training_data import Data, ResidentFeed, TrainingSet
from hardy.train.trial import try_out

Feed = ResidentFeed | StreamFeed
Loss = Callable[[nn.Module, Tensor, Tensor], Tensor]

# A checkpoint costs less than a second: epochs shorter than this share one.
SAVE_SECONDS = 10.0


def run_training(
    method: str,
    data: TrainingSet,
    out: Path,
    hyper: Hyperparameters | None = None,
    *,
    settings: Mapping[str, object] | None = None,
    like: Mapping[str, object] | None = None,
    init: Path | Start | None = None,
    stylised: Data | None = None,
    validation: TrainingSet | None = None,
    robust: RobustOn | None = None,
    every: Every = EACH_EPOCH,
    teacher: Teacher | None = None,
    device: torch.device | None = None,
    ranks: Ranks = ALONE,
    say: record.Say = lambda line: None,
    track: Track = untracked,
) -> TrainingResult:
    """Train by a method, on images in memory or streamed, into a folder; the same call resumes.

    `like` is what the record says of a published training that this one is like; `init` has the
    first weights; `stylised` images take a part of each batch of ANT; a `teacher` answers beside
    the labels; as often as `every` has it, the log gets the accuracy on `validation` images,
    and their error under corruptions, if `robust` says of which suite; nothing is chosen by it.
    """
    hyper = hyper or Hyperparameters()
    device = device or torch.device("cpu")
    with running(device, deterministic=hyper.deterministic), fitting(hyper, device):
        chosen = make_method(method, settings)
        if stylised is not None:
            give_stylised(chosen, stylised, data, device)
        training = Training(chosen, data, hyper, device, ranks, validation, every, teacher)
        if robust is not None:
            training.robust = RobustErrors(robust, training, out)
        if init is not None:
            training.new_head = load_start(init, training.net, data.classes, say)
            if training.average is not None:
                training.average.begin()
        with record.training_in(out) if ranks.first else nullcontext():
            if ranks.first:
                wanted = record.training_record(method, training, init, stylised, like)
                record.begin_run(out, wanted, say)
            ranks.wait()
            epochs, log = _train_the_rest(training, out, ranks, say, track)
            all_seen = init is None or record.seen_before(init) is not None
            seen = record.seen_in(out)
            return TrainingResult(out, epochs, log, seen, all_seen, ranks.rank, hyper.net, method)


def _train_the_rest(
    training: Training, out: Path, ranks: Ranks, say: record.Say, track: Track
) -> tuple[int, run_folder.Log]:
    """Train the epochs after the last one that was saved; how many these were, and the log."""
    path, target = out / run_folder.CHECKPOINT, out / run_folder.MODEL
    if target.exists():
        load_last(training.net, out)
        if ranks.first:
            path.unlink(missing_ok=True)  # a kill just after the last save leaves it
        return 0, run_folder.read_log(out)
    training.method.track = track
    if path.exists():
        restore(training, path)
    first = training.epoch
    besides = "" if training.validation is None else " and without validation"
    training.outlook = Outlook(say, training.hyper.epochs * training.steps, besides)
    with noting_termination() as terminated, Saver(path, terminated) as training.saver:
        while training.epoch < training.hyper.epochs:
            training.run_epoch(track)
            training.outlook.after_epoch(
                training.epoch * training.steps, partial(how_far, training)
            )
            # By the sum of the log, which is the same in all processes; a clock is not.
            rows = run_folder.epochs_in(training.log)[training.saved :]
            elapsed = sum(row["seconds"] for row in rows)
            training.saver.after_epoch(training, elapsed >= SAVE_SECONDS)
    training.finish()
    if ranks.first and training.validation is None:  # else the log has an accuracy that tells more
        say(how_far(training))
    record.share_unreadable(training)
    if ranks.first:
        record.write_unreadable(out, record.streams_of(training))
        run_folder.write_log(out, training.log)
        write_tensors(target, training.tested.net.state_dict(), {})
        path.unlink(missing_ok=True)
    ranks.wait()
    return training.epoch - first, training.log


class Training:
    """The state of a run while it trains."""

    def __init__(
        self,
        method: Method,
        data: TrainingSet,
        hyper: Hyperparameters,
        device: torch.device,
        ranks: Ranks = ALONE,
        validation: TrainingSet | None = None,
        every: Every = EACH_EPOCH,
        teacher: Teacher | None = None,
    ) -> None:
        self.ranks, self.every = ranks, every
        self.robust: RobustErrors | None = None
        self.validation = None if validation is None else held_out(validation, data)
        self.draw = Draw(hyper.seed, device, ranks)
        self.feed: Feed = data.feed(hyper.batch, self.draw)
        self.steps = self.feed.steps
        self.softened = Softening(hyper, data.classes, self.draw, teacher)
        if not self.steps or hyper.batch < ranks.world:
            raise InputError(
                f"expected at least one image in each batch for each of {ranks.world} processes, "
                f"got {len(data)} images in batches of {hyper.batch}"
            )
        self.method, self.data, self.hyper, self.device = method, data, hyper, device
        # Nets take their weights from the global generator: that of the host, no GPU's.
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(hyper.seed)
            self.net = make_net(hyper.net, data.classes, hyper.antialias, hyper.blur_after_conv)
        self.net = self.net.to(device, memory_format=torch.channels_last)
        # A net may take part in its training: how far it is, and what it adds to the loss.
        self._at_share = getattr(self.net, "at_share", lambda done: None)
        self._added_loss = getattr(self.net, "added_loss", lambda labels: 0)
        self.preprocessing = normalisation(hyper.net, self.net)
        self.model = Classifier(self.net, *self.preprocessing).to(device)
        self.average = Average(self.net, hyper.ema) if hyper.ema else None
        tested = self.model
        if self.average is not None:
            tested = Classifier(self.average.net, *self.preprocessing).to(device)
        self.tested = Tested(tested, device)
        self.rate = torch.tensor(hyper.lr, device=device)  # a tensor can be changed in a recording
        method.classifier, method.data = self.model, data
        method.batch = -(-hyper.batch // hyper.accumulate)
        method.epochs, method.all_steps = hyper.epochs, hyper.epochs * self.steps
        method.begin(self.draw, data.shape)
        self.learned = learned_weights(self.net, method)
        self.optimizer = torch.optim.SGD(
            list(self.learned.values()),
            self.rate,
            momentum=hyper.momentum,
            weight_decay=hyper.weight_decay,
            nesterov=hyper.nesterov,
            fused=device.type == "cuda",
        )
        self.new_head = False  # whether the first weights were for other classes
        self.epoch = self.saved = 0  # finished ones, and those that a checkpoint holds
        self.step = self.saved_step = 0  # the same within the epoch
        self.within: dict[str, Tensor] = {}  # what an epoch that is resumed needs
        self.seen, self.seconds = 0, 0.0  # images of this process and time, within the epoch
        self.saver: Saver | None = None
        self.log: run_folder.Log = []
        self.outlook = Outlook(lambda line: None, method.all_steps)
        self.total = torch.zeros((), device=device)  # of the losses in the epoch
        self.first_bad = torch.zeros((), device=device)  # step in which the loss was no number
        # But for the last batch of an epoch, which is smaller.
        self.fast = can_record(device, ranks)
        self.compiled = torch.compile(self.model, dynamic=False) if self.fast else self.model
        self._recorded: dict[tuple[bool, int], Recorded] = {}
        try_out(self.net, data, hyper, device, ranks, teacher)

    def run_epoch(self, track: Track) -> None:
        """One pass over the images, or the rest of it."""
        self.started = time.perf_counter() - self.seconds
        with self.draw.lent(self.epoch, checkpoint_part(self.within, "lent")):
            rate = self._all_steps(track)
        self.check_losses()
        self.epoch, self.step = self.epoch + 1, 0
        # What evaluation reads; in training each process has its own.
        self.ranks.take_first([*self.net.buffers(), *self.tested.net.buffers()])
        self.log.append(self.row(self.epoch, rate, len(self.data)))
        self.seen, self.seconds = 0, 0.0
        if self.validation is not None and self.every.is_due(self.log, self.hyper.epochs):
            self.log[-1] |= measured(self, self.validation, track)

    def row(self, epoch: float, rate: float, images: int) -> dict[str, float]:
        """What the log says of an epoch, or of what was done of it."""
        elapsed = torch.tensor(time.perf_counter() - self.started).to(self.total)
        figures = torch.stack([self.total / self.seen, elapsed])
        self.ranks.average([figures], self.seen)
        loss_per_image, seconds = figures.tolist()
        return run_folder.log_row(epoch, loss_per_image, rate, seconds, images)

    def _all_steps(self, track: Track) -> float:
        """The steps of an epoch that are left: the last learning rate. Losses stay on the device,
        so that the host runs ahead."""
        hyper = self.hyper
        feed = self._begin_epoch(track)
        rate = hyper.lr
        unit = f"steps of epoch {self.epoch + 1} of {hyper.epochs}"
        batches = feed.epoch(self.epoch, self.step)
        for images, labels in track(batches, self.steps - self.step, unit):
            number = self.epoch * self.steps + self.step
            rate = learning_rate(hyper, number, hyper.epochs * self.steps)
            self.rate.fill_(rate)
            self._at_share(number / self.method.all_steps)
            shown = self.softened(images, labels, number)
            batch = (*shown, torch.full((), self.step, device=self.device))
            self._descend(self.method.loss, True, *batch)
            if self.method.has_extra(number):
                self._descend(self.method.extra_loss, False, *batch)
            if self.average is not None:
                self.average.follow(number)
            self.seen += len(labels)
            self.step += 1
            self.outlook.after_step(number + 1, self.device.type)
            if self.step < self.steps:
                measure_within(self, rate)
                if self.saver is not None:
                    self.saver.after_step(self)
        return rate

    def _begin_epoch(self, track: Track) -> Feed:
        """Begin an epoch, or go on with one that was saved; the images it shows."""
        feed = self.feed = self.feed.changed(self.method, self.epoch)
        self.model.train()
        self.method.track = track if self.saver is None else self.saver.heeding(self, track)
        if self.step:
            self.within = {}
            return feed
        self.total.zero_()
        self.first_bad.fill_(self.steps)
        with self.mixed():
            self.method.begin_epoch(self.epoch, self.compiled, feed.more(self.epoch))
        return feed

    def check_losses(self) -> None:
        """Refuse a loss that is no number; this waits for the device."""
        bad = int(self.first_bad)
        if bad < self.steps:
            where = f"epoch {self.epoch + 1}, step {bad + 1} of {self.steps}"
            raise self._gone_wrong(f"the loss was no number in {where}")

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
        self.optimizer.zero_grad()
        loss = torch.zeros_like(self.total)
        for some, theirs in batch_parts(images, labels, self.hyper.accumulate):
            with self.mixed():
                part = loss_of(model, some, theirs) + self._added_loss(theirs)
            if len(some) < len(images):
                part = part * (len(some) / len(images))
            part.backward()
            loss = loss + part.detach().float()
        slopes = [one.grad for one in self.learned.values() if one.grad is not None]
        self.ranks.average(slopes, len(labels))
        self.optimizer.step()
        if counts:
            self.total += loss * len(labels)
        bad = torch.where(torch.isfinite(loss), self.first_bad, step)
        self.first_bad.copy_(torch.minimum(self.first_bad, bad))

    def finish(self) -> None:
        """Check the net, and free the recordings' memory: they lie in cycles."""
        self.check_sound()
        self._recorded.clear()
        if self.fast:
            gc.collect()

    def check_sound(self) -> None:
        """Refuse a net that gives no numbers; after the last step no loss would tell."""
        if not self.tested.is_sound(self.data):
            raise self._gone_wrong(f"the net gives no numbers after epoch {self.epoch}")

    def _gone_wrong(self, what: str) -> HardyError:
        step = f"step {self.saved_step} of epoch {self.saved + 1}"
        where = step if self.saved_step else f"epoch {self.saved}"
        kept = f"what was saved after {where} is kept; try, in another folder,"
        kept = kept if self.saved or self.saved_step else "nothing has been saved yet; try"
        return HardyError(f"{what}; {kept} a lower learning rate, or milder settings of the method")

    def mixed(self) -> Any:
        half = self.hyper.precision == "bfloat16"  # whose range needs no scaling of the loss
        return torch.autocast(self.device.type, torch.bfloat16, enabled=half)
