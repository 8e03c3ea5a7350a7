"""Models without a library: any Python function, and `fake:CLASSES`, which needs no weights."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.models.calling import as_logits, check_images, in_batches, in_its_name
from hardy.models.model import Logits, OnHost, Options, Preprocessing, digest

SIDE = 8  # it looks at 8 x 8 pixels, spread over the image
MOST = 100_000  # classes; its weights take 1.5 kB of memory for each


class FunctionModel(OnHost):
    """uint8 (N, H, W, 3) -> logits (N, K); what happens in between is the function's business.

    Its identity is its name and, where Python can show it, its source. Weights it closes over are
    not seen: with new weights it needs a new name.
    """

    preprocessing = None

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.name = options.name or getattr(function, "__name__", "")
        if not self.name or self.name == "<lambda>":
            raise InputError(
                f"expected a name for a model that has none of its own ({function!r}); its name "
                'tells its stored predictions apart: `name="my model, epoch 9"`'
            )
        options.refuse(
            checkpoint="a function brings its own weights",
            device="a function decides itself where it runs",
            precision="a function decides itself how it computes",
            preprocessing="a function gets the bytes as they are",
        )
        self.identity = digest("function", {"name": self.name, "source": source_code(function)})
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


def source_code(function: Callable[..., Any]) -> str | None:
    """Where Python can show it: of a function, or of an object's class."""
    plain = inspect.isroutine(function) or inspect.isclass(function)
    try:
        return inspect.getsource(function if plain else type(function))
    except (OSError, TypeError):  # typed at a prompt, or written in C
        return None


def fake_model(rest: str, options: Options) -> FakeModel:
    """A classifier without weights, for tests and rehearsals: fake:CLASSES or fake:CLASSES:SEED."""
    options.refuse(
        checkpoint="it has no weights",
        precision="its arithmetic is exact",
        preprocessing="it takes the bytes as they are",
    )
    options.check_cpu()
    words = re.fullmatch(r"(\d{1,6})(?::(\d{1,18}))?", rest)
    if not words or not 1 <= int(words[1]) <= MOST:
        raise InputError(
            f'expected "fake:CLASSES" or "fake:CLASSES:SEED", got "fake:{rest}"; it has 1 to '
            f"{MOST:,} classes, and a seed has at most 18 digits"
        )
    return FakeModel(int(words[1]), int(words[2] or 0), options.name)


class FakeModel(OnHost):
    """A model that is linear in 64 pixels, with random whole weights: a corruption moves it a
    little, as it moves a real classifier. Sums of whole numbers below 2⁵³ are exact in float64, so
    the logits of an image do not depend on its batch, the machine or its BLAS.
    """

    preprocessing = None

    def __init__(self, classes: int, seed: int = 0, name: str | None = None) -> None:
        self.name = name or f"fake:{classes}:{seed}"
        self.identity = digest("fake", {"classes": classes, "seed": seed})
        draws = np.random.default_rng(seed).integers(-8, 9, (SIDE * SIDE * 3, classes))
        self._weights = draws.astype(np.float64)

    def logits(self, images: UInt8, preprocessing: Preprocessing | None = None) -> Logits:
        check_images(images)
        rows, columns = (np.arange(SIDE) * side // SIDE for side in images.shape[1:3])
        seen = images[:, rows[:, None], columns].reshape(len(images), -1).astype(np.float64)
        # A power of two, so that dividing stays exact; confidences then look like a classifier's.
        return ((seen - 128) @ self._weights / 1024).astype(np.float32)

    def labels(self, images: UInt8, accuracy: float = 1.0) -> npt.NDArray[np.int64]:
        """Labels that make the model right on about this share of the images, image by image."""
        top = self.logits(images).argmax(axis=1)
        draws = [
            int.from_bytes(hashlib.sha256(image.tobytes()).digest()[:4]) / 2**32 for image in images
        ]
        next_class = (top + 1) % self._weights.shape[1]
        return np.asarray(np.where(np.array(draws) < accuracy, top, next_class))
