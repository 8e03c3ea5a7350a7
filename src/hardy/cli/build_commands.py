"""The commands `hardy build` and `hardy verify`."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hardy.cli.options import (
    Images,
    Labels,
    Only,
    Seed,
    Severities,
    SuiteName,
    end_with_faults,
    numbers,
    progress,
    resumable,
    words,
)
from hardy.errors import InputError, printable
from hardy.progress import watch


class Format(StrEnum):
    jpeg = "jpeg"
    png = "png"
    npy = "npy"
    tar = "tar"
    mp4 = "mp4"


def build_suite(
    name: SuiteName,
    images: Images,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write it.")],
    labels: Labels = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; as many as processors if left out.")
    ] = None,
    format: Annotated[
        Format | None, typer.Option(help="The suite's official one if left out.")
    ] = None,
    only: Only = "counted",
    severities: Severities = None,
    seed: Seed = 0,
) -> None:
    """Write a suite to disk in its official layout.

    The same command resumes what was stopped, and other names or
    severities extend it. Images that cannot be used are listed at the
    end, and the exit code is then 1.
    """
    from hardy.execute import executor
    from hardy.images.readers import open_images
    from hardy.images.source import Fault
    from hardy.suites import load
    from hardy.suites.cells import choose_cells
    from hardy.variants.disk.build import build, default_format
    from hardy.variants.disk.space import Plan, in_words

    suite = load(name)
    cells = choose_cells(suite, words(only), numbers(severities))
    _check_apart(images, out)
    faults: list[Fault] = []
    source = open_images(images, labels=labels, id_rule=suite.id_rule, faults=faults)
    form = format.value if format else default_format(suite)

    def announce(plan: Plan) -> None:
        cells_of = f"{len(cells)} {'cell' if len(cells) == 1 else 'cells'} of {suite.title}"
        typer.echo(f"{source.describe()}")
        typer.echo(
            f"to write: {cells_of} for {plan.images:,} images as {form}, {plan.outputs:,} in all, "
            f"about {in_words(plan.size)}; {out} has {in_words(plan.free)} free"
        )

    with resumable():
        outcome = build(
            suite,
            source,
            out,
            cells,
            executor=executor(workers),
            seed=seed,
            format=form,
            announce=announce,
            track=lambda done, total: watch(
                done, total, "images", lambda one: one.images + len(one.faults)
            ),
        )
    there = f", {outcome.kept:,} were there" if outcome.kept else ""
    typer.echo(f"built {outcome.built:,} images in {out}{there}")
    bad = [fault.reason for fault in faults] + outcome.faults
    end_with_faults(bad, "image")


def verify_folder(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `hardy build` wrote.")],
) -> None:
    """Compare a built suite with its manifest: missing, extra and altered files."""
    from hardy.variants.disk.verify import verify

    report = verify(folder, progress("units"))
    for what, names in (
        ("are missing", report.missing),
        ("are altered", report.altered),
        ("do not belong here", report.extra),
    ):
        if names:
            typer.secho(f"{len(names):,} {what}:", fg="red")
            typer.echo("\n".join(f"  {printable(name)}" for name in names))
    left_out = f"; {report.left_out:,} images could not be read" if report.left_out else ""
    typer.echo(f"{report.checked:,} checked in {folder}{left_out}")
    if not report.fine:
        typer.echo("delete what is altered: the same `hardy build` makes what is missing again")
        raise typer.Exit(1)


def _check_apart(images: str, out: Path) -> None:
    """The output must not become part of the source, nor the source of the output."""
    if not os.path.isdir(images):
        return
    source, target = Path(images).resolve(), out.resolve()
    if source.is_relative_to(target) or target.is_relative_to(source):
        raise InputError(
            f"{images} and {out} lie one within the other; name an output folder elsewhere"
        )
