"""A run that is about to begin: what is known of it before the first prediction."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.engine.ops import engine_name
from hardy.errors import InputError
from hardy.execute import Executor, Serial, Threads
from hardy.images.labels import doubt_order
from hardy.metrics import stratified_subset
from hardy.models import Model, load_model
from hardy.models.defences import defend as behind
from hardy.models.model import facts_of, in_words
from hardy.progress import Track
from hardy.run import runner
from hardy.run.plan import RunPlan, plan_run
from hardy.run.preflight import Checked, check, check_trained_on
from hardy.run.shards import Shard
from hardy.run.subject import Subject
from hardy.run.units import Elsewhere
from hardy.store.provenance import said, session
from hardy.store.records import read_details

# Enough to tell 7 points of accuracy from chance; with fewer than the least, nothing is told.
CHECKED, LEAST = 256, 30


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
    shard: Shard | None = None  # the share of it that is done now
    elsewhere: Elsewhere | None = None  # where blocks are done, if not here

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
        if self.shard is not None:
            each = len(self.models) * subject.predictions // max(1, len(subject))
            shown = f"share {self.shard}: {self.predictions // each:,} of {len(subject):,} images"
            lines.append(shown)
        for model in self.models:
            taken = model.preprocessing or "bytes as they are"
            lines.append(f"{model.name} on {model.device}, {model.precision}: {taken}")
            if defences := facts_of(model).defences:
                lines.append(f"  behind {in_words(defences)}")
        return lines

    @property
    def predictions(self) -> int:
        """How many predictions all models make, of the whole run or of its share."""
        subject = self.subject
        shard = self.shard
        rows = sum(shard is None or shard.has(subject.block_of(row)) for row in range(len(subject)))
        return len(self.models) * rows * (subject.predictions // max(1, len(subject)))

    def plan(self) -> RunPlan:
        if self.shard is not None:
            raise InputError(
                "expected `dry_run` without `shard`: it says what the whole run costs, of which a "
                "share is that part"
            )
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
        if self.shard is not None and not self.predictions:
            blocks = self.subject.block_of(len(self.subject) - 1) + 1
            (warn or warn_user)(f"share {self.shard} has no images: there are {blocks} blocks")
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
                shard=None if self.shard is None else str(self.shard),
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
            shard=self.shard,
            elsewhere=self.elsewhere,
            track=track,
            warn=warn or warn_user,
        )


def warn_user(message: str) -> None:
    """Warn whoever called a function of Python."""
    warnings.warn(message, UserWarning, stacklevel=3)


def load_defended(model: Any, *, defend: str | None, **how: Any) -> Model:
    """Load a model by `load_model`, and put a defence before it; also in other processes."""
    loaded = load_model(model, **how)
    return loaded if defend is None else behind(loaded, defend)
