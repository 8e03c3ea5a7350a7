"""The commands that read a store: `hardy score`, `hardy compare`; and `hardy describe`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import hardy
from hardy.cli.options import (
    AtMost,
    Images,
    Labels,
    MaybeImages,
    Only,
    OwnClasses,
    Severities,
    Subset,
    SuiteName,
    end_with_faults,
    in_options,
    list_faults,
    numbers,
    tell,
    warn,
    words,
)
from hardy.errors import InputError, printable
from hardy.progress import watch

if TYPE_CHECKING:
    from hardy.scores.text_tables import Shown


class ScoreFormat(StrEnum):
    table = "table"
    md = "md"
    csv = "csv"
    json = "json"


Runs = Annotated[Path, typer.Argument(metavar="RUNS", help="A store, made by `hardy eval`.")]
SuiteOption = Annotated[str | None, typer.Option(metavar="NAME", help="Only runs on this one.")]
FormatOption = Annotated[ScoreFormat, typer.Option(help="How to print it.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file.")
]


def score_runs(
    store: Runs,
    model: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this one; may be repeated.")
    ] = None,
    suite: SuiteOption = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Divide by this stored model, not the suite's; or none."
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(metavar="SCORE|name", help="Order of rows; of a score, the best first."),
    ] = None,
    format: FormatOption = ScoreFormat.table,
    published: Annotated[
        bool, typer.Option("--published", help="Add published results on these suites.")
    ] = False,
    output: Output = None,
) -> None:
    """Score the stored runs: a table per suite, a row per model.

    Of a name any part will do that only one model has, such as
    resnet50 for timm:resnet50. Intervals are 95 %. md has more tables, csv a
    line per model and score; json is the result file that can be kept,
    submitted and ranked, without runs on clean images only. Runs that cannot
    be scored are listed at the end, and the exit code is then 1.

    Metrics, which `hardy ls metrics` explains: {metrics}.
    """
    if published and format not in (ScoreFormat.table, ScoreFormat.md):
        raise InputError(f"expected --published with table or md, got {format.value}")
    scored = hardy.score(
        store,
        model=model or (),
        suite=suite,
        reference=reference,
        published=published,
        sort=sort,
        track=watch,
        tell=tell,
    )
    try:
        show_tables(scored, format, output)
    except InputError:
        if scored.faults:  # which may be why nothing was left
            list_faults(scored.faults, "run", "scored")
        raise
    end_with_faults(scored.faults, "run", "scored")


def compare_models(
    store: Runs,
    first: Annotated[str, typer.Argument(metavar="A", help="A model, or its folder.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    suite: SuiteOption = None,
    until: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS", help="Sample both on --images until B − A is ± so many points."
        ),
    ] = None,
    at_most: AtMost = None,
    images: MaybeImages = None,
    labels: Labels = None,
    only: Only = "counted",
    severities: Severities = None,
    own_classes: OwnClasses = False,
    fail_on_regression: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression", help="Exit with 1 if B is significantly worse in what decides."
        ),
    ] = False,
    format: FormatOption = ScoreFormat.table,
    output: Output = None,
) -> None:
    """Compare two models on the same images, pair by pair.

    Of a name any part will do that only one model has, such as
    resnet50 for timm:resnet50.

    B − A is above 0 where B is worse, of scores that are better when higher
    where it is better. Where one run has more images, both are scored on
    those of the other. Runs that were not made alike are refused, and the
    difference is named.

    With --until, A and B are models as `hardy eval` takes them: both are
    shown a sample of the suite first, and what is stored is used.

    What decides whether it is a regression, as far as it was scored:
    {scores.compared:what_decides}.
    Each is a one-sided test at 2.5 %, so up to one in twenty equal models fails.
    """
    compared = hardy.compare(
        first,
        second,
        store=store,
        suite=suite,
        until=until,
        at_most=at_most,
        images=images,
        labels=labels,
        only=None if only == "counted" else words(only),
        severities=numbers(severities),
        own_classes=own_classes or None,
        warn=warn,
        track=watch,
    )
    if compared.faults:
        list_faults(compared.faults, "run", "read")
    show_tables(compared, format, output)
    # Beside a table it is read; a program that reads the others looks at the exit code.
    for line in (str(compared), compared.verdict):
        typer.echo(printable(line), err=format is not ScoreFormat.table)
    if fail_on_regression and compared.regressions:
        raise typer.Exit(1)


def describe_suite(
    name: SuiteName,
    images: Images,
    labels: Labels = None,
    subset: Subset = None,
    own_classes: OwnClasses = False,
    format: FormatOption = ScoreFormat.table,
    output: Output = None,
) -> None:
    """Say how similar a suite's images are to the clean ones: MS-SSIM.

    One number per corruption and severity: 1 is the clean image.
    """
    described = hardy.describe(
        name, images=images, labels=labels, subset=subset, own_classes=own_classes, track=watch
    )
    show_tables(described, format, output)


def show_tables(made: Shown, format: ScoreFormat, output: Path | None) -> None:
    """Print results that can be printed, or write them to a file."""
    from hardy.scores.text_tables import to_terminal

    if output is not None:
        typer.echo(f"wrote {made.write(output, format.value)}")
    elif format is ScoreFormat.table:
        tables = made.tables(brief=True)
        to_terminal(one._replace(notes=tuple(map(in_options, one.notes))) for one in tables)
    else:
        sys.stdout.write(made.render(format.value))  # as it is: click takes escape codes out
