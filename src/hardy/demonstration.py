"""The demo: three small classifiers on handwritten digits, every corruption, ten sequences.

scikit-learn ships the digits, 8 × 8 grey levels; enlarged to 32 × 32 they meet the constants of
the CIFAR edition. Nothing is downloaded, and no deep-learning framework is needed.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.errors import need
from hardy.evaluation import evaluate
from hardy.models import Model, load_model
from hardy.pictures import write_sheet
from hardy.progress import Track, untracked
from hardy.report.gallery import sample_photo
from hardy.report.write import write_report
from hardy.scores.scoring import ScoredStore, score

SUITES = ("cifar10_c", "cifar10_p")
SIDE = 32
TRAINED_ON = 1000  # the rest, 797, is for testing
SEED = 0


class Demonstration(NamedTuple):
    """What `hardy.demo` computed, and where it lies."""

    scored: ScoredStore
    store: Path
    files: tuple[Path, ...]  # the scores as CSV and JSON, and the contact sheet
    report: Path


def demo(
    folder: str | os.PathLike[str] = "hardy-demo", *, track: Track = untracked
) -> Demonstration:
    """Evaluate three classifiers of handwritten digits, in a minute, and write all there is.

    The folder then has the store of predictions, the scores, a report to open in a browser, and a
    contact sheet of all corruptions. The same call resumes what was stopped.

    ```python
    import hardy

    made = hardy.demo("hardy-demo")
    print(made.scored)
    print("open", made.report)
    ```
    """
    images, labels = digits()
    models = classifiers(images[:TRAINED_ON], labels[:TRAINED_ON])
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    path, store = home / "digits.npz", home / "runs"
    np.savez(path, images=images[TRAINED_ON:], labels=labels[TRAINED_ON:])
    for suite in SUITES:
        evaluate(models, suite=suite, images=path, store=store, own_classes=True, track=track)
    photo = sample_photo()
    assert photo is not None  # the digits come from the same package
    sheet = write_sheet(photo, home / "sheet.png", track=track)
    scored = score(store, track=track)
    tables = [scored.write(home / name) for name in ("scores.csv", "scores.json")]
    report = write_report(store, home / "report.html", photo=photo, track=track)
    return Demonstration(scored, store, (*tables, sheet), report)


def digits() -> tuple[UInt8, npt.NDArray[np.int64]]:
    """Return images (N, 32, 32, 3) and labels, in scikit-learn's order."""
    data = need("sklearn.datasets", "demo", "the demo").load_digits()
    grey = np.round(data.images * (255 / 16)).astype(np.uint8)  # levels are 0 to 16
    large = [cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC) for image in grey]
    return np.repeat(np.stack(large)[..., None], 3, axis=-1), data.target.astype(np.int64)


def classifiers(images: UInt8, labels: npt.NDArray[np.int64]) -> list[Model]:
    """Train a linear classifier, support vectors and a forest; that takes a second in all."""
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
        load_model(_logits_of(estimator.fit(features, labels)), name=f"{name} (demo)")
        for name, estimator in estimators.items()
    ]


def _features(images: UInt8) -> npt.NDArray[np.float64]:
    """Average blocks of 4 × 4 to one grey from 0 to 1: as coarse as the digits were."""
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
