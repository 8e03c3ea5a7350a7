"""`hardy.probe`: a linear classifier on the features of a model, by logistic regression."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError, need
from hardy.files import check_target, write_output
from hardy.images import load_images, open_images
from hardy.images.datasets import DATA_SETS
from hardy.metrics import stratified_subset
from hardy.places import on_disk
from hardy.progress import Track, watch

if TYPE_CHECKING:
    from hardy.models.model import Model

# Weights of the penalty on the squared norm, each against the mean loss of an image.
DECAYS = tuple(10.0**power for power in range(-6, 1))
_HELD_OUT = 0.2  # of the images, where none are brought to choose by
_STEPS = 500  # of L-BFGS, at most
_BLOCK = 256  # images that are read at once


class ProbeResult(NamedTuple):
    """A finished probe: `linear:FILE` is its model."""

    file: Path
    backbone: str  # whose features, in words
    images: int  # it was trained on
    validation_images: int  # it was chosen by
    accuracy: float  # on those
    decay: float  # that was chosen
    tried: dict[float, float]  # accuracy by decay


class _Set(NamedTuple):
    features: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


def probe(
    model: str,
    *,
    data: str | Path,
    out: str | Path,
    validation: str | Path | None = None,
    labels: str | Path | None = None,
    recipe: str = "none@1",
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

    if not isinstance(model, str):
        raise InputError(
            'expected a model by name, such as "timm:resnet50", since the probe\'s file names it, '
            f"got {type(model).__name__}"
        )
    taken = as_override(preprocess)
    target = on_disk(out)
    check_target(target)
    if target.suffix != ".safetensors":
        raise InputError(f"expected a file that ends in .safetensors for the probe, got {target}")
    source = _open(data, "train", labels)
    others = None if validation is None else _open(validation, "test", None)
    names = tuple(source.classes) if source.classes else None
    classes = len(names) if names else int(source.labels.max()) + 1
    if classes < 2:
        raise InputError(f"{data}: expected at least 2 classes, got {classes}")
    _check_alike(others, names, classes, f"{validation}: expected the classes of {data}")
    first = next(load_images(source, recipe, batch=1, indices=[0])).images
    side, where = first.shape[1], device or "auto"
    options = Options(model, trust=trust, device=where, preprocessing=taken, side=side)
    features = load_features(model, options)
    every = _shown(features.model, source, recipe, track)
    train, held_out = (
        _parted(every, seed, str(data))
        if others is None
        else (every, _shown(features.model, others, recipe, track))
    )
    weight, bias, decay, tried = _fitted(train, held_out, classes, features.model.device, track)
    notes = {
        "backbone": model,
        "fingerprint": features.fingerprint,
        "trained_on": source.describe(),
        "decay": repr(decay),
        **({"classes": json.dumps(names)} if names else {}),
        **({"preprocess": preprocess} if preprocess else {}),
    }
    from hardy.models.weight_files import packed

    write_output(target, packed({"weight": weight, "bias": bias}, notes, target))
    counts = len(train.labels), len(held_out.labels)
    return ProbeResult(target, features.words, *counts, tried[decay], decay, tried)


def _open(where: str | Path, part: str, labels: str | Path | None) -> Any:
    source = open_images(f"{where}:{part}" if where in DATA_SETS else where, labels=labels)
    if source.labels is None or not len(source):
        what = "images" if source.labels is not None else "labels"
        raise InputError(f"{where}: expected images with their labels, got no {what}")
    return source


def _check_alike(others: Any, names: tuple[str, ...] | None, classes: int, expected: str) -> None:
    if others is None:
        return
    if others.classes and names and tuple(others.classes) != names:
        raise InputError(f"{expected}, in their order, got {len(others.classes):,} others")
    if int(others.labels.max()) >= classes:
        raise InputError(f"{expected}, {classes:,}, got the label {int(others.labels.max()):,}")


def _shown(model: Model, source: Any, recipe: str, track: Track) -> _Set:
    """The features of all images of a source, with their labels."""
    batches = load_images(source, recipe, batch=_BLOCK, track=track)
    found = np.concatenate([model.logits(batch.images) for batch in batches])
    if not np.isfinite(found).all():
        raise InputError(f"{model.name}: expected numbers as features, got some that are none")
    return _Set(found, source.labels.astype(np.int64))


def _parted(every: _Set, seed: int, where: str) -> tuple[_Set, _Set]:
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
    return _Set(features[rest], labels[rest]), _Set(features[chosen], labels[chosen])


def _fitted(
    train: _Set, held_out: _Set, classes: int, device: str, track: Track
) -> tuple[Any, Any, float, dict[float, float]]:
    """Weight and bias for plain features, the decay that was best, and the accuracy of each."""
    import torch

    def on_device(part: npt.NDArray[Any]) -> Any:
        return torch.from_numpy(part).to(device)

    mean = train.features.mean(0, dtype=np.float64)
    spread = train.features.std(0, dtype=np.float64)
    spread = np.where(spread > 0, spread, 1.0)
    shown, tested = (on_device((part.features - mean) / spread) for part in (train, held_out))
    labels, truth = on_device(train.labels), on_device(held_out.labels)
    weight = torch.zeros(classes, shown.shape[1], dtype=torch.float64, device=device)
    bias = torch.zeros(classes, dtype=torch.float64, device=device)
    tried, best = {}, None
    # From the strongest penalty to the weakest, each from where the last has ended.
    for decay in track(sorted(DECAYS, reverse=True), len(DECAYS), "penalties tried"):
        weight, bias = _descend(shown, labels, weight, bias, decay)
        logits = tested @ weight.T + bias
        tried[decay] = float((logits.argmax(1) == truth).double().mean())
        loss = float(torch.nn.functional.cross_entropy(logits, truth))
        if best is None or (tried[decay], -loss) > best[0]:
            best = (tried[decay], -loss), weight, bias, decay
    assert best is not None
    _, weight, bias, decay = best
    scale, centre = on_device(spread), on_device(mean)
    plain = weight / scale
    return plain.float(), (bias - plain @ centre).float(), decay, tried


def _descend(shown: Any, labels: Any, weight: Any, bias: Any, decay: float) -> tuple[Any, Any]:
    """Minimise the mean cross-entropy + decay / 2 · |weight|²."""
    import torch

    weight, bias = (part.clone().requires_grad_() for part in (weight, bias))
    optimiser = torch.optim.LBFGS(
        [weight, bias],
        max_iter=_STEPS,
        tolerance_grad=1e-6,
        tolerance_change=1e-10,
        line_search_fn="strong_wolfe",
    )

    def loss() -> Any:
        optimiser.zero_grad()
        value = torch.nn.functional.cross_entropy(shown @ weight.T + bias, labels)
        value = value + decay / 2 * (weight**2).sum()
        value.backward()
        return value

    optimiser.step(loss)
    return weight.detach(), bias.detach()
