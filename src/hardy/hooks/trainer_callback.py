"""A callback of transformers' Trainer. This file imports it; nothing imports this file unasked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hardy.errors import InputError, need
from hardy.hooks.epoch_errors import EpochErrors
from hardy.scores.sample_looks import Until

_transformers = need("transformers", "hf", "TrainerRobustError")
_Base: Any = _transformers.TrainerCallback


class TrainerRobustError(_Base):
    """A callback that logs a sampled robust error every so many epochs, with its interval.

    It needs the trainer, which alone can log: `trainer.add_callback(TrainerRobustError(trainer,
    ...))`. It logs "cifar10_c/mean_error", "cifar10_c/mean_error_low" and "…_high", and the like
    for the suite's other main scores, at the end of an epoch. Where the trainer itself evaluates
    then, they are among its metrics as "eval_cifar10_c/mean_error", for `metric_for_best_model`.
    The predictions go into `store`, a run per epoch; if left out, into the folder "hardy" in
    `output_dir`.

    `images`, `labels`, `only`, `own_classes` and others are as `hardy.evaluate` has them; `until`
    is how precise the main score is to be, in points, `at_most` how much it may take. The model is
    shown pixels (x - mean) / std of x from 0 to 1, or what `prepare` makes of x. Of several
    processes the first one evaluates.

    ```python
    from hardy.hooks import TrainerRobustError

    trainer = transformers.Trainer(model, arguments, train_dataset=pictures)
    trainer.add_callback(TrainerRobustError(
        trainer, "imagenet_c", images="imagenet/val", mean=processor.image_mean,
        std=processor.image_std, at_most="10m"))
    ```
    """

    def __init__(
        self,
        trainer: Any,
        suite: str,
        *,
        every: int = 1,
        until: Until | None = 2.0,
        at_most: int | str | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        prepare: Callable[[Any], Any] | None = None,
        store: str | os.PathLike[str] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(trainer, _transformers.Trainer):
            raise InputError(
                f"expected the Trainer that the callback is added to, got {type(trainer).__name__}"
            )
        self._trainer = trainer
        self._errors = EpochErrors(
            suite,
            every=every,
            until=until,
            at_most=at_most,
            mean=mean,
            std=std,
            prepare=prepare,
            store=store,
            name=name,
            options=options,
        )
        self._last: tuple[int, dict[str, float]] | None = None  # a step, and what was found there

    def on_epoch_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        epoch = round(state.epoch)
        if not self._errors.due(epoch):
            return
        values = self._errors.measure(others["model"], epoch, Path(args.output_dir) / "hardy")
        self._last = (state.global_step, values)
        # The trainer takes what we log for what it was going to log itself.
        waiting = control.should_log
        self._trainer.log(dict(values))
        control.should_log = waiting

    def on_evaluate(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        if self._last is not None and self._last[0] == state.global_step:
            others["metrics"].update({f"eval_{key}": one for key, one in self._last[1].items()})
