"""The command `hardy probe`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import hardy
from hardy.cli import options
from hardy.errors import printable
from hardy.progress import watch


def probe_model(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Such as hf:DIR; see `hardy ls models`.")
    ],
    data: options.Images,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="A .safetensors file; then a model, linear:FILE."),
    ],
    suite: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Train on the part that imagenet_subtypes leaves to it."),
    ] = None,
    fit: Annotated[
        str, typer.Option(metavar="NAME", help="logistic; sgd or original: one epoch, as of 2019.")
    ] = "logistic",
    validation: Annotated[
        str | None,
        typer.Option(metavar="SRC", help="Images to choose by; a fifth of the data if left out."),
    ] = None,
    labels: options.Labels = None,
    recipe: Annotated[
        str | None, typer.Option(metavar="NAME", help="Preparation of images that differ in size.")
    ] = None,
    preprocess: options.Preprocess = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load files that run code, such as joblib's.")
    ] = False,
    device: options.Device = None,
    seed: options.Seed = 0,
) -> None:
    """Train a linear classifier on the features of a model, which stays as it is.

    A MODEL is {models}.

    The features are what goes into its last linear layer, or else its
    outputs. Logistic regression is done with several penalties; the one
    that is best on the validation images is kept.
    """
    found = hardy.probe(
        model,
        data=data,
        out=out,
        suite=suite,
        fit=fit,
        validation=validation,
        labels=labels,
        recipe=recipe,
        preprocess=preprocess,
        trust=trust,
        device=device,
        seed=seed,
        track=watch,
    )
    right = "" if found.accuracy is None else f"; {100 * found.accuracy:.1f} % of "
    right += f"{found.validation_images:,} validation images are right" if right else ""
    lines = (
        found.backbone,
        f"trained on {found.images:,} images{right}, with a penalty of {found.decay:g}",
        f"next: hardy eval linear:{out} --suite {suite or 'SUITE'} "
        f"--{'files' if suite else 'images'} SRC",
    )
    for line in lines:
        typer.echo(printable(line))
    if found.unreadable:
        options.list_faults(found.unreadable, "image")
