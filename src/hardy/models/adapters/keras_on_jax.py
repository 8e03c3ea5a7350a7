"""A model of Keras on JAX. This file imports jax."""

from typing import Any

import jax
import numpy as np

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.models.adapters.keras_model import KerasIntake
from hardy.models.calling import as_logits, in_batches, in_its_name, normalised, resized
from hardy.models.model import Logits, ModelFacts, Options, Preprocessing

_AUTO_BATCH = 32
_TODO = "is it made for such images?"


class KerasOnJax:
    """Keras' own prediction, compiled by JAX for batches of one size."""

    precision = "float32"
    identity = ""  # that of its file, which the adapter knows

    def __init__(
        self,
        model: Any,
        intake: KerasIntake,
        options: Options,
        preprocessing: Preprocessing,
        facts: ModelFacts,
    ) -> None:
        self.name = options.name
        self.device = jax.default_backend()
        if options.device not in ("auto", self.device):
            raise InputError(
                f"{self.name}: expected the device {self.device}, where JAX computes, got "
                f"{options.device!r}; JAX is told by the environment variable JAX_PLATFORMS"
            )
        self.preprocessing = preprocessing
        self.facts = facts
        self._model = model
        self._intake = intake
        self._batch = _AUTO_BATCH if options.batch == "auto" else options.batch

    def logits(self, images: UInt8, preprocessing: Preprocessing | None = None) -> Logits:
        used = preprocessing or self.preprocessing
        return in_batches(images, self._batch, lambda batch: self._one(batch, used), self.name)

    def _one(self, images: UInt8, used: Preprocessing) -> Logits:
        pixels = normalised(resized(images, used.size, used.interpolation), used)
        if self._intake.whole:  # which would be cut off to whole numbers, not rounded
            pixels = np.rint(pixels)
        if not self._intake.channels_last:
            pixels = pixels.transpose(0, 3, 1, 2)
        # Fill up the last batch: each new shape would be compiled anew.
        filled = np.pad(pixels, [(0, self._batch - len(images)), *[(0, 0)] * 3])
        with in_its_name(self.name, images, _TODO):
            scores = np.asarray(self._model.predict_on_batch(filled), np.float32)[: len(images)]
        if self._intake.logarithm:
            scores = np.log(np.maximum(scores, np.finfo(np.float32).tiny))
        return as_logits(scores, len(images), self.name, _TODO)
