"""The commands `hardy report`, `hardy leaderboard`, `hardy plot` and `hardy view`."""

from pathlib import Path
from typing import Annotated

import typer

import hardy
from hardy.cli.options import end_with_faults, tell
from hardy.errors import printable
from hardy.places import locate
from hardy.progress import watch
from hardy.report import REPORT_FORMATS

Store = Annotated[
    Path, typer.Argument(metavar="STORE", help="What `hardy eval`, or `hardy train`, wrote.")
]
Trained = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIR", help="A folder of `hardy train`, or one of such; may be repeated."),
]
Points = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="CSV of further models that predict accuracy on natural shifts: "
        "{scores.accuracy_files:ACCURACY_COLUMNS}.",
    ),
]


def report_runs(
    store: Store,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")
    ],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"{', '.join(REPORT_FORMATS)}; by the file's suffix if left out."
        ),
    ] = None,
    photo: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For the gallery; a sample if left out.")
    ] = None,
    points: Points = None,
    trained: Trained = None,
) -> None:
    """Write a report of all runs in a store: one file that opens offline.

    Markdown, CSV and JSON have the numbers, PNG the plots. The same store
    gives the same bytes. Trainings, in STORE or named by --trained, are
    drawn epoch by epoch; STORE may be one. Runs that cannot be shown are listed at the end,
    and the exit code is then 1.
    """
    left_out: list[str] = []
    written = hardy.report(
        store,
        output,
        format=format,
        photo=photo,
        points=points,
        trained=trained or (),
        track=watch,
        tell=left_out.append,
    )
    typer.echo(f"wrote {printable(str(written))}")
    end_with_faults(left_out, "run", "shown")


def write_board(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS...", help="Files of `hardy score --format json`, folders."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to write.")
    ],
) -> None:
    """Write a static page that ranks result files, to sort and to filter.

    Every file is checked before any is shown. Only results made alike are
    ranked together; others, and published ones, stand apart.
    """
    written = hardy.leaderboard(results, output, tell=tell, track=watch)
    typer.echo(f"wrote {printable(str(written))}")


def plot_runs(
    store: Store,
    kind: Annotated[str, typer.Argument(help="What to plot: {figures}.")],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="As {report.matplotlib_figures:PLOT_FORMATS}."
        ),
    ],
    suite: Annotated[
        str | None, typer.Option(metavar="SUITE", help="Where the store has several.")
    ] = None,
    score: Annotated[
        str | None, typer.Option(metavar="NAME", help="Where there are several plots: mCE, T5D.")
    ] = None,
    width: Annotated[float, typer.Option(metavar="X", help="In inches.")] = 6.5,
    height: Annotated[
        float | None, typer.Option(metavar="X", help="In inches; as needed if left out.")
    ] = None,
    font: Annotated[
        str, typer.Option(metavar="NAME", help="{report.matplotlib_figures:GENERIC}, or its name.")
    ] = "sans-serif",
    font_size: Annotated[float, typer.Option(metavar="X", help="In points.")] = 8.0,
    points: Points = None,
    trained: Trained = None,
) -> None:
    """Draw one figure for a paper, of a stated size and font."""
    figure = hardy.plot(
        store,
        kind,
        output,
        suite=suite,
        score=score,
        width=width,
        height=height,
        font=font,
        font_size=font_size,
        points=points,
        trained=trained or (),
        track=watch,
    )
    typer.echo(
        f"wrote {printable(str(locate(output)))}: {printable(figure.sees + figure.leaves_out())}"
    )


def view_folder(
    folder: Annotated[
        Path, typer.Argument(metavar="PATH", help="A store, a run, a page, or a leaderboard.")
    ],
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="0: any that is free.")
    ] = 0,
) -> None:
    """Show a report in the browser: a server that only this machine reaches."""
    with hardy.view(folder, port=port, track=watch) as server:
        typer.echo(f"{server.address} shows {printable(str(locate(folder)))}; Ctrl-C ends it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("ended")
