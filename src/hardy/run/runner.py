"""The run: each image is decoded once, each cell is made once, and each model is shown the cells
that it has not seen.

Rows are worked on in blocks of fixed places, so that a run that was stopped and goes on shows its
models the same batches as one that was not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from hardy.errors import InputError
from hardy.execute import Executor
from hardy.models import Model
from hardy.models.model import facts_of
from hardy.progress import Track, untracked
from hardy.run.batching import batches_of, whole_batches
from hardy.run.failures import Failures
from hardy.run.predicting import count_predictions, list_tasks, predict
from hardy.run.preflight import check_unchanged, rehearse
from hardy.run.sampled_run import SampledRun
from hardy.run.shards import Shard
from hardy.run.subject import Subject
from hardy.run.units import Elsewhere
from hardy.run.worst_choice import keep_worst
from hardy.store.identity import Identity
from hardy.store.provenance import UNREADABLE
from hardy.store.run_names import RunNames
from hardy.store.writer import RunWriter
from hardy.suites import keep_beside


class RunOutcome(NamedTuple):
    folders: tuple[Path, ...]  # one per model that did not fail
    faults: list[str]


def identify_run(model: Model, subject: Subject, *, own_classes: bool) -> Identity:
    suite = subject.suite
    return Identity(
        model=model.name,
        model_identity=model.identity,
        suite=suite.name,
        suite_version=suite.version,
        suite_hash=suite.content_hash(),
        seed=subject.variants.seed,
        recipe=subject.variants.recipe,
        made=subject.made,
        labels="own" if own_classes else "suite",
        preprocessing=str(model.preprocessing or "none"),
        precision=model.precision,
        defence=facts_of(model).defences,
        batches=batches_of(model, subject),
    )


def check_different(
    models: Sequence[Model],
    subject: Subject,
    *,
    own_classes: bool,
    known: Mapping[str, str] | None = None,
    taken: Iterable[str] = (),
    sampled: bool = False,
) -> dict[str, str]:
    """Refuse two models of one name, by which their warnings are kept; in a `sampled` run also one
    model under two names. Returns the names by what identifies their runs, the first of each;
    `known` are such of others, and `taken` all names of these."""
    seen, names = dict(known or {}), {*taken}
    for model in models:
        identity = identify_run(model, subject, own_classes=own_classes).hash()
        twin = seen.get(identity)
        if twin is not None and (sampled or twin == model.name):
            raise InputError(
                f"expected different models, got {twin} and {model.name}, which are the same; "
                "name it once"
            )
        if model.name in names:
            raise InputError(
                f'expected models whose names differ, got two called "{model.name}"; give each '
                "one of its own by `name`"
            )
        seen.setdefault(identity, model.name)
        names.add(model.name)
    return seen


def run_models(
    models: Sequence[Model],
    subject: Subject,
    store: Path,
    *,
    executor: Executor,
    sessions: Sequence[Mapping[str, Any]],
    own_classes: bool = False,
    names: Mapping[str, RunNames] | None = None,
    shard: Shard | None = None,
    elsewhere: Elsewhere | None = None,
    sampled: SampledRun | None = None,
    track: Track = untracked,
    warn: Callable[[str], None] = lambda text: None,
    failures: Failures | None = None,
) -> RunOutcome:
    """Predict what the store lacks; `track` follows the predictions, `warn` hears of doubts. Runs
    take on the `names` of their models; of a `shard` only that share of the blocks is done, and
    others may do theirs at the same time; the blocks are done `elsewhere` if that is given; a
    `sampled` run makes some predictions of all images. A model that fails is left out from there on
    where `failures` are excused."""
    failures = Failures() if failures is None else failures
    told = [list(session.get("warnings", ())) for session in sessions]
    for known, found in zip(told, rehearse(models, subject, failures), strict=True):
        for text in found:
            if text not in known:
                warn(text)
                known.append(text)
    faults: dict[int, str] = {}
    made = 0
    with ExitStack() as stack:

        def begin(model: Model, session: Mapping[str, Any], doubts: list[str]) -> RunWriter:
            writer = stack.enter_context(
                RunWriter(
                    store,
                    identify_run(model, subject, own_classes=own_classes),
                    ids=subject.ids,
                    labels=subject.classes.labels,
                    classes=subject.classes.names,
                    frames=subject.sequences,
                    shared=shard is not None,
                )
            )
            check_unchanged(model, writer, subject)
            if sampled is not None:
                sampled.check_images(writer, subject)
            asked = {"cells": list(map(str, subject.cells)), "subset": subject.subset}
            called = (names or {}).get(model.name, RunNames(model.name))
            writer.add_session({**session, **asked, "warnings": doubts}, called)
            keep_beside(writer.folder, subject.suite)
            return writer

        begun: list[tuple[Model, RunWriter]] = []
        for model, session, doubts in zip(models, sessions, told, strict=True):
            if model.name not in failures:
                with failures.of(model.name):
                    begun.append((model, begin(model, session, doubts)))
        if not begun:
            return RunOutcome((), [])
        models, writers = zip(*begun, strict=True)
        if sampled is not None:
            made = sampled.conduct(models, subject, writers, executor, faults, failures, track)
        else:
            have = [writer.have(subject.cells) for writer in writers]
            faults |= whole_batches(models, subject, have)
            tasks = list_tasks(subject, have)
            if shard is not None:
                tasks = [task for task in tasks if shard.has(subject.block_of(task.rows[0]))]
            if elsewhere is None:
                steps = predict(models, subject, writers, tasks, executor, faults, failures)
            else:
                identities = [
                    identify_run(model, subject, own_classes=own_classes) for model in models
                ]
                run_hashes = [identity.hash() for identity in identities]
                steps = elsewhere.predict(
                    models, subject, writers, run_hashes, tasks, faults, failures
                )
            with closing(steps):
                for count in track(steps, count_predictions(subject, tasks), "predictions", int):
                    made += count
        for writer in writers:
            writer.checkpoint()
            if faults:
                writer.leave_out(UNREADABLE, len(faults))
            keep_worst(writer.folder, subject, anew=made > 0)
    unusable = [f"{subject.ids[row]}: {faults[row]}" for row in sorted(faults)]
    good = tuple(writer.folder for model, writer in begun if model.name not in failures)
    return RunOutcome(good, unusable)
