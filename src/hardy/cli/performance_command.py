"""The command `hardy mpc`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import hardy
from hardy.cli import options
from hardy.cli.score_commands import FormatOption, Output, ScoreFormat, show_tables


def print_performance(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="CSV: corruption,severity,AP.")],
    only: options.Only = "counted",
    severities: options.Severities = None,
    format: FormatOption = ScoreFormat.table,
    output: Output = None,
) -> None:
    """Compute mPC and rPC of a detector, or of any other model, from its performance per cell.

    TABLE has a line for each of the 15 corruptions at 5 severities, such
    as fog,3,31.2, and clean,0,42.0 for the clean images. The third column
    is AP, mIoU or what you like, as shares of 1 or in percent.

    mPC is the mean over severities and corruptions, rPC what is left of
    the clean performance. Cells that are missing are listed, and nothing
    is computed, unless --only or --severities ask for fewer.
    """
    found = hardy.performance(
        table, only=options.words(only), severities=options.numbers(severities)
    )
    show_tables(found, format, output)
