"""`hardy.probe`: a linear classifier on the features of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardy.errors import InputError, need
from hardy.files import check_target, write_output
from hardy.images import load_images, open_images
from hardy.images.datasets import DATA_SETS
from hardy.images.source import Fault, Faults
from hardy.images.subtypes import beside_part
from hardy.images.training_parts import held_out_by, without_held_out
from hardy.metrics import stratified_subset
from hardy.places import on_disk
from hardy.progress import Track, watch
from hardy.registry import unknown
from hardy.suites import load
from hardy.suites.suite import Suite

if TYPE_CHECKING:
    from hardy.models.model import Model
    from hardy.train.probe_fits import FeatureSet

# Weights of the penalty on the squared norm, each against the mean loss of an image.
DECAYS = tuple(10.0**power for power in range(-6, 1))
_HELD_OUT = 0.2  # of the images, where none are brought to choose by
_BLOCK = 256  # images that are read at once


class ProbeResult(NamedTuple):
    """A finished probe: `linear:FILE` is its model."""

    file: Path
    backbone: str  # whose features, in words
    images: int  # it was trained on
    validation_images: int  # it was chosen by, or tested on
    accuracy: float | None  # on those; None where there are none
    decay: float  # that was chosen
    tried: dict[float, float]  # accuracy by decay
    unreadable: tuple[str, ...] = ()  # images that could not be used, and why


def probe(
    model: str,
    *,
    data: str | Path,
    out: str | Path,
    suite: str | None = None,
    fit: str = "logistic",
    validation: str | Path | None = None,
    labels: str | Path | None = None,
    recipe: str | None = None,
    preprocess: str | None = None,
    trust: bool = False,
    device: str | None = None,
    seed: int = 0,
    track: Track = watch,
) -> ProbeResult:
    """Train a linear classifier on the features of a model into the file `out`.

    The features are what goes into the model's last linear layer, or else its outputs; a folder of
    Hugging Face's need not have that layer. The model is left as it is. Logistic regression by
    L-BFGS is done with penalties from 1e-6 to 1; the one that is best on the `validation` images,
    or else on a fifth of `data`, is kept. `data` are images with labels, as in `hardy.train`, and
    `recipe` prepares those that differ in size, as suites do: "resize256_crop224@1" for ImageNet.
    With a `suite` that holds something out, such as "imagenet_subtypes", the probe is trained on
    its training part, prepared as it prepares images, and tells its classes apart; images that
    cannot be read are left out. The `fit` "sgd" is one epoch of SGD instead of logistic regression,
    and "original" the same with the model's layers in training mode (docs/subtypes.md).
    `preprocess` names how the model takes pixels where its file does not say, such as "caffe"; the
    probe's file keeps it.

    ```python
    import hardy
    import numpy as np

    images = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), np.uint8)
    np.savez("set.npz", images=images, labels=np.arange(40) % 2)
    found = hardy.probe("fake:10", data="set.npz", out="probe.safetensors")
    print(found.accuracy, found.decay)  # hardy.evaluate("linear:probe.safetensors", ...)
    ```
    """
    need("torch", "torch", "a probe")
    from hardy.models.features import load_features
    from hardy.models.model import Options, as_override
    from hardy.models.probe_files import BUFFER
    from hardy.train.probe_fits import FITS, LOGISTIC, accuracy_of, fit_by_sgd, fit_logistic

    if not isinstance(model, str):
        raise InputError(
            'expected a model by name, such as "timm:resnet50", since the probe\'s file names it, '
            f"got {type(model).__name__}"
        )
    taken = as_override(preprocess)
    if fit not in FITS:
        raise unknown("fit", fit, FITS)
    target = on_disk(out)
    check_target(target)
    if target.suffix != ".safetensors":
        raise InputError(f"expected a file that ends in .safetensors for the probe, got {target}")
    faults: list[Fault] = []
    benchmark = None if suite is None else load(suite)
    held_out_of = None
    if benchmark is None:
        source = _open(data, "train", labels)
        others = None if validation is None else _open(validation, "test", None)
    else:
        if labels is not None or recipe is not None:
            raise InputError(
                f"expected neither `labels` nor `recipe` beside the `suite` {suite}, which has its "
                "own"
            )
        source, held_out_of = without_held_out(data, held_out_by(benchmark), faults)
        others = None if validation is None else _seen(validation, benchmark, faults)
    recipe = recipe or (benchmark.recipe if benchmark else "none@1")
    names = tuple(source.classes) if source.classes else None
    classes = len(names) if names else int(source.labels.max()) + 1
    if classes < 2:
        raise InputError(f"{data}: expected at least 2 classes, got {classes}")
    _check_alike(others, names, classes, f"{validation}: expected the classes of {data}")
    first = next(load_images(source, recipe, batch=1, faults=[] if benchmark else None)).images
    side, where = first.shape[1], device or "auto"
    options = Options(model, trust=trust, device=where, preprocessing=taken, side=side)
    features = load_features(model, options)
    # What cannot be read is borne in a suite's hundreds of thousands of images, and told.
    bear = faults if benchmark else None

    def shown(some: Any) -> FeatureSet:
        return _shown(features.model, some, recipe, bear, track)

    tested: FeatureSet | None
    if fit == LOGISTIC:
        every = shown(source)
        train, tested = (
            _parted(every, seed, str(data)) if others is None else (every, shown(others))
        )
        made = fit_logistic(train, tested, classes, features.model.device, DECAYS, track)
        accuracy: float | None = made.tried[made.decay]
    else:
        about = (source, classes, recipe, seed, bear, track)
        made = fit_by_sgd(fit, features.model, features.width, *about)
        tested = None if others is None else shown(others)
        accuracy = None if tested is None else accuracy_of(made, tested)
    notes = {
        "backbone": model,
        "fingerprint": features.fingerprint,
        "trained_on": source.describe(),
        "decay": repr(made.decay),
        "fit": fit,
        **({"held_out": held_out_of} if held_out_of else {}),
        **({"classes": json.dumps(names)} if names else {}),
        **({"preprocess": preprocess} if preprocess else {}),
    }
    from hardy.models.weight_files import packed

    drifted = {f"{BUFFER}{name}": buffer for name, buffer in made.buffers.items()}
    tensors = {"weight": made.weight, "bias": made.bias, **drifted}
    write_output(target, packed(tensors, notes, target))
    left_out = tuple(fault.reason for fault in faults)
    count = 0 if tested is None else len(tested.labels)
    about_fit = (made.images, count, accuracy, made.decay, made.tried, left_out)
    return ProbeResult(target, features.words, *about_fit)


def _open(where: str | Path, part: str, labels: str | Path | None) -> Any:
    source = open_images(f"{where}:{part}" if where in DATA_SETS else where, labels=labels)
    if source.labels is None or not len(source):
        what = "images" if source.labels is not None else "labels"
        raise InputError(f"{where}: expected images with their labels, got no {what}")
    return source


def _seen(where: str | Path, suite: Suite, faults: Faults) -> Any:
    """Images of seen subtypes, to choose by or to test on; of icons there are none."""
    if suite.shift is None or suite.shift.types is None:
        raise InputError(f"expected no `validation` beside the `suite` {suite.name}")
    return beside_part(open_images(where, faults=faults), suite)


def _check_alike(others: Any, names: tuple[str, ...] | None, classes: int, expected: str) -> None:
    if others is None:
        return
    if others.classes and names and tuple(others.classes) != names:
        raise InputError(f"{expected}, in their order, got {len(others.classes):,} others")
    if int(others.labels.max()) >= classes:
        raise InputError(f"{expected}, {classes:,}, got the label {int(others.labels.max()):,}")


def _shown(model: Model, source: Any, recipe: str, faults: Faults, track: Track) -> FeatureSet:
    """The features of all images of a source that can be read, with their labels."""
    from hardy.train.probe_fits import FeatureSet

    found, labels = [], []
    for batch in load_images(source, recipe, batch=_BLOCK, faults=faults, track=track):
        found.append(model.logits(batch.images))
        labels.append(source.labels[batch.indices])
    features = np.concatenate(found)
    if not np.isfinite(features).all():
        raise InputError(f"{model.name}: expected numbers as features, got some that are none")
    return FeatureSet(features, np.concatenate(labels).astype(np.int64))


def _parted(every: FeatureSet, seed: int, where: str) -> tuple[FeatureSet, FeatureSet]:
    """All but a fifth of the images, and that fifth, classes in proportion."""
    count = round(len(every.labels) * _HELD_OUT)
    if count < 1:
        raise InputError(
            f"{where}: expected at least 3 images, got {len(every.labels)}; bring more, or others "
            "to choose by, with `validation`"
        )
    ids = [f"{seed} {row}" for row in range(len(every.labels))]
    chosen = stratified_subset(every.labels, ids, size=count)
    rest = np.setdiff1d(np.arange(len(every.labels)), chosen)
    features, labels = every
    kind = type(every)
    return kind(features[rest], labels[rest]), kind(features[chosen], labels[chosen])
