"""What a training says of its time, and of how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from hardy import progress
from hardy.train.record import Say
from hardy.train.run_folder import ROBUST, VALIDATED

if TYPE_CHECKING:
    from hardy.train.loop import Training


class Outlook:
    """Says what a training will take and, every few seconds at most, how far it has come."""

    TIMED = 1.0  # seconds of steps that tell how long the others take; the first one is slower

    def __init__(self, say: Say, steps: int, besides: str = "") -> None:
        self.say, self.steps, self.besides = say, steps, besides
        self.started = self.began = self.told = time.monotonic()
        self.first: int | None = None
        self.estimated = False

    def after_step(self, done: int, where: str) -> None:
        """Says once, after the first steps, what all will take, unless the end of an epoch has
        said it before; on a GPU the host runs ahead of the steps."""
        now = time.monotonic()
        if self.first is None:
            self.first, self.began = done, now
        elif where == "cpu" and not self.estimated and now - self.began >= self.TIMED:
            self.estimated = True
            left = self._left(done)
            if left >= progress.PAUSE:
                whole = progress.in_time(now - self.started + left)
                by = f"by its first steps{self.besides}"
                self.say(f"training takes about {whole} on this CPU, {by}")

    def after_epoch(self, done: int, text: Callable[[], str]) -> None:
        """Says how far it is, but after the last one, which is said in any case."""
        timed = self.first is not None and self.first < done < self.steps
        if timed and time.monotonic() - self.told >= progress.PAUSE:
            self.told, self.estimated = time.monotonic(), True
            self.say(f"{text()}; about {progress.in_time(self._left(done))} left")

    def _left(self, done: int) -> float:
        past = max(1, done - (self.first or 0))
        return (time.monotonic() - self.began) / past * (self.steps - done)


def how_far(training: Training) -> str:
    """The last loss, and what was measured last on validation images; without any, the accuracy on
    training images: to hold some of these out would train another net."""
    log, hyper = training.log, training.hyper
    measured = next((row for row in reversed(log) if VALIDATED in row), None)
    if training.validation is not None and measured is not None:
        right = f"{100 * measured[VALIDATED]:.1f} % right"
        right += f" of {len(training.validation):,} validation images"
        if training.robust is not None:
            value, low, high = (100 * measured[name] for name in ROBUST)
            right += f", error under {training.robust.title} {value:.1f} ± {(high - low) / 2:.1f} %"
        if measured is not log[-1]:
            right += f" after epoch {measured['epoch']:.4g}"
    else:
        data = training.data
        some = torch.linspace(0, len(data) - 1, hyper.batch).long().unique()
        share = training.tested.count_right(*data.shown(some)) / len(some)
        right = f"{100 * share:.0f} % right of {len(some)} training images"
    return f"epoch {training.epoch} of {hyper.epochs}: loss {log[-1]['loss']:.4f}, {right}"
