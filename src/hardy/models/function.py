"""Any Python function as a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from hardy.errors import InputError
from hardy.models.model import (
    Logits,
    Options,
    Preprocessing,
    UInt8,
    check_images,
    check_logits,
    digest,
)


class FunctionModel:
    """uint8 (N, H, W, 3) -> logits (N, K); what happens in between is the function's business.

    Its identity is its name and, where Python can show it, its source. Weights it closes over are
    not seen: with new weights it needs a new name.
    """

    preprocessing = None
    known_accuracy = None
    device = "cpu"
    precision = "float32"

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.name = options.name or getattr(function, "__name__", "")
        if not self.name or self.name == "<lambda>":
            raise InputError(
                f"expected a name for a model that has none of its own ({function!r}); its name "
                'tells its stored predictions apart: load(..., name="my model, epoch 9")'
            )
        options.refuse(
            checkpoint="a function brings its own weights",
            device="a function decides itself where it runs",
            precision="a function decides itself how it computes",
            preprocessing="a function gets the bytes as they are",
        )
        self.identity = digest("function", {"name": self.name, "source": _source(function)})
        self._function = function
        self._batch = options.batch

    def logits(self, images: UInt8, preprocessing: Preprocessing | None = None) -> Logits:
        check_images(images)
        step = len(images) if self._batch == "auto" else self._batch
        batches = [images[start : start + step] for start in range(0, len(images), step)]
        return np.concatenate([self._call(batch) for batch in batches])

    def _call(self, batch: UInt8) -> Logits:
        return check_logits(np.asarray(self._function(batch)), len(batch), self.name)


def _source(function: Callable[..., Any]) -> str | None:
    plain = inspect.isroutine(function) or inspect.isclass(function)
    try:
        return inspect.getsource(function if plain else type(function))
    except (OSError, TypeError):  # typed at a prompt, or written in C
        return None
