"""The command `hardy train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import hardy
from hardy.cli import options
from hardy.errors import InputError, printable
from hardy.progress import watch

if TYPE_CHECKING:
    from hardy.train.training import TrainingResult


def train_model(
    data: options.Images,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder to train in; then a model, hardy:DIR.")
    ],
    method: Annotated[
        str | None,
        typer.Argument(
            metavar="METHOD",
            help="Such as standard or augmix; with --as its own if left out.",
            autocompletion=options.complete("methods"),
        ),
    ] = None,
    like: options.Like = None,
    net: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Such as wrn_40_2; some have settings, NAME:growth=24."),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Passes over the data; 100, or fewer with a model's --init."
        ),
    ] = None,
    lr: Annotated[
        float | None,
        typer.Option(metavar="X", help="First learning rate; 0.1, or lower with a model's --init."),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How it falls: {train.hyperparameters:SCHEDULES}; a cosine if left out.",
        ),
    ] = None,
    drops: Annotated[
        str | None,
        typer.Option(metavar="EPOCHS", help="With step: falls to a tenth after these, as 30,60."),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", help="Images per step; 128, or fewer with a model's --init."),
    ] = None,
    momentum: Annotated[
        float | None, typer.Option(metavar="X", help="Of SGD; 0.9 if left out.")
    ] = None,
    nesterov: Annotated[
        bool | None,
        typer.Option(
            "--nesterov/--no-nesterov",
            help="Nesterov's momentum, or the plain one; Nesterov's if left out.",
            show_default=False,
        ),
    ] = None,
    weight_decay: Annotated[
        float | None,
        typer.Option(metavar="X", help="Weight decay of all parameters; 5e-4 if left out."),
    ] = None,
    warmup: Annotated[
        float | None,
        typer.Option(metavar="EPOCHS", help="Epochs in which the learning rate rises."),
    ] = None,
    label_smoothing: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Of each target, for all classes: 0.1.")
    ] = None,
    mixup: Annotated[
        float | None, typer.Option(metavar="ALPHA", help="Mix images in pairs, by Beta(α, α): 0.2.")
    ] = None,
    mixup_each: Annotated[
        bool, typer.Option("--mixup-each", help="A share for each image, not for each batch.")
    ] = False,
    ema: Annotated[
        float | None, typer.Option(metavar="DECAY", help="Test and write averaged weights: 0.999.")
    ] = None,
    accumulate: Annotated[
        int | None, typer.Option(metavar="N", help="Each batch in N parts, to save memory.")
    ] = None,
    autoaugment: Annotated[
        str | None,
        typer.Option(metavar="POLICY", help="Of AutoAugment: {train.hyperparameters:POLICIES}."),
    ] = None,
    antialias: Annotated[
        int, typer.Option(metavar="N", help="Blur by N taps before down-sampling; 1: do not.")
    ] = 1,
    blur_after_conv: Annotated[
        bool, typer.Option("--blur-after-conv", help="BlurAfterConv, as we reconstruct it.")
    ] = False,
    init: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL|FILE",
            help="What to fine-tune: zoo:resnet50, hardy:DIR, ..., or a file of weights.",
        ),
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Whose answers are learned too: hardy:DIR, zoo:resnet50, ..."
        ),
    ] = None,
    teacher_weight: Annotated[
        float, typer.Option(metavar="W", help="How much they count beside the labels.")
    ] = 1.0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="One setting of the method: step=2/255."),
    ] = None,
    stylised: Annotated[
        str | None,
        typer.Option(metavar="SRC", help="For ant: stylised images, in a fifth of each batch."),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(metavar="SRC", help="Held-out images with labels: accuracy after each epoch."),
    ] = None,
    robust: Annotated[
        str | None,
        typer.Option(
            metavar="SUITE",
            help="Error of the validation images under its corruptions, by a sample.",
            autocompletion=options.complete("suites"),
        ),
    ] = None,
    every: Annotated[
        str, typer.Option(metavar="N", help="Measure after N epochs, or every N minutes: 30m.")
    ] = "1",
    labels: options.Labels = None,
    hold_out: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT", help="What is left out: superclass; of icons style:microsoft."
        ),
    ] = None,
    subset: options.Subset = None,
    recipe: Annotated[
        str | None, typer.Option(metavar="NAME", help="Preparation of images that differ in size.")
    ] = None,
    side: Annotated[
        int | None,
        typer.Option(metavar="N", help="Cut images to N x N at random scales, as they are read."),
    ] = None,
    scale: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="A B", help="With --side: shares of the area; 0.08 to 1."),
    ] = None,
    ratio: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="A B", help="With --side: width by height; 3/4 to 4/3."),
    ] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--resident",
            help="Read images while training, or hold all in memory; by default up to 4 GiB.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Threads that read; one per processor.")
    ] = None,
    most_unreadable: options.MostUnreadable = "0.1%",
    decode: Annotated[
        str,
        typer.Option(
            metavar="WAY",
            help="With --side: who decodes JPEG files, {train.crops:DECODED_THERE}.",
        ),
    ] = "threads",
    input: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A filter of all images, in tests too: {models.defences.input_filters:FILTERS}.",
        ),
    ] = None,
    device: options.Device = None,
    on: options.On = None,
    processes: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With --on: so many; one for each GPU if left out."),
    ] = None,
    precision: options.TrainPrecision = None,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="The same weights each time, more slowly.")
    ] = False,
    seed: options.Seed = 0,
) -> None:
    """Train a net that holds up better, or one to compare it with.

    Methods: {methods}.

    Trainings of papers, by --as: {trainings}.
    What is said beside them comes first.

    Nets: {nets}; for larger images those of {models:NET_LIBRARIES},
    such as timm:NAME. With --init MODEL its net is the net, and gets a new
    head for your classes: --init zoo:resnet50 fine-tunes on photographs.

    The same command resumes what was stopped. DIR then has the weights, a
    log, and run.json, which says how it was trained and which of the
    benchmarks' corruptions it has seen.

    For several GPUs: torchrun --nproc-per-node N -m hardy.cli train ...
    or --on ray --processes N, for several machines too.
    """
    with options.resumable(
        "the same command goes on after the last step that was saved, if any was"
    ):
        trained = hardy.train(
            method,
            data=data,
            out=out,
            like=like,
            net=net,
            epochs=epochs,
            lr=lr,
            schedule=schedule,
            drops=None if drops is None else _epochs(drops),
            batch=batch,
            momentum=momentum,
            nesterov=nesterov,
            weight_decay=weight_decay,
            warmup=warmup,
            label_smoothing=label_smoothing,
            mixup=mixup,
            mixup_each=mixup_each,
            ema=ema,
            accumulate=accumulate,
            autoaugment=autoaugment,
            antialias=antialias,
            blur_after_conv=blur_after_conv,
            init=init,
            teacher=teacher,
            teacher_weight=teacher_weight,
            settings=_settings(settings or []),
            stylised=stylised,
            validation=validation,
            robust=robust,
            every=every,
            labels=labels,
            hold_out=hold_out,
            subset=subset,
            recipe=recipe,
            side=side,
            scale=scale,
            ratio=ratio,
            stream=stream,
            workers=workers,
            most_unreadable=options.share(most_unreadable),
            decode=decode,
            input=input,
            device=device,
            on=on,
            processes=processes,
            precision=precision,
            deterministic=deterministic,
            seed=seed,
            say=lambda line: typer.echo(printable(line)),
            warn=options.warn,
            track=watch,
        )
    if trained.rank:
        return  # the first process prints
    last = trained.log[-1] if trained.log else {}
    share = last.get("validation_accuracy")
    right = "" if share is None else f", {100 * share:.1f} % of the validation images are right"
    if "robust_error" in last:
        right += f", {100 * (1 - last['robust_error']):.1f} % under {robust}"
    line = f"{out} was finished before{right}"
    if trained.epochs:
        before = int(last["epoch"]) - trained.epochs
        resumed = f" on from epoch {before}" if before else ""
        line = (
            f"trained {trained.net} by {trained.method}{resumed}, the loss is {last['loss']:.4f} "
            f"after epoch {last['epoch']}{right}; corruptions seen: {_seen(trained)}"
        )
    typer.echo(printable(line))
    from hardy.images.datasets import DATA_SETS

    own = "" if data in DATA_SETS else ", with --own-classes if its classes are not the suite's"
    typer.echo(printable(f"next: hardy eval hardy:{out} --suite SUITE --images SRC{own}"))


def _epochs(text: str) -> list[float]:
    """Numbers of epochs such as 30,60."""
    try:
        return [float(word) for word in options.words(text)]
    except ValueError:
        raise InputError(f'expected --drops as epochs such as 30,60, got "{text}"') from None


def _seen(trained: TrainingResult) -> str:
    unknown = "nothing beside the weights of --init says which these had seen"
    if trained.seen is None:
        return f"unknown, since {unknown}"
    listed = ", ".join(trained.seen) or "none"
    return listed if trained.all_seen else f"{listed}; {unknown}"


def _settings(pairs: list[str]) -> dict[str, str]:
    said: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise InputError(f'expected --set NAME=VALUE such as sigma=0.2, got "{pair}"')
        if name in said:
            raise InputError(f'expected --set {name} once, got it again: "{pair}"')
        said[name] = value
    return said
