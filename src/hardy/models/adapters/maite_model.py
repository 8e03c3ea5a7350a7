"""Image classifiers of the MAITE protocols, taken as they are; the library is not imported."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.engine.maite_door import index_names, on_host
from hardy.errors import InputError
from hardy.models.adapters.function_model import source_code
from hardy.models.calling import as_logits, in_batches, in_its_name, normalised, resized
from hardy.models.class_order import order_classes
from hardy.models.model import Logits, ModelFacts, OnHost, Options, Preprocessing, digest

# What its library's data sets usually give: floats from 0 to 1.
UNIT = Preprocessing((0, 0, 0), (1, 1, 1), source="floats from 0 to 1, as the data set has them")
_CLOSE = 1e-3  # how far from 1 the sum of probabilities in low precision may be


class MaiteModel(OnHost):
    """A batch of images (3, H, W) -> a row of logits or probabilities for each.

    It gets bytes, or by a `Preprocessing` floats. As of a function, weights are not seen: with new
    ones it needs a new name, or another id.
    """

    def __init__(self, model: Any, options: Options) -> None:
        self.name = options.name or model.metadata["id"]
        options.refuse(
            checkpoint="a MAITE model brings its own weights",
            device="a MAITE model decides itself where it runs",
            precision="a MAITE model decides itself how it computes",
        )
        self.preprocessing = None if options.preprocessing is None else options.prepared_as(UNIT)
        labels = index_names(model)
        order = None if labels is None else order_classes(labels, options.classes, self.name)
        self._named = None if labels is None else len(labels)
        self._columns = None if order is None else order.columns
        words = "classes without names" if order is None else order.words
        self.facts = ModelFacts(
            class_names=None if order is None else order.names,
            found=f"{type(model).__name__}, a MAITE model, {words}",
        )
        self.identity = digest(
            "maite",
            {
                "name": self.name,
                "source": source_code(model),
                "order": self._columns,
                "preprocessing": self.preprocessing,
            },
        )
        self._model, self._batch = model, options.batch

    def logits(self, images: UInt8, preprocessing: Preprocessing | None = None) -> Logits:
        how = preprocessing or self.preprocessing

        def call(batch: UInt8) -> Logits:
            pixels: npt.NDArray[Any] = batch.copy()  # which the model may change
            if how is not None:
                pixels = normalised(resized(batch, how.size, how.interpolation), how)
            todo = "expected a batch of images (3, H, W) to be taken, one row to come for each"
            with in_its_name(self.name, batch, todo):
                rows = self._model([np.ascontiguousarray(np.moveaxis(p, 2, 0)) for p in pixels])
                output = [on_host(row) for row in rows]
            logits = _logarithms(as_logits(output, len(batch), self.name))
            if self._named not in (None, logits.shape[1]):
                raise InputError(
                    f"{self.name}: expected a number for each class that index2label "
                    f"names, {self._named}, got {logits.shape[1]}; name all, or leave it out"
                )
            return logits if self._columns is None else logits[:, self._columns]

        return in_batches(images, self._batch, call, self.name)


def _logarithms(rows: Logits) -> Logits:
    """Rows that are probabilities, of which the protocol speaks too, become their logarithms."""
    likely = (rows.min(axis=1) >= 0) & (np.abs(rows.sum(axis=1, dtype=np.float64) - 1) < _CLOSE)
    # The logarithm of an exact 0 would be infinite.
    logarithms = np.log(np.maximum(rows, np.finfo(np.float32).tiny))
    return np.where(likely[:, None], logarithms, rows)
