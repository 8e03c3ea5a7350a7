"""A scikit-learn classifier saved by joblib, for those who say that they trust the file."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.errors import InputError, need
from hardy.models.calling import as_logits, in_batches, in_its_name
from hardy.models.model import (
    Logits,
    ModelFacts,
    OnHost,
    Options,
    Preprocessing,
    digest,
    existing,
    hash_files,
)


class SklearnModel(OnHost):
    """A scikit-learn classifier saved by joblib, if you trust the file.

    Features are the pixels, row by row, RGB, divided by 255.
    `predict_proba` gives logarithms of probabilities, and without it `decision_function` counts as
    logits. Class names that are text stand for 0..K−1 in sorted order, as folders of images do.
    """

    preprocessing = None

    def __init__(self, rest: str, options: Options) -> None:
        path = existing(Path(rest), "a file saved by joblib")
        if not options.trust:
            raise InputError(
                f"{path} is a joblib file, and reading one runs whatever code is in it; if you "
                "trust where it comes from, say so: `trust=True`"
            )
        options.refuse(
            checkpoint="the file holds its weights",
            precision="it computes as it was made",
            preprocessing="its features are the pixels / 255",
        )
        options.check_cpu()
        need("sklearn", "demo", options.name)
        self.name = options.name
        self.identity = digest("sklearn", {"weights": hash_files([path])})
        self._model = _load(path)
        classes = _classes(self._model, path)
        self._width = len(classes)
        self._has_shares = hasattr(self._model, "predict_proba")
        by = "the logarithms of its predict_proba" if self._has_shares else "its decision_function"
        self.facts = ModelFacts(
            weight_bytes=path.stat().st_size,
            found=f"{type(self._model).__name__} of {self._width} classes, logits are {by}",
        )
        self._batch = options.batch

    def logits(self, images: UInt8, preprocessing: Preprocessing | None = None) -> Logits:
        return in_batches(images, self._batch, self._one, self.name)

    def _one(self, images: UInt8) -> Logits:
        features = images.reshape(len(images), -1) / np.float32(255)
        wanted = getattr(self._model, "n_features_in_", features.shape[1])
        if wanted != features.shape[1]:
            raise InputError(
                f"{self.name}: expected {wanted} features, got {features.shape[1]} from images of "
                f"{images.shape[1:]}; train it on pixels of that size, flattened"
            )
        with in_its_name(self.name, images, "was it saved by this version of scikit-learn?"):
            scores = self._scores(features)
        output = as_logits(scores, len(images), self.name)
        if output.shape[1] != self._width:
            raise InputError(
                f"{self.name}: expected a score for each of its {self._width} classes, got "
                f'{output.shape[1]}; of an SVC, set decision_function_shape="ovr"'
            )
        return output

    def _scores(self, features: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self._has_shares:
            probabilities = np.asarray(self._model.predict_proba(features), np.float64)
            # The logarithm of an exact 0, such as trees give, would be infinite.
            return np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))
        scores = np.asarray(self._model.decision_function(features))
        if scores.ndim == 1:  # of two classes only the second one's is given
            return np.stack([np.zeros_like(scores), scores], axis=1)
        return scores


def _load(path: Path) -> Any:
    joblib = need("joblib", "demo", str(path))
    try:
        return joblib.load(path)
    except Exception as error:
        raise InputError(f"{path} cannot be read by joblib: {error!r}") from error


def _classes(model: Any, path: Path) -> list[Any]:
    scores = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    found = getattr(model, "classes_", None)
    if not scores or not isinstance(found, np.ndarray) or found.ndim != 1:
        raise InputError(
            f"{path}: expected a fitted classifier with predict_proba or decision_function, got "
            f"{type(model).__name__}"
        )
    classes: list[Any] = found.tolist()
    if found.dtype.kind in "iufb" and classes != list(range(len(classes))):
        raise InputError(
            f"{path}: expected classes 0 to {len(classes) - 1}, got {classes[:5]}"
            f"{'...' if len(classes) > 5 else ''}; train it on labels that are numbered from 0"
        )
    return classes
