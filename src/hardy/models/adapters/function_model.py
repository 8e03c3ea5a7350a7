"""Any Python function as a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from hardy.errors import InputError
from hardy.models.calling import as_logits, in_batches, in_its_name
from hardy.models.model import Logits, Options, Preprocessing, UInt8, digest


class FunctionModel:
    """uint8 (N, H, W, 3) -> logits (N, K); what happens in between is the function's business.

    Its identity is its name and, where Python can show it, its source. Weights it closes over are
    not seen: with new weights it needs a new name.
    """

    preprocessing = None
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
        return in_batches(images, self._batch, self._call, self.name)

    def _call(self, batch: UInt8) -> Logits:
        todo = "expected a function of uint8 (N, H, W, 3) that returns logits (N, classes)"
        with in_its_name(self.name, batch, todo):
            # A copy, which it may change: other cells and models still need the batch itself.
            output = self._function(batch.copy())
        return as_logits(output, len(batch), self.name)


def _source(function: Callable[..., Any]) -> str | None:
    plain = inspect.isroutine(function) or inspect.isclass(function)
    try:
        return inspect.getsource(function if plain else type(function))
    except (OSError, TypeError):  # typed at a prompt, or written in C
        return None
