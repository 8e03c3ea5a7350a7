"""The rounds of a sampled run (`hardy eval --until`): predict, look, go on or stop.

It stops when intervals are narrow enough, not when a score has some value: which score comes out is
no part of the decision, so the intervals stay honest (Chow & Robbins 1965). A run that was killed
goes through the same rounds again, of which those that are stored cost nothing, and each look sees
what it saw before: so it stops at the same sample.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from hardy.errors import InputError
from hardy.execute import Executor
from hardy.models import Model
from hardy.models.model import facts_of
from hardy.progress import Track, in_time
from hardy.run.cells_per_image import Costs, Looked, growth_needed
from hardy.run.failures import Failures
from hardy.run.plan import time_few
from hardy.run.sample_design import SampleDesign
from hardy.run.sample_limits import Limits
from hardy.run.sample_plan import SampleExtent, SamplePlan, read_plans
from hardy.run.sample_predicting import predict_sample
from hardy.run.sample_rounds import SampleRounds
from hardy.run.sample_tasks import count_sample, list_sample_tasks
from hardy.run.subject import Subject
from hardy.store.provenance import UNREADABLE
from hardy.store.records import read_details
from hardy.store.writer import RunWriter
from hardy.suites.cells import CLEAN

# Images; a block would take as long to read as all the others of the first round.
_TIMED_ON_DEVICE = 128
Look = Callable[[Sequence[Path], SampleExtent], list[Looked]]


@dataclass
class SampledRun:
    """What is asked of a sampled run; `look` reads the samples in runs' folders."""

    look: Look
    limits: Limits
    tell: Callable[[str], None]
    workers: int = 1

    @staticmethod
    def check(models: Sequence[Model], subject: Subject) -> None:
        """Refuse what cannot be sampled."""
        if subject.suite.shift is not None:
            raise InputError(
                f"expected a suite of corruptions or sequences with `until`, got "
                f"{subject.suite.name}, of which each image is shown once; run a `subset` instead"
            )
        if subject.cells == (CLEAN,):
            raise InputError("expected corruptions with `until`, got clean images alone")
        if subject.suite.kind == "corruptions" and (subject.classes.labels < 0).any():
            raise InputError("expected labels for all images with `until`, got images without")
        for model in models:
            if facts_of(model).adapts_in is not None:
                raise InputError(
                    f"expected models that take each image by itself with `until`, got "
                    f"{model.name}, which adapts to the images of a batch; run a `subset` instead"
                )

    @staticmethod
    def check_images(writer: RunWriter, subject: Subject) -> None:
        """Refuse a part of the images that a run has: its order, and so its sample, is of all."""
        if writer.images > len(subject):
            raise InputError(
                f"expected all {writer.images:,} images of the run in {writer.folder} with "
                f"`until`, got {len(subject):,} of them; name all of them, or another `store`"
            )

    def conduct(
        self,
        models: Sequence[Model],
        subject: Subject,
        writers: Sequence[RunWriter],
        executor: Executor,
        faults: dict[int, str],
        failures: Failures,
        track: Track,
    ) -> int:
        """Predict until all models' intervals are narrow enough; returns how many predictions.

        The time is that of these models: of many, each group has it.
        """
        began, made = time.monotonic(), 0
        cells = [cell for cell in subject.cells if cell != CLEAN]
        design = SampleDesign(
            subject.ids,
            subject.classes.labels,
            cells=len(cells),
            suite=subject.suite.name,
            seed=subject.variants.seed,
        )
        frames = sum(subject.frames(cell) or 1 for cell in cells) / len(cells)
        plan = self._stored_plan(writers, subject)
        rounds = SampleRounds(design, subject.cells, plan, frames)
        self._check_limit(rounds)

        def going_on() -> list[tuple[Model, RunWriter]]:
            """The models that have not failed."""
            pairs = zip(models, writers, strict=True)
            return [(model, writer) for model, writer in pairs if model.name not in failures]

        def predict() -> bool:
            """Whether all of the round was done before the time was over."""
            nonlocal made
            shown, takers = zip(*going_on(), strict=True)
            have = [writer.have(subject.cells) for writer in takers]
            tasks = list_sample_tasks(subject, rounds.design.line, rounds.wanted(), have)
            steps = predict_sample(shown, subject, takers, tasks, executor, faults, failures)
            with closing(steps):
                for count in track(steps, count_sample(subject, tasks), "predictions", int):
                    made += count
                    if time.monotonic() - began > self.limits.seconds:
                        break
                else:
                    return True
            return False

        def looks() -> list[Looked]:
            for writer in writers:
                writer.checkpoint()
                if faults:
                    writer.leave_out(UNREADABLE, len(faults))
            return self.look([writer.folder for _, writer in going_on()], rounds.extent)

        def remember() -> None:
            """The plan, before anything is predicted by it."""
            for writer in writers:
                writer.plan_sample(rounds.plan.as_dict())

        remember()
        while True:
            in_time_left = predict()
            found = looks()
            if not found:
                return made
            worst = max(found, key=lambda one: one.far)
            each = len(going_on()) * (time.monotonic() - began) / made if made else None
            self._report(found, rounds, worst, each)
            if not in_time_left:
                self.tell(f"the time is over: {in_time(self.limits.seconds)}")
                return made
            if not rounds.plan.per_image and worst.far > 1:
                if math.isfinite(worst.far):
                    asked = [model for model, _ in going_on()]
                    reading, making, predicting = time_few(asked, subject, _TIMED_ON_DEVICE)
                    costs = Costs(reading / self.workers, making / self.workers + predicting)
                    rounds.choose(worst, costs, self.tell)
                else:
                    rounds.take_one_each()
                remember()
            clean_far = max(one.clean_far for one in found)
            if not rounds.advance(worst, clean_far, self.limits.predictions):
                if rounds.is_full or not any(one.sampled for one in found):
                    self.tell(
                        "all predictions are made: nothing is sampled any more, and ± is how far "
                        "off other images may be"
                    )
                elif max(worst.far, clean_far) > 1 and math.isfinite(self.limits.predictions):
                    self.tell(f"{rounds.predictions:,} predictions, of at most {self._most():,}")
                return made

    def _most(self) -> int:
        return int(self.limits.predictions)

    def _stored_plan(self, writers: Sequence[RunWriter], subject: Subject) -> SamplePlan | None:
        """The plan that a run of the same cells was begun with, at least its first round."""
        now = [str(cell) for cell in subject.cells]
        found = []
        for writer in writers:
            details = read_details(writer.folder) or {"sessions": ()}
            found += [plan for plan, cells in read_plans(details["sessions"]) if cells == now]
        return max(found, key=lambda plan: plan.per_image > 0, default=None)

    def _check_limit(self, rounds: SampleRounds) -> None:
        if self.limits.predictions < rounds.predictions:
            raise InputError(
                f"expected `at_most` of at least {rounds.predictions:,} predictions, with which a "
                f"sample begins, got {self._most():,}"
            )

    def _report(
        self, found: Sequence[Looked], rounds: SampleRounds, worst: Looked, each: float | None
    ) -> None:
        """`each` prediction took all models so many seconds, if any was made."""
        line = f"{'; '.join(one.told for one in found)} after {rounds.predictions:,} predictions"
        if worst.far > 1 and math.isfinite(worst.far):
            needed = min(rounds.all_predictions, int(rounds.predictions * growth_needed(worst)))
            line += f", about {needed:,} needed"
            if each is not None:
                line += f", {in_time(each * (needed - rounds.predictions))} left"
        self.tell(line)
