"""What the callbacks of all training libraries do at the end of an epoch: evaluate a sample, and
give the numbers to log. This file imports torch."""

from __future__ import annotations

import inspect
import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hardy.engine.keys import is_int
from hardy.errors import HardyError, InputError, told, warn_user
from hardy.evaluation import evaluate
from hardy.models import Override, Preprocessing
from hardy.places import locate
from hardy.progress import untracked
from hardy.registry import unknown
from hardy.run.selection import open_subject
from hardy.scores.sample_looks import Until, plan_sample
from hardy.scores.scoring import Run
from hardy.suites import load

# The options of `hardy.evaluate` that choose what is shown, and those that say how.
_SHOWN = (
    "images",
    "files",
    "labels",
    "only",
    "severities",
    "subset",
    "images_per_class",
    "seed",
    "own_classes",
    "classes",
)
_HOW = ("precision", "batch", "workers")


class EpochErrors:
    """A sampled robust error of a module under training, every so many epochs."""

    def __init__(
        self,
        suite: str,
        *,
        every: int,
        until: Until | None,
        at_most: int | str | None,
        mean: Any,
        std: Any,
        prepare: Callable[[Any], Any] | None,
        store: str | os.PathLike[str] | None,
        name: str | None,
        options: dict[str, Any],
    ) -> None:
        """Refuse now what could not be evaluated after the first epoch."""
        if not is_int(every) or every < 1:
            raise InputError(f"expected `every` as a number of epochs, 1 or more, got {every!r}")
        for option in options:
            if option not in (*_SHOWN, *_HOW):
                raise unknown("option of `hardy.evaluate` here", option, (*_SHOWN, *_HOW))
        self._prepare, self._preprocessing = _read_preparing(mean, std, prepare)
        parts = {key: options.get(key) for key in ("subset", "images_per_class")}
        benchmark = load(suite)
        plan_sample(until, at_most, benchmark, 1, 1, **parts)
        self.suite = benchmark.name
        _check_images(suite, {key: value for key, value in options.items() if key in _SHOWN})
        self._options = {"suite": suite, "until": until, "at_most": at_most, **options}
        self._every, self._store, self._name = every, store, name
        self._told: set[str] = set()

    def due(self, epoch: int) -> bool:
        """Whether to evaluate after that epoch; the first is number 1."""
        return epoch % self._every == 0

    def measure(self, module: torch.nn.Module, epoch: int, folder: Path) -> dict[str, float]:
        """Evaluate the module as it is, and return its scores with both ends of their intervals.

        Of several processes the first one evaluates, and the others wait for what it found. The run
        goes into the store that was named, or into `folder`.
        """
        _check_whole(module)
        found: list[Any] = [None]
        together = torch.distributed.is_available() and torch.distributed.is_initialized()
        if not together or torch.distributed.get_rank() == 0:
            try:
                with _randomness_kept():
                    found[0] = self._logged(self._evaluated(module, epoch, folder))
            except Exception as error:
                if not together:
                    raise
                # Else the others would wait forever.
                found[0] = error if isinstance(error, HardyError) else HardyError(told(error))
        if together:
            torch.distributed.broadcast_object_list(found, src=0)
        if isinstance(found[0], HardyError):
            raise found[0]
        values: dict[str, float] = found[0]
        return values

    def _evaluated(self, module: torch.nn.Module, epoch: int, folder: Path) -> Run:
        name = self._name or type(module).__name__
        label = f"{name} epoch {epoch:03d}"

        def warn(message: str) -> None:
            said = message.replace(label, name)
            kind = re.sub(r"\d+", "", said)  # the next epoch says the same with other figures
            if kind not in self._told:
                self._told.add(kind)
                warn_user(said)

        run: Run = evaluate(
            _ShownModule(module, self._prepare),
            store=self._store or folder,
            name=label,
            preprocessing=self._preprocessing,
            warn=warn,
            track=untracked,
            **self._options,
        )
        return run

    def _logged(self, run: Run) -> dict[str, float]:
        values = {}
        for score in run.score().headline:
            key = f"{self.suite}/{score.name.replace(' ', '_')}"
            values[key] = float(score.value)
            values[f"{key}_low"] = float(score.interval.low)
            values[f"{key}_high"] = float(score.interval.high)
        return values


class _ShownModule(torch.nn.Module):
    """A module under training that takes pixels from 0 to 1, or normalised ones without `prepare`.

    Weights may be of another type than pixels are, as in true half precision.
    """

    def __init__(self, module: torch.nn.Module, prepare: Callable[[Any], Any] | None) -> None:
        super().__init__()
        self.module, self.prepare = module, prepare
        # Results of another way to prepare are others: this is part of the run's identity.
        self.prepared_by = None if prepare is None else _source_of(prepare)

    def forward(self, pixels: torch.Tensor) -> Any:
        shown = pixels if self.prepare is None else self.prepare(pixels)
        kinds = (one.dtype for one in self.module.parameters() if one.is_floating_point())
        return self.module(shown.to(next(kinds, shown.dtype)))


def _check_images(suite: str, shown: dict[str, Any]) -> None:
    """Open what will be evaluated, as `hardy.evaluate` does."""
    wanted = {"images": None, **shown}
    for key in ("only", "severities"):
        if isinstance(wanted.get(key), str | int):
            wanted[key] = [wanted[key]]
    if wanted.get("files") is not None:
        wanted["files"] = locate(wanted["files"])
    open_subject(load(suite), **wanted, faults=[])


def _source_of(prepare: Callable[[Any], Any]) -> str:
    try:
        return inspect.getsource(prepare)
    except (OSError, TypeError):  # an object, or typed at a prompt
        return re.sub(r" at 0x[0-9a-f]+", "", repr(prepare))


def _read_preparing(
    mean: Any, std: Any, prepare: Callable[[Any], Any] | None
) -> tuple[Callable[[Any], Any] | None, Preprocessing]:
    given = {"mean": mean, "std": std, "prepare": prepare}
    named = [name for name, value in given.items() if value is not None]
    if named == ["prepare"] and callable(prepare):
        return prepare, Preprocessing((0, 0, 0), (1, 1, 1), source="then as `prepare` does")
    if named == ["mean", "std"] and hasattr(mean, "__len__") and hasattr(std, "__len__"):
        Override(mean, std)  # refuses figures in units of bytes
        return None, Preprocessing(mean, std)
    raise InputError(
        "expected `mean` and `std`, those of the training in units of 0..1, or `prepare`, a "
        "function from pixels 0..1 (N, 3, H, W) to what the module takes, got "
        + (", ".join(f"{name}={given[name]!r}" for name in named) or "none of them")
    )


def _check_whole(module: torch.nn.Module) -> None:
    """Refuse modules of which each process has a part: the first alone could not run them."""
    parts = any(type(part).__name__ == "FullyShardedDataParallel" for part in module.modules())
    if parts or any(
        type(one).__name__ == "DTensor" or hasattr(one, "ds_id") for one in module.parameters()
    ):
        raise InputError(
            "expected a module that each process holds as a whole, as with DDP, got one that is "
            "shared out (FSDP, tensor parallel or DeepSpeed's stage 3); evaluate its checkpoints "
            "by `hardy.evaluate` instead"
        )


@contextmanager
def _randomness_kept() -> Iterator[None]:
    """Put Python's, NumPy's and torch's generators back, whatever the module draws meanwhile."""
    by_python, by_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    gpus = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.random.fork_rng(gpus):
        try:
            yield
        finally:
            random.setstate(by_python)
            np.random.set_state(by_numpy)  # noqa: NPY002
