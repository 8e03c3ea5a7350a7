"""`hardy.evaluate`: models on a suite of corruptions, into a store of predictions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy.typing as npt

from hardy import models as adapters
from hardy.engine.keys import check_seed
from hardy.errors import InputError
from hardy.execute import Crew, count_workers
from hardy.images.source import Fault, count_left_out
from hardy.models import Model, Override, Preprocessing
from hardy.models.model_lists import list_models, refuse_lone_list
from hardy.progress import Track, watch
from hardy.run import runner
from hardy.run.batching import mixed
from hardy.run.device_places import find_places
from hardy.run.plan import RunPlan
from hardy.run.prepared import Evaluation as Evaluation
from hardy.run.prepared import load_defended, warn_user
from hardy.run.selection import Images, open_subject
from hardy.run.shards import read_shard
from hardy.run.units import Elsewhere, check_travels
from hardy.scores.scoring import Run
from hardy.store.reader import open_run
from hardy.suites import load

AnyModel = str | Callable[..., Any] | Model


class RunOptions(TypedDict, total=False):
    """The options of `evaluate` that do not decide what it returns."""

    images: Images | None
    files: str | os.PathLike[str] | None
    labels: str | os.PathLike[str] | npt.ArrayLike | None
    store: str | os.PathLike[str]
    only: str | Iterable[str]
    severities: int | Iterable[int] | None
    subset: int | None
    images_per_class: int | None
    seed: int
    own_classes: bool
    classes: int | None
    checkpoint: str | os.PathLike[str] | None
    trust: bool
    device: str | None
    precision: str
    batch: int | Literal["auto"]
    preprocessing: Preprocessing | Override | None
    defend: str | None
    name: str | Sequence[str] | None
    workers: int | None
    devices: str | Iterable[int | str] | None
    shard: str | None
    announce: Callable[[Evaluation], None]
    warn: Callable[[str], None] | None
    track: Track


Several = list[Any] | tuple[Any, ...]  # models


@overload
def evaluate(
    model: AnyModel, *, suite: str, dry_run: Literal[False] = False, **options: Unpack[RunOptions]
) -> Run: ...
@overload
def evaluate(
    model: Several, *, suite: str, dry_run: Literal[False] = False, **options: Unpack[RunOptions]
) -> list[Run]: ...
@overload
def evaluate(
    model: AnyModel | Several, *, suite: str, dry_run: Literal[True], **options: Unpack[RunOptions]
) -> RunPlan: ...
def evaluate(
    model: AnyModel | Sequence[AnyModel],
    *,
    suite: str,
    images: Images | None = None,
    files: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | npt.ArrayLike | None = None,
    store: str | os.PathLike[str] = "runs",
    only: str | Iterable[str] = "counted",
    severities: int | Iterable[int] | None = None,
    subset: int | None = None,
    images_per_class: int | None = None,
    seed: int = 0,
    own_classes: bool = False,
    classes: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    trust: bool = False,
    device: str | None = None,
    precision: str = "float32",
    batch: int | Literal["auto"] = "auto",
    preprocessing: Preprocessing | Override | None = None,
    defend: str | None = None,
    name: str | Sequence[str] | None = None,
    workers: int | None = None,
    devices: str | Iterable[int | str] | None = None,
    shard: str | None = None,
    dry_run: bool = False,
    announce: Callable[[Evaluation], None] = lambda evaluation: None,
    warn: Callable[[str], None] | None = None,
    track: Track = watch,
) -> Run | list[Run] | RunPlan:
    """Predict all cells of a suite and store what metrics need: a `Run`, or a list for a list.

    The same call resumes; more cells, severities or images extend. `model` is a name such as
    "timm:resnet50" (`hardy.names("models")` lists the kinds), a torch module, or a function from
    uint8 (N, H, W, 3) to logits (N, K), which goes by its `name`: give it another one when its
    weights change. Several models see each corrupted image while it is there; of these `name` has
    one for each, "MODEL@FILE" brings weights, and "models.toml" is a list of models in a file.

    `images` is a path of any kind that `hardy.names("readers")` lists, an array uint8 (N, H, W, 3)
    with its `labels`, or a data set of torch's or Hugging Face's kind; `files` is a folder that
    holds the suite ready-made. `subset` and `images_per_class` take a fixed part of the images.
    `own_classes` says that labels are the images' own, not the suite's, and `classes` how many
    there are; `preprocessing` overrides the model's own, and `defend` puts a defence before it,
    such as "clahe". With `dry_run` nothing is stored: the result says what the run would cost, by a
    timed sample.

    `devices` shares the run among processes, one for each GPU of "0,1,3" or "all", or one for each
    word of "cpu,cpu". With `shard`, such as "1/8", only that share of the images is done: calls
    with the others, on any machine, fill the same store ("auto" under torchrun and SLURM).

    ```python
    import hardy, numpy

    images = numpy.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), "uint8")
    run = hardy.evaluate("fake:10", suite="cifar10_c", images=images,
                         labels=numpy.arange(20) % 10, only=["fog", "contrast"])
    print(run.score())
    ```
    """
    several = isinstance(model, list | tuple)
    given: Sequence[Any] = model if several else [model]  # type: ignore[assignment]
    if not given:
        raise InputError('expected at least one model, such as "timm:resnet50", got none')
    if not several:
        refuse_lone_list(model)
    wanted = list_models(given, name=name, checkpoint=checkpoint, preprocessing=preprocessing)
    if trust and not any(adapters.heeds_trust(one.model) for one in wanted):
        (warn or warn_user)("`trust=True` changes nothing: it is for joblib files, sklearn:FILE")
    _check_apart(images, Path(store))
    count = count_workers(workers)
    part = read_shard(shard)
    unusable: list[Fault] = []
    subject = open_subject(
        load(suite),
        images=images,
        files=None if files is None else Path(files),
        labels=labels,
        only=[only] if isinstance(only, str) else only,
        severities=[severities] if isinstance(severities, int) else severities,
        subset=subset,
        images_per_class=images_per_class,
        seed=check_seed(seed),
        own_classes=own_classes,
        classes=classes,
        faults=unusable,
    )
    several_devices = None if devices is None else find_places(devices)
    if several_devices is not None:
        if device is not None:
            raise InputError(f"expected `device` or `devices`, got both: {device} and {devices}")
        device = several_devices.device
    loaders = tuple(
        partial(
            load_defended,
            one.model,
            defend=defend,
            checkpoint=one.checkpoint,
            trust=trust,
            device=device,
            precision=precision,
            batch=batch,
            preprocessing=one.preprocessing,
            name=one.name,
            side=subject.suite.edition.side,
        )
        for one in wanted
    )
    elsewhere = None
    if several_devices is not None:
        check_travels(loaders)
        crew = Crew(several_devices.places, warn or warn_user)
        elsewhere = Elsewhere(crew, loaders, several_devices.threads)
    loaded = tuple(load() for load in loaders)
    shown = mixed(loaded, subject.near(loaded))
    runner.check_different(loaded, shown, own_classes=own_classes)
    named = frozenset(
        model.name for model, one in zip(loaded, wanted, strict=True) if one.name is not None
    )
    left_out = count_left_out(unusable)
    evaluation = Evaluation(
        loaded, shown, Path(store), count, own_classes, named, left_out, part, elsewhere
    )
    doubts = evaluation.check_classes(shown)
    announce(evaluation)
    if dry_run:
        return evaluation.plan()
    found = evaluation.check()
    for its_name, checked in found.items():
        doubts[its_name] += checked.warnings
    for warning in dict.fromkeys(text for some in doubts.values() for text in some):
        (warn or warn_user)(warning)
    accuracy = {its_name: checked.accuracy for its_name, checked in found.items()}
    outcome = evaluation.run(track, accuracy, doubts, warn)
    faults = (*(fault.reason for fault in unusable), *outcome.faults)
    stored = [Run(open_run(folder), faults) for folder in outcome.folders]
    return stored if several else stored[0]


def _check_apart(images: Any, store: Path) -> None:
    """Refuse a store among the images: it would be one more folder of images the next time."""
    folder = isinstance(images, str | os.PathLike) and os.path.isdir(images)
    if folder and store.resolve().is_relative_to(Path(images).resolve()):
        raise InputError(f"the store {store} lies in the images' folder; name one elsewhere")
