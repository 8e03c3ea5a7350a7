"""The commands `hardy build` and `hardy verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import hardy
from hardy.cli import options
from hardy.errors import printable
from hardy.places import locate
from hardy.progress import watch
from hardy.variants import BUILD_FORMATS

if TYPE_CHECKING:
    from hardy.variants.build_check import BuildCheck

FORMAT_NAMES = ", ".join(dict.fromkeys(name for some in BUILD_FORMATS.values() for name in some))
SHOWN = 10  # names of a list: thousands would push what to do off the screen


def build_suite(
    name: options.SuiteName,
    images: options.Images,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write it, also a URL.")],
    labels: options.Labels = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Processes; as many as processors if left out."),
    ] = None,
    on: options.On = None,
    format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{FORMAT_NAMES}; the suite's official one if left out."),
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
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="What `hardy build` or `hardy corrupt` wrote.")
    ],
) -> None:
    """Compare a folder of corrupted images with its manifest.

    Missing, altered and extra files are listed, the first ten of each, and
    a folder that is not finished is called so; the exit code is then 1.
    """
    report = hardy.verify(folder, track=watch)
    if report.unfinished:
        typer.secho(_how_far(report), fg="red")
    for names, of_one, of_more in (
        (report.missing, "is missing", "are missing"),
        (report.altered, "is altered", "are altered"),
        (report.extra, "does not belong here", "do not belong here"),
    ):
        if names:
            typer.secho(f"{len(names):,} {of_one if len(names) == 1 else of_more}:", fg="red")
            typer.echo("\n".join(f"  {printable(name)}" for name in names[:SHOWN]))
        if len(names) > SHOWN:
            typer.echo(f"  and {len(names) - SHOWN:,} more")
    left_out = ""
    if report.left_out:
        images = "image" if report.left_out == 1 else "images"
        left_out = f"; {report.left_out:,} {images} could not be used when it was built"
    things = report.thing if report.checked == 1 else f"{report.thing}s"
    typer.echo(f"{report.checked:,} {things} checked in {locate(folder)}{left_out}")
    if not report.fine:
        if todo := _how_to_mend(report):
            typer.echo(todo)
        raise typer.Exit(1)


def _how_far(report: BuildCheck) -> str:
    how = f"`{report.made_by}` was stopped in this folder, or is at work"
    if report.images and report.built == report.images:
        how = f"all {report.images:,} images are built, but {how}"
    elif report.images:
        how = f"{report.built:,} of {report.images:,} images are built under all that was asked for"
    return f"unfinished: {how}; the same `{report.made_by}` goes on"


def _how_to_mend(report: BuildCheck) -> str:
    again = f"the same `{report.made_by}` makes what is missing again"
    if report.altered != list(report.spoilt):  # rows of arrays are
        files = ", ".join(map(printable, report.spoilt))
        return f"delete all of {files}, since rows are not made one by one: {again}"
    if report.altered:
        return f"delete what is altered: {again}"
    if report.missing:
        return again
    return "delete what does not belong here" if report.extra else ""
