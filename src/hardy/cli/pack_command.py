"""The command `hardy pack`."""

from pathlib import Path
from typing import Annotated

import typer

import hardy
from hardy.cli import options
from hardy.errors import printable
from hardy.progress import watch


def pack_images(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Images: {readers}; see `hardy ls readers`.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder to write; then images, --data DIR.")
    ],
    side: Annotated[
        int, typer.Option(metavar="N", help="Resize to a shorter side of N; no image is enlarged.")
    ] = 256,
    format: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="{images.pack_files:PACK_FORMATS}: raw takes ten times the room."
        ),
    ] = "jpeg",
    labels: options.Labels = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Threads; one per processor if left out.")
    ] = None,
    most_unreadable: options.MostUnreadable = "0.1%",
) -> None:
    """Make images small once, for trainings on machines of few cores.

    DIR has shards, which are read in place, and is then an image set like
    any other, with the names, ids, labels and classes of SRC: hardy train
    --data DIR draws the same crops as from SRC, and says that the images
    were packed.

    The same command goes on where one was stopped. Images that cannot be
    read are listed at the end and in DIR/unreadable.txt, and the exit
    code is then 1.
    """
    with options.resumable():
        made = hardy.pack(
            source,
            out,
            side=side,
            format=format,
            labels=labels,
            workers=workers,
            most_unreadable=options.share(most_unreadable),
            track=watch,
        )
    there = f", {made.kept:,} were there" if made.kept else ""
    typer.echo(printable(f"packed {made.packed:,} images in {made.folder}{there}"))
    crop = side * 7 // 8
    typer.echo(printable(f"next: hardy train METHOD --data {made.folder} --side {crop} --out NET"))
    options.end_with_faults(made.unreadable, "image", "read")
