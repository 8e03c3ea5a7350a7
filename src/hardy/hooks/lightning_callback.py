"""A callback of PyTorch Lightning. This file imports Lightning; nothing imports it unasked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hardy.errors import need
from hardy.hooks.epoch_errors import EpochErrors
from hardy.scores.sample_looks import Until

# Lightning goes by two names, of which the older one may be there alone.
_ALONE = find_spec("lightning") is None and find_spec("pytorch_lightning") is not None
_lightning = need(
    "pytorch_lightning" if _ALONE else "lightning.pytorch", "lightning", "LightningRobustError"
)
_Base: Any = _lightning.Callback


class LightningRobustError(_Base):
    """A callback that logs a sampled robust error every so many epochs, with its interval.

    It logs "cifar10_c/mean_error", "cifar10_c/mean_error_low" and "…_high", and the like for the
    suite's other main scores, at the end of a training epoch, so that `ModelCheckpoint` can monitor
    them. The predictions go into `store`, a run per epoch; if left out, into the folder "hardy"
    beside the trainer's logs.

    `images`, `labels`, `only`, `own_classes` and others are as `hardy.evaluate` has them; `until`
    is how precise the main score is to be, in points, `at_most` how much it may take. The module is
    shown pixels (x - mean) / std of x from 0 to 1, or what `prepare` makes of x. Of several
    processes the first one evaluates.

    ```python
    from hardy.hooks import LightningRobustError

    robust = LightningRobustError("cifar10_c", images="cifar10:test", every=5, until=2,
                                  mean=(0.49, 0.48, 0.45), std=(0.25, 0.24, 0.26))
    trainer = lightning.Trainer(callbacks=[robust])
    ```
    """

    def __init__(
        self,
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
        super().__init__()
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

    @property
    def state_key(self) -> str:
        """Several such callbacks, one per suite, are told apart by it."""
        return f"{type(self).__qualname__}({self._errors.suite})"

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        epoch = trainer.current_epoch + 1
        if not self._errors.due(epoch):
            return
        folder = Path(trainer.log_dir or trainer.default_root_dir) / "hardy"
        values = self._errors.measure(pl_module, epoch, folder)
        pl_module.log_dict(values, on_step=False, on_epoch=True)  # equal in all processes
