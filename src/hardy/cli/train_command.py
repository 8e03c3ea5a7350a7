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
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD",
            help="Such as standard or augmix.",
            autocompletion=options.complete("methods"),
        ),
    ],
    data: options.Images,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder to train in; then a model, hardy:DIR.")
    ],
    net: Annotated[str, typer.Option(metavar="NAME", help="Such as wrn_40_2.")] = "wrn_40_2",
    epochs: Annotated[int, typer.Option(help="Passes over the data.")] = 100,
    lr: options.LearningRate = 0.1,
    schedule: Annotated[
        str, typer.Option(help="How it falls: {train.hyperparameters:SCHEDULES}.")
    ] = "cosine",
    batch: options.TrainBatch = 128,
    weight_decay: Annotated[float, typer.Option(help="Weight decay of all parameters.")] = 5e-4,
    antialias: Annotated[
        int, typer.Option(metavar="N", help="Blur by N taps before down-sampling; 1: do not.")
    ] = 1,
    blur_after_conv: Annotated[
        bool, typer.Option("--blur-after-conv", help="BlurAfterConv, as we reconstruct it.")
    ] = False,
    init: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Weights to start from: safetensors, or torch's."),
    ] = None,
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
    labels: options.Labels = None,
    recipe: Annotated[
        str, typer.Option(metavar="NAME", help="Preparation of images that differ in size.")
    ] = "none@1",
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

    Nets: {nets}; for larger images those of {models:NET_LIBRARIES},
    such as timm:NAME.

    The same command resumes what was stopped. DIR then has the weights, a
    log, and run.json, which says how it was trained and which of the
    benchmarks' corruptions it has seen.

    For several GPUs: torchrun --nproc-per-node N -m hardy.cli train ...
    or --on ray --processes N, for several machines too.
    """
    with options.resumable(
        "the same command goes on after the last epoch that was saved, if any was"
    ):
        trained = hardy.train(
            method,
            data=data,
            out=out,
            net=net,
            epochs=epochs,
            lr=lr,
            schedule=schedule,
            batch=batch,
            weight_decay=weight_decay,
            antialias=antialias,
            blur_after_conv=blur_after_conv,
            init=init,
            settings=_settings(settings or []),
            stylised=stylised,
            validation=validation,
            labels=labels,
            recipe=recipe,
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
    line = f"{out} was finished before"
    if trained.epochs:
        last = trained.log[-1]
        before = len(trained.log) - trained.epochs
        resumed = f" on from epoch {before}" if before else ""
        share = last.get("validation_accuracy")
        right = "" if share is None else f", {share:.1%} of the validation images are right"
        line = (
            f"trained {net} by {method}{resumed}, the loss is {last['loss']:.4f} after epoch "
            f"{last['epoch']}{right}; corruptions seen: {_seen(trained)}"
        )
    typer.echo(printable(line))
    from hardy.images.datasets import DATA_SETS

    own = "" if data in DATA_SETS else ", with --own-classes if these classes are not its own"
    typer.echo(printable(f"next: hardy eval hardy:{out} --suite SUITE --images SRC{own}"))


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
