"""The demo: three small classifiers on handwritten digits, every corruption, ten sequences.

scikit-learn ships the digits, 8 × 8 grey levels; enlarged to 32 × 32 they meet the constants of
the CIFAR edition. Nothing is downloaded, and no deep-learning framework is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from hardy.errors import MissingResource
from hardy.evaluation import evaluate
from hardy.models import Model, load
from hardy.progress import Track, untracked

UInt8 = npt.NDArray[np.uint8]

SUITES = ("cifar10_c", "cifar10_p")
SIDE = 32
TRAINED_ON = 1000  # the rest, 797, is for testing
SEED = 0


def run_demo(folder: Path, *, track: Track = untracked) -> Path:
    """Train, evaluate on both suites; the store is in `folder`/runs; again = resume."""
    images, labels = digits()
    models = classifiers(images[:TRAINED_ON], labels[:TRAINED_ON])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "digits.npz"
    np.savez(path, images=images[TRAINED_ON:], labels=labels[TRAINED_ON:])
    store = folder / "runs"
    for suite in SUITES:
        evaluate(models, suite=suite, images=path, store=store, own_classes=True, track=track)
    return store


def digits() -> tuple[UInt8, npt.NDArray[np.int64]]:
    """Images (N, 32, 32, 3) and labels, in the order scikit-learn has them."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise MissingResource(
            "the demo takes its digits and classifiers from scikit-learn, which is missing: "
            'pip install "hardy[demo]"'
        ) from error
    data = load_digits()
    grey = np.round(data.images * (255 / 16)).astype(np.uint8)  # levels are 0 to 16
    large = [cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC) for image in grey]
    return np.repeat(np.stack(large)[..., None], 3, axis=-1), data.target.astype(np.int64)


def classifiers(images: UInt8, labels: npt.NDArray[np.int64]) -> list[Model]:
    """A linear one, one by neighbours in kernel space, one of trees; a second to train all."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    estimators = {
        "logistic regression": LogisticRegression(max_iter=1000),
        "support vectors": SVC(C=10.0),
        "random forest": RandomForestClassifier(60, random_state=SEED),
    }
    features = _features(images)
    return [
        load(_logits_of(estimator.fit(features, labels)), name=f"{name} (demo)")
        for name, estimator in estimators.items()
    ]


def _features(images: UInt8) -> npt.NDArray[np.float64]:
    """Grey in blocks of 4 × 4, 0 to 1: as coarse as the digits were."""
    side = SIDE // 4
    blocks = images.reshape(-1, side, 4, side, 4, 3).mean((2, 4, 5), dtype=np.float64)
    return np.asarray(blocks.reshape(len(images), -1) / 255)


def _logits_of(estimator: Any) -> Callable[[UInt8], npt.NDArray[np.float64]]:
    def logits(images: UInt8) -> npt.NDArray[np.float64]:
        features = _features(images)
        if hasattr(estimator, "decision_function"):
            return np.asarray(estimator.decision_function(features))
        # No tree votes for some classes at all: half a vote keeps the logarithm finite.
        votes = estimator.predict_proba(features) * len(estimator.estimators_)
        return np.asarray(np.log((votes + 0.5) / (len(estimator.estimators_) + 5.0)))

    return logits
