"""`hardy.evaluate`: models on a suite of corruptions, into a store of predictions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from hardy import models as adapters
from hardy.engine.keys import check_seed
from hardy.engine.ops import engine_name
from hardy.errors import InputError
from hardy.execute import Executor, Serial, Threads, count_workers
from hardy.images.labels import doubt_order
from hardy.images.source import Fault, count_left_out
from hardy.metrics import stratified_subset
from hardy.models import Model, Override, Preprocessing
from hardy.models.defences import defend as behind
from hardy.models.model import facts_of, in_words
from hardy.models.model_lists import list_models, refuse_lone_list
from hardy.progress import Track, watch
from hardy.run import runner
from hardy.run.batching import mixed
from hardy.run.plan import RunPlan, plan_run
from hardy.run.preflight import Checked, check, check_trained_on
from hardy.run.selection import Images, open_subject
from hardy.run.subject import Subject
from hardy.scores.scoring import Run
from hardy.store.provenance import said, session
from hardy.store.reader import open_run
from hardy.store.records import read_details
from hardy.suites import load

# Enough to tell 7 points of accuracy from chance; with fewer than the least, nothing is told.
CHECKED, LEAST = 256, 30

AnyModel = str | Callable[..., Any] | Model


@dataclass(frozen=True)
class Evaluation:
    """Everything that is known before the first prediction."""

    models: tuple[Model, ...]
    subject: Subject
    store: Path
    workers: int
    own_classes: bool
    named: frozenset[str] = frozenset()  # names that users gave; a stored run takes them on
    # Images that could not be used, so many of each kind.
    left_out: Mapping[str, int] = field(default_factory=dict)

    def describe(self) -> list[str]:
        """What is shown to whom, in lines for a terminal."""
        subject = self.subject
        lines = [subject.variants.describe()]
        if subject.subset:
            equal = subject.subset["per_class"]
            how = "as many of each class" if equal else "classes in proportion"
            lines.append(f"of which {len(subject):,} images, a fixed part, {how}")
        cells = len(subject.cells)
        lines.append(
            f"{cells} cell{'s' if cells > 1 else ''} of {subject.suite.title}, "
            f"{subject.predictions:,} predictions per model"
        )
        for model in self.models:
            taken = model.preprocessing or "bytes as they are"
            lines.append(f"{model.name} on {model.device}, {model.precision}: {taken}")
            if defences := facts_of(model).defences:
                lines.append(f"  behind {in_words(defences)}")
        return lines

    def plan(self) -> RunPlan:
        return plan_run(self.models, self.subject, workers=self.workers)

    def check_classes(self, subject: Subject) -> dict[str, list[str]]:
        """Warnings by model, or an error, where one was trained on other classes than these."""
        names, own, told = subject.classes.names, self.own_classes, {}
        for model in self.models:
            warning = check_trained_on(facts_of(model).class_names, names, model.name, own=own)
            # Trained by Hardy on classes of these names, it has them in this order.
            doubt = None if facts_of(model).class_names == names else doubt_order(names)
            told[model.name] = [text for text in (warning, doubt) if text]
        return told

    def check(self) -> dict[str, Checked]:
        """Warnings about how models take their images, and their accuracy on some clean ones.

        A run is checked once: one that goes on has been warned already.
        """
        labels = self.subject.classes.labels
        fresh = [model for model in self.models if not self._checked(model)]
        enough = len(labels) >= LEAST and (labels >= 0).all()
        sample = self._sample() if fresh and enough else None
        if sample is None:
            return {}
        rows, images = sample
        return {model.name: check(model, images, labels[rows]) for model in fresh}

    def _unchecked(self, model: Model) -> str | None:
        """What a model's scores rest on without anybody having looked; of flips it is nothing."""
        if self.subject.suite.kind == "perturbations":
            return None
        named = facts_of(model).class_names and self.subject.classes.names
        order = "" if named else " and class order"
        return f"preprocessing{order} not checked: that takes {LEAST} clean images"

    def _checked(self, model: Model) -> bool:
        identity = runner.identify_run(model, self.subject, own_classes=self.own_classes)
        details = read_details(identity.folder_in(self.store)) or {"sessions": ()}
        return any(one.get("checked_accuracy") is not None for one in details["sessions"])

    def _sample(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]] | None:
        """Some clean images; the run itself tells which images cannot be read."""
        labels = self.subject.classes.labels
        rows, images = [], []
        for row in stratified_subset(labels, self.subject.ids, size=min(CHECKED, len(labels))):
            try:
                image = self.subject.clean_images(np.array([row]))
            except InputError:
                continue
            if image is not None:
                rows.append(row)
                images.append(image[0])
        if len(rows) < LEAST or len({image.shape for image in images}) > 1:
            return None
        return np.array(rows), np.stack(images)

    def run(
        self,
        track: Track,
        accuracy: Mapping[str, float | None],
        doubts: Mapping[str, Sequence[str]] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> runner.RunOutcome:
        """Run all; accuracies and doubts, by model, are stored, and `warn` hears of new ones."""
        executor: Executor = Serial() if self.workers == 1 else Threads(self.workers)
        sessions = [
            session(
                source=self.subject.variants.describe(),
                preprocessing=str(model.preprocessing or "none"),
                device=model.device,
                precision=model.precision,
                workers=self.workers,
                engine=engine_name(self.subject.device),
                checked_accuracy=accuracy.get(model.name),
                warnings=(doubts or {}).get(model.name, ()),
                unchecked=self._unchecked(model) if accuracy.get(model.name) is None else None,
                images=len(self.subject.variants),
                left_out=self.left_out,
                **said(facts_of(model)),
            )
            for model in self.models
        ]
        return runner.run_models(
            self.models,
            self.subject,
            self.store,
            executor=executor,
            sessions=sessions,
            own_classes=self.own_classes,
            named=self.named,
            track=track,
            warn=warn or _warn,
        )


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
        (warn or _warn)("`trust=True` changes nothing: it is for joblib files, sklearn:FILE")
    _check_apart(images, Path(store))
    count = count_workers(workers)
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
    loaded = tuple(
        adapters.load_model(
            one.model,
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
    if defend is not None:
        loaded = tuple(behind(one, defend) for one in loaded)
    shown = mixed(loaded, subject.near(loaded))
    runner.check_different(loaded, shown, own_classes=own_classes)
    named = frozenset(
        model.name for model, one in zip(loaded, wanted, strict=True) if one.name is not None
    )
    left_out = count_left_out(unusable)
    evaluation = Evaluation(loaded, shown, Path(store), count, own_classes, named, left_out)
    doubts = evaluation.check_classes(shown)
    announce(evaluation)
    if dry_run:
        return evaluation.plan()
    found = evaluation.check()
    for its_name, checked in found.items():
        doubts[its_name] += checked.warnings
    for warning in dict.fromkeys(text for some in doubts.values() for text in some):
        (warn or _warn)(warning)
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


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=3)
