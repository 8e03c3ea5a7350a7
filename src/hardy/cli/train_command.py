"""The command `hardy train`."""

from pathlib import Path
from typing import Annotated

import typer

from hardy.cli.options import (
    Device,
    Labels,
    LearningRate,
    Seed,
    TrainBatch,
    TrainPrecision,
    resumable,
    training_device,
)
from hardy.errors import InputError, printable
from hardy.progress import watch


def train_model(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="Such as standard or augmix.")],
    data: Annotated[
        str, typer.Option(metavar="SRC", help="cifar10, class folders, arrays, tars, Parquet.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write; hardy:DIR then.")],
    net: Annotated[str, typer.Option(metavar="NAME", help="Such as wrn_40_2.")] = "wrn_40_2",
    epochs: Annotated[int, typer.Option(help="Passes over the data.")] = 100,
    lr: LearningRate = 0.1,
    schedule: Annotated[str, typer.Option(help="How it falls: cosine or step.")] = "cosine",
    batch: TrainBatch = 128,
    weight_decay: Annotated[float, typer.Option(help="Of all parameters.")] = 5e-4,
    antialias: Annotated[
        int, typer.Option(metavar="N", help="Blur by N taps before down-sampling; 1: do not.")
    ] = 1,
    blur_after_conv: Annotated[
        bool,
        typer.Option("--blur-after-conv", help="BlurAfterConv, as we reconstruct it."),
    ] = False,
    init: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Weights to start from: safetensors, or torch's."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Of the method, as step=2/255; once for each."
        ),
    ] = None,
    stylised: Annotated[
        str | None,
        typer.Option(metavar="SRC", help="For ant: stylised images, in a fifth of each batch."),
    ] = None,
    labels: Labels = None,
    recipe: Annotated[
        str, typer.Option(metavar="NAME", help="Preparation of images that differ in size.")
    ] = "none@1",
    input: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A filter before it, in tests too, such as clahe."),
    ] = None,
    device: Device = None,
    precision: TrainPrecision = None,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="The same weights each time, more slowly.")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Train a net that holds up better, or one to compare it with.

    Methods: standard, gauss_single, gauss_mult, speckle, patch_gaussian,
    patch_uniform, augmix, ant, ant3x3, stability, alp, noise2net,
    groupwise_inhibition, corrupted. Nets: wrn_40_2, wrn_16_4,
    resnext_29_4x32, resnet_18; torchvision:NAME and timm:NAME for larger
    images.

    The same command resumes what was stopped. DIR then has the weights, a
    log, and run.json, which says how it was trained and which of the
    benchmarks' corruptions it has seen.

    For several GPUs: torchrun --nproc-per-node N -m hardy.cli train ...
    """
    kind, precision = training_device(device, precision)
    from hardy.images.datasets import NAMES
    from hardy.models.adapters.torch_sources import find_device
    from hardy.models.defences.input_filters import input_filter
    from hardy.models.model import Options, existing
    from hardy.train.loop import train
    from hardy.train.methods import make_method
    from hardy.train.methods.stylised import need_taker
    from hardy.train.nets import check_net
    from hardy.train.processes import joined
    from hardy.train.record import seen_in
    from hardy.train.settings import Recipe
    from hardy.train.training_data import read_data

    said = _settings(settings or [])
    asked = make_method(method, said)
    if stylised is not None:
        need_taker(asked)
    # What can be said before images are read, is.
    if input is not None:
        input_filter(input)
    check_net(net, antialias, blur_after_conv)
    if init is not None:
        existing(init, "weights to start from")
    if out.exists() and not out.is_dir():
        raise InputError(f"expected a folder to train in, got the file {out}; name another")
    if stylised is not None:
        _check_stylised(stylised)
    with joined(kind.partition(":")[0]) as ranks:
        where = find_device(Options("training", device=kind))
        chosen = Recipe(
            net=net,
            antialias=antialias,
            blur_after_conv=blur_after_conv,
            epochs=epochs,
            batch=batch,
            lr=lr,
            schedule=schedule,
            weight_decay=weight_decay,
            precision=precision,
            deterministic=deterministic,
            seed=seed,
        )
        images = read_data(data, where, labels=labels, recipe=recipe, input=input)
        others = None
        if stylised is not None:
            others = read_data(stylised, where, recipe=recipe, input=input)

        def say(line: str) -> None:
            if ranks.first:
                typer.echo(printable(line))

        say(images.described)
        with resumable("the same command goes on after the last epoch that was saved, if any was"):
            outcome = train(
                method,
                images,
                out,
                chosen,
                settings=said,
                init=init,
                stylised=others,
                device=where,
                ranks=ranks,
                track=watch if ranks.first else lambda steps, total, unit: steps,
            )
    if outcome.epochs:
        last = outcome.log[-1]
        before = len(outcome.log) - outcome.epochs
        resumed = f" on from epoch {before}" if before else ""
        say(
            f"trained {net} by {method}{resumed}, the loss is {last['loss']:.4f} after epoch "
            f"{last['epoch']}; corruptions seen: {_listed(seen_in(out), init)}"
        )
    else:
        say(f"{out} was finished before")
    own = "" if data in NAMES else ", with --own-classes if these classes are not its own"
    say(f"next: hardy eval hardy:{out} --suite SUITE --images SRC{own}")


def _listed(seen: list[str] | None, init: Path | None) -> str:
    from hardy.train.description import seen_before

    if seen is None:
        return "unknown, since nothing beside the weights of --init says which these had seen"
    rest = init is not None and seen_before(init) is None
    unknown = "; nothing beside the weights of --init says which these had seen" if rest else ""
    return (", ".join(seen) or "none") + unknown


def _check_stylised(where: str) -> None:
    """--labels, which reading them would advise, is for the others."""
    from hardy.images import open_images
    from hardy.images.datasets import NAMES

    if where not in NAMES and open_images(where).labels is None:
        raise InputError(
            f"{where}: expected stylised images with their labels, got none; put them into one "
            "folder per class, or labels beside images in the .npz"
        )


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
