"""A run that is about to begin: what is known of it before the first prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.engine.ops import engine_name
from hardy.errors import InputError, warn_user
from hardy.execute import Executor
from hardy.images.labels import doubt_order
from hardy.images.recipes import RECIPES
from hardy.metrics import stratified_subset
from hardy.models import Model, load_model
from hardy.models.defences import defend as behind
from hardy.models.model import facts_of, in_words
from hardy.progress import Track
from hardy.run import runner
from hardy.run.failures import Failures
from hardy.run.held_out import check_held_out
from hardy.run.plan import RunPlan, plan_run
from hardy.run.preflight import Checked, check, check_not_learnt, check_trained_on
from hardy.run.reading import ReadingProcesses, clean_reader, reading_executor
from hardy.run.sampled_run import SampledRun
from hardy.run.shards import Shard
from hardy.run.subject import Subject
from hardy.run.units import Elsewhere
from hardy.store.namesakes import describe_namesake, describe_other_name
from hardy.store.provenance import said, session
from hardy.store.records import read_details
from hardy.store.run_names import RunNames
from hardy.variants.generated import Generated
from hardy.variants.shifted import Shifted

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
    names: Mapping[str, RunNames] = field(default_factory=dict)  # of their runs, by the models'
    # Images that could not be used, so many of each kind.
    left_out: Mapping[str, int] = field(default_factory=dict)
    shard: Shard | None = None  # the share of it that is done now
    elsewhere: Elsewhere | None = None  # where blocks are done, if not here
    sampled: SampledRun | None = None  # of a run that stops when it is precise enough
    reading_processes: ReadingProcesses | None = None  # where a GPU wants many to read images
    failures: Failures = field(default_factory=Failures)
    group: str = ""  # which of many models these are, in words

    def describe(self) -> list[str]:
        """What is shown to whom, in lines for a terminal."""
        return [*self.describe_subject(), *self.describe_models()]

    def describe_subject(self) -> list[str]:
        subject = self.subject
        lines = [subject.variants.describe()]
        if subject.subset:
            equal = subject.subset["per_class"]
            how = "as many of each class" if equal else "classes in proportion"
            lines.append(f"of which {len(subject):,} images, a fixed part, {how}")
        if isinstance(subject.variants, Generated):
            recipe = RECIPES[subject.variants.recipe]
            if subject.variants.resized_again():
                side = subject.suite.edition.side
                lines.append(
                    f"the first images are {side} x {side} already, and go through the suite's "
                    f"recipe {recipe.name} all the same; as an array, .npy or .npz, they would be "
                    "taken as they are"
                )
            elif recipe.side is not None:
                what = recipe.summary.rstrip(".")
                lines.append(f"prepared by the suite's recipe {recipe.name}: {what}")
        cells = len(subject.cells)
        lines.append(
            f"{cells} cell{'s' if cells > 1 else ''} of {subject.suite.title}, "
            f"{subject.predictions:,} predictions per model"
        )
        if self.shard is not None:
            lines.append(f"share {self.shard}: {self.images:,} of {len(subject):,} images")
        return lines

    def describe_models(self) -> list[str]:
        lines = [self.group] if self.group else []
        for model in self.models:
            taken = model.preprocessing or "bytes as they are"
            how = f"{model.precision}, compiled" if facts_of(model).compiled else model.precision
            lines.append(f"{model.name} on {model.device}, {how}: {taken}")
            if found := facts_of(model).found:
                lines.append(f"  {found}")
            identity = runner.identify_run(model, self.subject, own_classes=self.own_classes)
            if namesake := describe_namesake(identity, self.store):
                lines.append(f"  {namesake}")
            names = self.names.get(model.name, RunNames(model.name))
            if not names.given and (stored := describe_other_name(identity, self.store)):
                lines.append(f"  {stored}")
            for twin in names.twins:
                lines.append(f"  {twin} is the same model: its run answers to both names")
            if defences := facts_of(model).defences:
                lines.append(f"  behind {in_words(defences)}")
        return lines

    @property
    def images(self) -> int:
        """How many images there are, in the whole run or in its share."""
        shard, subject = self.shard, self.subject
        if shard is None:
            return len(subject)
        return sum(shard.has(subject.block_of(row)) for row in range(len(subject)))

    @property
    def predictions(self) -> int:
        """How many predictions all models make of these images."""
        per_image = self.subject.predictions // max(1, len(self.subject))
        return len(self.models) * self.images * per_image

    def conduct(
        self,
        announce: Callable[[Evaluation], None],
        warn: Callable[[str], None],
        track: Track,
    ) -> runner.RunOutcome:
        """Check, announce and run."""
        doubts = self.check_classes(self.subject)
        if self.sampled is not None:
            self.sampled.check(self.models, self.subject)
        for model in self.models:
            facts, variants = facts_of(model), self.subject.variants
            known = check_not_learnt(facts.trained_on, variants, model.name)
            unseen = check_held_out(facts, variants, model.name)
            doubts[model.name] += [text for text in (known, unseen) if text]
            doubts[model.name] += facts_of(model).doubts
        announce(self)
        found = self.check()
        for name, checked in found.items():
            doubts[name] += checked.warnings
        for warning in dict.fromkeys(text for some in doubts.values() for text in some):
            warn(warning)
        accuracy = {name: checked.accuracy for name, checked in found.items()}
        return self.run(track, accuracy, doubts, warn)

    def plan(self, announce: Callable[[Evaluation], None]) -> RunPlan:
        """Check, announce, and say what the run would cost."""
        self.check_classes(self.subject)
        announce(self)
        if self.shard is not None:
            raise InputError(
                "expected `dry_run` without `shard`: it says what the whole run costs, of which a "
                "share is that part"
            )
        if self.sampled is not None:
            raise InputError(
                "expected `dry_run` without `until`: how many predictions bring an interval to its "
                "width is known when some are made; without `until` it says what all of them cost"
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
        every, labels = self._clean_rows(), self.subject.classes.labels
        fresh = [model for model in self.models if not self._checked(model)]
        enough = len(every) >= LEAST and (labels[every] >= 0).all()
        few = self._read_few(every) if fresh and enough else None
        if few is None:
            return {}
        rows, images = few
        every_class, width = self.subject.suite.shift is None, self.subject.classes.width
        found = {}
        for model in fresh:
            with self.failures.of(model.name):
                found[model.name] = check(
                    model, images, labels[rows], all_classes=every_class, width=width
                )
        return found

    def _clean_rows(self) -> npt.NDArray[np.int64]:
        """The rows of clean images: of natural shifts, those of the images beside them."""
        rows, variants = np.arange(len(self.subject)), self.subject.variants
        if not isinstance(variants, Shifted):
            return rows
        return rows[[variants.is_clean(int(index)) for index in self.subject.indices]]

    def _unchecked(self, model: Model) -> str | None:
        """What a model's scores rest on without anybody having looked; of flips it is nothing."""
        if self._checked(model):
            return None
        if self.subject.suite.kind == "perturbations":
            return None
        if facts_of(model).held_out is not None:  # trained by Hardy for this very test
            return None
        named = facts_of(model).class_names and self.subject.classes.names
        order = "" if named else " and class order"
        shift, beside = self.subject.suite.shift, ""
        if shift is not None and shift.protocol is None:
            beside = " beside them, those of ImageNet's validation (`hardy eval --images`)"
        return f"preprocessing{order} not checked: that takes {LEAST} clean images{beside}"

    def _checked(self, model: Model) -> bool:
        identity = runner.identify_run(model, self.subject, own_classes=self.own_classes)
        details = read_details(identity.folder_in(self.store)) or {"sessions": ()}
        return any(one.get("checked_accuracy") is not None for one in details["sessions"])

    def _read_few(
        self, every: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]] | None:
        """Some of these clean images; the run itself tells which images cannot be read."""
        labels, ids = self.subject.classes.labels[every], self.subject.ids
        size = min(CHECKED, len(every))
        chosen = every[stratified_subset(labels, [ids[row] for row in every], size=size)]

        read = self._executor().run(clean_reader(self.subject), chosen)
        found = zip(chosen, read, strict=True)
        good = [(row, image[0]) for row, image in found if image is not None]
        if len({image.shape for _, image in good}) > 1:
            good = [(row, image) for row, image in good if image.shape == self._first_size()]
        if len(good) < LEAST:
            return None
        rows, images = zip(*good, strict=True)
        return np.array(rows), np.stack(images)

    def _first_size(self) -> tuple[int, ...]:
        """That of the first clean image that can be read: the run leaves others out."""
        read = clean_reader(self.subject)()
        every = (read(row) for row in range(len(self.subject)))
        return next(image[0].shape for image in every if image is not None)

    def _executor(self) -> Executor:
        return reading_executor(self.subject, self.workers, self.reading_processes)

    def run(
        self,
        track: Track,
        accuracy: Mapping[str, float | None],
        doubts: Mapping[str, Sequence[str]] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> runner.RunOutcome:
        """Run all; accuracies and doubts, by model, are stored, and `warn` hears of new ones."""
        if self.shard is not None and not self.images:
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
            executor=self._executor(),
            sessions=sessions,
            own_classes=self.own_classes,
            names=self.names,
            shard=self.shard,
            elsewhere=self.elsewhere,
            sampled=self.sampled,
            track=track,
            warn=warn or warn_user,
            failures=self.failures,
        )


def load_defended(model: Any, *, defend: str | None, **how: Any) -> Model:
    """Load a model by `load_model`, and put a defence before it; also in other processes."""
    loaded = load_model(model, **how)
    defended = loaded if defend is None else behind(loaded, defend)
    if facts_of(loaded).compiled and not facts_of(defended).compiled and how.get("compile"):
        raise InputError(f"{defend} takes no compile: it changes the module that was compiled")
    return defended
