"""`hardy.evaluate`: models on a suite of corruptions, into a store of predictions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from functools import partial
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy.typing as npt

from hardy import models as adapters
from hardy.engine.keys import check_seed
from hardy.errors import InputError, warn_user
from hardy.execute import count_workers
from hardy.images.labels import spellings
from hardy.images.source import Fault, count_left_out
from hardy.models import Model, Override, Preprocessing
from hardy.models.model_lists import list_wanted
from hardy.places import locate
from hardy.progress import Track, watch
from hardy.rerun import refuse_in_rerun
from hardy.run import runner
from hardy.run.device_places import find_sharing
from hardy.run.failures import Failures
from hardy.run.groups import Candidate, ModelGroups
from hardy.run.plan import RunPlan, sum_plans
from hardy.run.prepared import Evaluation as Evaluation
from hardy.run.prepared import load_defended
from hardy.run.reading import begin_reading_processes
from hardy.run.same_models import load_together, names_of
from hardy.run.selection import Images, open_subject, refuse_store_among
from hardy.run.shards import read_shard
from hardy.run.units import Elsewhere, check_travels
from hardy.scores.evaluated import ModelRuns, run_asked_for, runs_of_groups
from hardy.scores.sample_looks import Until, check_targets, plan_sample
from hardy.scores.scoring import Asked, Run, StoredRuns
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
    compile: bool
    preprocessing: Preprocessing | Override | str | None
    prompts: str | os.PathLike[str] | None
    defend: str | None
    name: str | Sequence[str] | None
    workers: int | None
    devices: str | Iterable[int | str] | None
    on: str | None
    shard: str | None
    until: Until | None
    at_most: int | str | None
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
@overload
def evaluate(
    *,
    models: str | os.PathLike[str] | Several,
    suite: str,
    dry_run: Literal[False] = False,
    **options: Unpack[RunOptions],
) -> ModelRuns: ...
@overload
def evaluate(
    *,
    models: str | os.PathLike[str] | Several,
    suite: str,
    dry_run: Literal[True],
    **options: Unpack[RunOptions],
) -> RunPlan: ...
def evaluate(
    model: AnyModel | Sequence[AnyModel] | None = None,
    *,
    suite: str,
    models: str | os.PathLike[str] | Several | None = None,
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
    compile: bool = False,
    preprocessing: Preprocessing | Override | str | None = None,
    prompts: str | os.PathLike[str] | None = None,
    defend: str | None = None,
    name: str | Sequence[str] | None = None,
    workers: int | None = None,
    devices: str | Iterable[int | str] | None = None,
    on: str | None = None,
    shard: str | None = None,
    until: Until | None = None,
    at_most: int | str | None = None,
    dry_run: bool = False,
    announce: Callable[[Evaluation], None] = lambda evaluation: None,
    warn: Callable[[str], None] | None = None,
    track: Track = watch,
) -> Run | list[Run] | ModelRuns | RunPlan:
    """Predict all cells of a suite and store what metrics need: a `Run`, or a list for a list.

    The same call resumes; more cells, severities or images extend. `model` is a name such as
    "timm:resnet50" (`hardy.names("models")` lists the kinds), a torch module, a MAITE model, or a
    function from uint8 (N, H, W, 3) to logits (N, K), which goes by its `name`: give it another one
    when its weights change. Several models see each corrupted image while it is there; of these
    `name` has one for each, "MODEL@FILE" brings weights, "models.toml" is a list of models.

    `models` instead of `model` is for hundreds: "list.txt" has one on each line, and
    "torch:net.py:make@checkpoints/*.pt" stands for one with each file. As many as fit in memory see
    the images together. One that fails stops no other: the list that is returned has the reasons in
    `failed`, by model.

    `images` is a path of any kind that `hardy.names("readers")` lists, an array uint8 (N, H, W, 3)
    with its `labels`, or a data set of torch's, Hugging Face's or MAITE's kind; `files` is a folder
    that holds the suite ready-made. `subset` and `images_per_class` take a fixed part of the
    images. `own_classes` says that labels are the images' own, not the suite's, and `classes` how
    many there are; `preprocessing`, an `Override` or a name such as "caffe", overrides the model's
    own, and `defend` puts a defence before it, such as "clahe". `prompts` are the sentences that
    tell models of images and texts what classes there are: "varied", "single", or a file of yours.
    With `compile` torch compiles models that have a name, which takes up to a minute, is
    done while images are read, and may change last bits. With `dry_run` nothing is stored: the
    result says what the run would cost, by a timed sample.

    `devices` shares the run among processes, one for each GPU of "0,1,3" or "all", or one for each
    word of "cpu,cpu"; `on` among the machines of a Ray cluster, "ray://HOST:PORT", "auto", or "ray"
    for one of its own. With `shard`, such as "1/8", only that share of the images is done: calls
    with the others, on any machine, fill the same store ("auto" under torchrun and SLURM).

    With `until`, a sample of the predictions is made: as many as bring the main score's 95 %
    interval to ± that many points, or each of "mCE=0.5,clean error=0.3" to its own; of two models
    "difference=0.3" is that of their main scores. `at_most` ends it before, after 50000 predictions
    or "10m", which each group of `models` has. The same call without them completes the run.

    ```python
    import hardy, numpy

    images = numpy.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), "uint8")
    run = hardy.evaluate("fake:10", suite="cifar10_c", images=images,
                         labels=numpy.arange(20) % 10, only=["fog", "contrast"])
    print(run.score())
    ```
    """
    refuse_in_rerun()
    wanted = list_wanted(
        model,
        models,
        name=name,
        checkpoint=checkpoint,
        preprocessing=preprocessing,
        prompts=prompts,
    )
    if trust and not any(adapters.heeds("trust", one.model) for one in wanted):
        (warn or warn_user)(
            "`trust=True` changes nothing: it is for joblib files, sklearn:FILE, and for pickled "
            "weights, hf:DIR and clip:DIR, Lambda layers, keras:FILE, or backbones of linear:FILE"
        )
    place = locate(store)
    refuse_store_among(images, place)
    count = count_workers(workers)
    part = read_shard(shard)
    if part is not None and on is not None:
        raise InputError(f"expected `shard` or `on`, got both: {shard} and {on}")
    benchmark = load(suite)
    some = {"subset": subset, "images_per_class": images_per_class}
    sampled = plan_sample(
        until, at_most, benchmark, count, len(wanted), shard=shard, devices=devices, on=on, **some
    )
    unusable: list[Fault] = []
    subject = open_subject(
        benchmark,
        images=images,
        files=None if files is None else locate(files),
        labels=labels,
        only=[only] if isinstance(only, str) else only,
        severities=[severities] if isinstance(severities, int) else severities,
        **some,
        seed=check_seed(seed),
        own_classes=own_classes,
        classes=classes,
        faults=unusable,
    )
    if until is not None:
        check_targets(until, benchmark, subject.cells, own_classes=own_classes)
    tell = warn or warn_user
    sharing = find_sharing(devices=devices, on=on, device=device, workers=workers, warn=tell)
    reading_processes = None
    if on is None and adapters.will_be_on_gpu([one.model for one in wanted], device):
        subject.begin_kernels()
        if not (sharing or dry_run):
            reading_processes = begin_reading_processes(subject, workers, tell)
    with nullcontext() if reading_processes is None else closing(reading_processes):
        loaders = tuple(
            partial(
                load_defended,
                one.model,
                defend=defend,
                checkpoint=one.checkpoint,
                trust=trust,
                device=device if sharing is None else sharing.here,
                precision=precision,
                batch=batch,
                compile=compile,
                preprocessing=one.prepared_for(images),
                prompts=one.prompts,
                name=one.load_as,
                side=subject.suite.edition.side,
                classes=spellings(subject.suite, subject.classes, own=own_classes),
            )
            for one in wanted
        )
        elsewhere = None
        if sharing is not None:
            check_travels(loaders)
            elsewhere = Elsewhere(sharing.team, {}, sharing.device, sharing.threads)
        # What is the same for all models.
        basis = Evaluation(
            (),
            subject,
            place,
            count,
            own_classes,
            left_out=count_left_out(unusable),
            shard=part,
            elsewhere=elsewhere,
            sampled=sampled,
            reading_processes=reading_processes,
            failures=Failures(excused=models is not None),
        )

        def conduct(evaluation: Evaluation) -> runner.RunOutcome:
            return evaluation.conduct(announce, tell, track)

        reasons = [fault.reason for fault in unusable]
        # A sample is scored as far as it goes, whoever asked for it.
        asked = None if sampled is not None else Asked(subject.ids, subject.cells)
        if models is not None:
            candidates = [
                Candidate(one.label, load, partial(names_of, one))
                for one, load in zip(wanted, loaders, strict=True)
            ]
            copies = 1 if sharing is None else 1 + sharing.neighbours
            groups = ModelGroups(basis, candidates, copies)
            if dry_run:
                plans: list[RunPlan] = []
                groups.work(lambda evaluation: plans.append(evaluation.plan(announce)))
                return sum_plans(subject, plans, groups.failures)
            return runs_of_groups(groups, conduct, reasons, asked)
        together = load_together(basis, wanted, loaders)
        if dry_run:
            return together.evaluation.plan(announce)
        outcome = conduct(together.evaluation)
        faults = (*reasons, *outcome.faults)
        stored = StoredRuns(
            run_asked_for(open_run(outcome.folders[place]), name, faults, asked)
            for name, place in zip(together.names, together.places, strict=True)
        )
        return stored if isinstance(model, list | tuple) else stored[0]
