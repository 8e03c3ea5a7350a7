"""What is measured while a net trains, and when: validation accuracy, and the error on corruptions.

Nothing is chosen by it, no weight is changed, and no random number of the training is drawn.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NamedTuple

from hardy.errors import InputError
from hardy.progress import Track, untracked
from hardy.schema import brief
from hardy.train.checkpoint import AGREE_STEPS
from hardy.train.run_folder import MEASURED, STEP, VALIDATED, Log, epochs_in

if TYPE_CHECKING:
    from hardy.train.loop import Training
    from hardy.train.training_data import TrainingSet


class Every(NamedTuple):
    """How often a net is measured: after so many epochs, or whenever so many seconds of training
    have passed since, also within an epoch; and after the last epoch."""

    epochs: int = 1
    seconds: float | None = None

    def is_due(self, log: Log, epochs: int) -> bool:
        """Decide after an epoch, by the log, which is the same in all processes and in a run that
        is resumed."""
        done = len(epochs_in(log))
        if done == epochs:
            return True
        return done % self.epochs == 0 if self.seconds is None else self.has_passed(log)

    def has_passed(self, log: Log, seconds: float = 0.0) -> bool:
        """Whether it is time, so many seconds of training after the last epoch in the log."""
        passed = seconds
        for row in reversed(log):
            if set(row) & set(MEASURED):
                passed -= row["seconds"] if STEP in row else 0.0  # it was as far into its epoch
                break
            passed += row["seconds"]
        return self.seconds is not None and passed >= self.seconds


EACH_EPOCH = Every()


def read_every(every: int | str) -> Every:
    """5 epochs, or minutes such as "30m"."""
    found = re.fullmatch(r"([1-9]\d{0,6})(m?)", str(every))
    if found is None:
        raise InputError(
            "expected `every` as a number of epochs, 1 or more, or of minutes such as 30m, got "
            f"{brief(str(every))}"
        )
    number = int(found[1])
    return Every(seconds=60.0 * number) if found[2] else Every(number)


def measured(training: Training, validation: TrainingSet, track: Track) -> dict[str, float]:
    """What the log says of the net as it is; no weight changes, and nothing is drawn."""
    size = training.hyper.batch
    unit = f"batches of validation after epoch {training.epoch}"
    batches = track(validation.in_order(size), -(-len(validation) // size), unit)
    found = {VALIDATED: round(training.tested.share_right(batches), 6)}
    return found if training.robust is None else found | training.robust.measure(training)


def measure_within(training: Training, rate: float) -> None:
    """Measure in the midst of an epoch, if it is time; the epoch's clock stands meanwhile."""
    ranks = training.ranks
    if training.validation is None or training.every.seconds is None:
        return
    if ranks.world > 1 and training.step % AGREE_STEPS:
        return
    due = training.every.has_passed(training.log, time.perf_counter() - training.started)
    if not ranks.any_of(due, due, training.device)[0]:
        return
    training.check_losses()
    epoch = round(training.epoch + training.step / training.steps, 6)
    row = training.row(epoch, rate, training.step * training.hyper.batch)
    stopped = time.perf_counter()
    found = measured(training, training.validation, untracked)
    training.log.append({**row, STEP: training.step, **found})
    training.started += time.perf_counter() - stopped
