"""`hardy correlate`: whether a suite says anything about other shifts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hardy.cli.options import Seed
from hardy.errors import InputError, printable


def correlate_shifts(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS...", help="Stores, or CSV: model,suite,clean,accuracy."),
    ],
    target: Annotated[
        str | None, typer.Option("--with", metavar="SUITE", help="All others with this one.")
    ] = None,
    family: Annotated[
        str | None, typer.Option(metavar="PATTERN", help='Suites as one, their mean: "noc_*".')
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A CSV.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Say whether models that lose little on one suite lose little on another.

    Pearson's and Spearman's correlation of accuracy drops over models, with
    95 % intervals. Accuracies are shares of 1.
    """
    from hardy.design.overwriting import check_begins
    from hardy.design.shifts import correlate, read_rows, stored_rows
    from hardy.files import check_target, write_output
    from hardy.scores.text_tables import Table, to_csv, to_terminal

    if output is not None and output.resolve() in [path.resolve() for path in results]:
        raise InputError(f"cannot write {output}: the results are read from it; name another file")
    rows = [
        row for path in results for row in (stored_rows(path) if path.is_dir() else read_rows(path))
    ]
    found = correlate(
        rows,
        target,
        family,
        seed,
        tell=lambda reason: typer.secho(f"left out: {printable(reason)}", fg="yellow", err=True),
    )
    if output is not None:
        text = to_csv([one.as_dict() for one in found])
        check_target(output)
        check_begins(output, text.partition("\n")[0], "table that `hardy correlate` wrote")
        write_output(output, text.encode())
        typer.echo(f"wrote {output}")
        return
    lines = [
        (
            f"{one.first} and {one.second}",
            str(one.models),
            str(one.suites),
            *(
                f"{value:.2f} [{interval.low:.2f} to {interval.high:.2f}]"
                for value, interval in (
                    (one.pearson, one.pearson_interval),
                    (one.spearman, one.spearman_interval),
                )
            ),
        )
        for one in found
    ]
    header = ("drops on", "models", "suites averaged", "Pearson", "Spearman")
    to_terminal([Table("Correlation of accuracy drops", header, lines)])
