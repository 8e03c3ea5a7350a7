"""The commands `hardy report`, `hardy leaderboard`, `hardy plot` and `hardy view`."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hardy.cli.options import progress, tell
from hardy.errors import InputError, MissingResource, printable

if TYPE_CHECKING:
    from hardy.report.gathered import Report
    from hardy.report.serve import Find

Store = Annotated[Path, typer.Argument(metavar="STORE", help="What `hardy eval` wrote.")]


class Format(StrEnum):
    html = "html"
    md = "md"
    csv = "csv"
    json = "json"
    png = "png"


class PlotKind(StrEnum):
    bars = "bars"
    curves = "curves"
    heat = "heat"
    scatter = "scatter"
    stability = "stability"
    calibration = "calibration"
    noise = "noise"


def report_runs(
    store: Store,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")],
    format: Annotated[Format | None, typer.Option(help="By the file's suffix if left out.")] = None,
    photo: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For the gallery; a sample if left out.")
    ] = None,
) -> None:
    """Write a report of all runs in a store: one file that opens offline.

    Markdown, CSV and JSON have the numbers, PNG the plots. The same store
    gives the same bytes.
    """
    from hardy.report.write import write_report

    written = write_report(
        store,
        output,
        format=format.value if format else None,
        photo=photo or _sample(),
        track=progress("runs"),
        tell=tell,
    )
    typer.echo(f"wrote {printable(str(written))}")


def _sample() -> Path | None:
    """A page goes without a gallery where there is no photograph."""
    from hardy.pictures import sample_photo

    try:
        return sample_photo()
    except MissingResource:
        return None


def write_gallery(photo: Path, output: Path, suites: Iterable[str], size: int | None) -> Path:
    """`hardy show PHOTO --html`: a browsable sheet of these suites."""
    from hardy.report.gallery import make_gallery
    from hardy.report.page import render_galleries
    from hardy.report.targets import check_target, write_whole
    from hardy.suites import load

    check_target(output)
    made = [make_gallery(load(name), photo, side=size, track=progress("names")) for name in suites]
    write_whole(output, render_galleries(photo.name, made))
    return output


def write_board(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS...", help="Files of `hardy score --format json`, folders."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
) -> None:
    """Write a static page that ranks result files, to sort and to filter.

    Every file is checked before any is shown. Only results made alike are
    ranked together; others, and published ones, stand apart.
    """
    from hardy.report.leaderboard import write_leaderboard

    written = write_leaderboard(results, output, tell=tell)
    typer.echo(f"wrote {printable(str(written))}")


def plot_runs(
    store: Store,
    kind: Annotated[PlotKind, typer.Argument(help="What to plot.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="A .pdf, .svg or .png.")],
    suite: Annotated[
        str | None, typer.Option(metavar="SUITE", help="Where the store has several.")
    ] = None,
    score: Annotated[
        str | None, typer.Option(metavar="NAME", help="Where there are several plots: mCE, T5D.")
    ] = None,
    width: Annotated[float, typer.Option(help="In inches.")] = 6.5,
    height: Annotated[float | None, typer.Option(help="In inches; as needed if left out.")] = None,
    font: Annotated[str, typer.Option(help="serif, sans-serif, monospace, or its name.")] = (
        "sans-serif"
    ),
    font_size: Annotated[float, typer.Option(help="In points.")] = 8.0,
) -> None:
    """Draw one figure for a paper, of a stated size and font."""
    from hardy.report.figures import choose_figure
    from hardy.report.gathered import gather
    from hardy.report.matplotlib_figures import Print, save
    from hardy.report.targets import check_target, write_whole

    check_target(output)
    report = gather(store, track=progress("runs"))
    if suite is None:
        _check_one_suite(report, kind.value, score)
    figure = choose_figure(report, kind.value, suite=suite, score=score)
    how = Print(width, height, font, font_size)
    write_whole(output, save(figure, output.suffix.lower().lstrip("."), how))
    typer.echo(f"wrote {printable(str(output))}: {printable(figure.sees + figure.leaves_out())}")


def _check_one_suite(report: Report, kind: str, score: str | None) -> None:
    """Of several that the plot can be made of, nobody said which."""
    from hardy.report.figures import KINDS

    fitting = dict.fromkeys(
        part.suite.name
        for part in report.sections
        if any(score in (None, figure.score) for figure in KINDS[kind](part))
    )
    if len(fitting) > 1:
        raise InputError(
            f"expected one suite for the plot {kind}, got {', '.join(fitting)}; name one with "
            "--suite"
        )


def view_folder(
    folder: Annotated[
        Path, typer.Argument(metavar="PATH", help="A store, a run, a page, or a leaderboard.")
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 0,
) -> None:
    """Show a report in the browser: a server that only this machine reaches."""
    from hardy.report.serve import address, server

    with server(pages_of(folder), port) as listening:
        typer.echo(f"{address(listening)} shows {printable(str(folder))}; Ctrl-C ends it")
        try:
            listening.serve_forever()
        except KeyboardInterrupt:
            typer.echo("ended")


def pages_of(folder: Path) -> Find:
    from hardy.report.serve import folder_of_pages, one_page
    from hardy.report.write import render_store

    if folder.is_file():
        return one_page(folder.read_bytes())
    if (folder / "index.html").is_file():
        return folder_of_pages(folder)
    return one_page(render_store(folder, _sample(), track=progress("runs")))
