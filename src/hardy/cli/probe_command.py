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
    validation: Annotated[
        str | None,
        typer.Option(metavar="SRC", help="Images to choose by; a fifth of the data if left out."),
    ] = None,
    labels: options.Labels = None,
    recipe: Annotated[
        str, typer.Option(metavar="NAME", help="Preparation of images that differ in size.")
    ] = "none@1",
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
        validation=validation,
        labels=labels,
        recipe=recipe,
        preprocess=preprocess,
        trust=trust,
        device=device,
        seed=seed,
        track=watch,
    )
    lines = (
        found.backbone,
        f"trained on {found.images:,} images; {found.accuracy:.1%} of {found.validation_images:,} "
        f"validation images are right, with a penalty of {found.decay:g}",
        f"next: hardy eval linear:{out} --suite SUITE --images SRC",
    )
    for line in lines:
        typer.echo(printable(line))
