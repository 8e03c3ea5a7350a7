"""The commands `hardy build` and `hardy verify`."""

from pathlib import Path
from typing import Annotated

import typer

import hardy
from hardy.cli import options
from hardy.errors import printable
from hardy.places import locate
from hardy.progress import watch
from hardy.variants import BUILD_FORMATS

FORMAT_NAMES = ", ".join(dict.fromkeys(name for some in BUILD_FORMATS.values() for name in some))


def build_suite(
    name: options.SuiteName,
    images: options.Images,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write it, also a URL.")],
    labels: options.Labels = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; as many as processors if left out.")
    ] = None,
    on: options.On = None,
    format: Annotated[
        str | None, typer.Option(help=f"{FORMAT_NAMES}; the suite's official one if left out.")
    ] = None,
    only: options.Only = "counted",
    severities: options.Severities = None,
    subset: options.Subset = None,
    own_classes: options.OwnClasses = False,
    seed: options.Seed = 0,
) -> None:
    """Write a suite to disk in its official layout.

    The same command resumes what was stopped, and other names or
    severities extend it. Images that cannot be used are listed at the
    end, and the exit code is then 1.
    """
    with options.resumable():
        outcome = hardy.build(
            name,
            images=images,
            out=out,
            labels=labels,
            workers=workers,
            on=on,
            format=format,
            only=options.words(only),
            severities=options.numbers(severities),
            subset=subset,
            own_classes=own_classes,
            seed=seed,
            announce=_announce,
            warn=options.warn,
            track=watch,
        )
    there = f", {outcome.kept:,} were there" if outcome.kept else ""
    typer.echo(f"built {outcome.built:,} images in {locate(out)}{there}")
    options.end_with_faults(outcome.faults, "image")


def _announce(plan: object) -> None:
    for line in str(plan).split("\n"):
        typer.echo(options.in_options(line))


def verify_folder(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `hardy build` wrote.")],
) -> None:
    """Compare a built suite with its manifest: missing, extra and altered files."""
    report = hardy.verify(folder, track=watch)
    for what, names in (
        ("are missing", report.missing),
        ("are altered", report.altered),
        ("do not belong here", report.extra),
    ):
        if names:
            typer.secho(f"{len(names):,} {what}:", fg="red")
            typer.echo("\n".join(f"  {printable(name)}" for name in names))
    left_out = f"; {report.left_out:,} images could not be read" if report.left_out else ""
    typer.echo(f"{report.checked:,} checked in {locate(folder)}{left_out}")
    if not report.fine:
        typer.echo("delete what is altered: the same `hardy build` makes what is missing again")
        raise typer.Exit(1)
