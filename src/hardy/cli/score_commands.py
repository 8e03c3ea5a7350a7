"""The commands that read a store: `hardy score`, `hardy compare`; and `hardy describe`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardy.cli.options import (
    Images,
    Labels,
    Subset,
    SuiteName,
    end_with_faults,
    list_faults,
    tell,
)
from hardy.errors import InputError, printable
from hardy.progress import watch

if TYPE_CHECKING:
    from hardy.scores import Compared, Scores
    from hardy.scores.text_tables import TextTable
    from hardy.store.reader import StoredRun


class Format(StrEnum):
    table = "table"
    md = "md"
    csv = "csv"
    json = "json"


Runs = Annotated[Path, typer.Argument(metavar="RUNS", help="A store, made by `hardy eval`.")]
SuiteOption = Annotated[str | None, typer.Option(metavar="NAME", help="Only runs on this one.")]
FormatOption = Annotated[Format, typer.Option(help="How to print it.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Instead of the terminal.")
]


def score_runs(
    store: Runs,
    model: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this one; may be repeated.")
    ] = None,
    suite: SuiteOption = None,
    reference: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="A stored model to divide by; none; else the suite's."),
    ] = None,
    format: FormatOption = Format.table,
    published: Annotated[
        bool, typer.Option("--published", help="Add what others printed for these suites.")
    ] = False,
    output: Output = None,
) -> None:
    """Score the stored runs: a table per suite, a row per model.

    Names may be cut short where that is clear, and do without their kind:
    resnet50 for timm:resnet50. Intervals are 95 %. md has more tables, csv a
    line per model and score; json is the result file that can be kept,
    submitted and ranked, without runs on clean images only. Runs that cannot
    be scored are listed at the end, and the exit code is then 1.
    """
    from hardy.scores import listing
    from hardy.scores import result_files as result
    from hardy.scores import text_tables as tables
    from hardy.scores.naming import choose_all, of_suite

    if published and format not in (Format.table, Format.md):
        raise InputError(f"expected --published with table or md, got {format.value}")
    found, faults = _find_runs(store)
    every = of_suite(found, suite)
    chosen = choose_all(every, model) if model else every
    scored = _score_all(chosen, every, reference, faults)
    suites = list(dict.fromkeys(scores.run.suite for scores in scored))
    groups = [[scores for scores in scored if scores.run.suite == name] for name in suites]

    def as_tables() -> list[TextTable]:
        made = []
        for group in groups:
            made += listing.score_tables(group, brief=format is Format.table)
            if published and all(scores.run.identity.labels == "own" for scores in group):
                typer.echo("published results are left out: they are on other classes", err=True)
            elif published:
                made += listing.published_tables(group[0].run.suite, group[0].kind)
        return made

    try:
        _write(
            output,
            format,
            as_tables,
            lambda: tables.to_csv([row for group in groups for s in group for row in s.as_dicts()]),
            lambda: result.write_scores((s for group in groups for s in group), tell),
        )
    except InputError:
        if faults:  # which may be why nothing was left
            list_faults(faults, "run", "scored")
        raise
    end_with_faults(faults, "run", "scored")


def compare_runs(
    store: Runs,
    first: Annotated[str, typer.Argument(metavar="A", help="A model, or its folder.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    suite: SuiteOption = None,
    fail_on_regression: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression",
            help="Exit with 1 if B is significantly worse in what decides.",
        ),
    ] = False,
    format: FormatOption = Format.table,
    output: Output = None,
) -> None:
    """Compare two models on the same images, pair by pair.

    Names may be cut short where that is clear, and do without their kind:
    resnet50 for timm:resnet50.

    B − A is above 0 where B is worse. Two scores decide whether that is a
    regression: mCE, or else the mean error (of sequences mFR, or else the
    flip probability), and the clean error. Each is a one-sided test at 2.5 %,
    so up to one in twenty equal models fails. Where one run has more images,
    both are scored on those of the other. Runs that were not made alike are
    refused, and the difference is named.
    """
    from hardy.scores import choose, listing
    from hardy.scores import compare_runs as compare_them
    from hardy.scores import text_tables as tables

    runs, faults = _find_runs(store)
    if faults:
        list_faults(faults, "run", "read")
    compared = compare_them(*(choose(runs, name, suite) for name in (first, second)))
    _write(
        output,
        format,
        lambda: [listing.compared_table(compared)],
        lambda: tables.to_csv(_compared_rows(compared)),
        lambda: _compared_json(compared),
    )
    # Beside a table it is read; a program that reads the others looks at the exit code.
    for line in (str(compared), compared.verdict):
        typer.echo(printable(line), err=format is not Format.table)
    if fail_on_regression and compared.regressions:
        raise typer.Exit(1)


def describe_suite(
    name: SuiteName,
    images: Images,
    labels: Labels = None,
    subset: Subset = None,
    format: FormatOption = Format.table,
    output: Output = None,
) -> None:
    """Say how similar a suite's images are to the clean ones: MS-SSIM.

    One number per corruption and severity: 1 is the clean image.
    """
    import numpy as np

    from hardy.execute import Threads, processors
    from hardy.images import open_images
    from hardy.metrics import stratified_subset
    from hardy.scores import text_tables as tables
    from hardy.scores.similarity import describe
    from hardy.suites import load
    from hardy.suites.cells import choose_cells

    suite = load(name)
    source = open_images(images, labels=labels, id_rule=suite.id_rule)
    chosen = np.arange(len(source))
    if subset is not None:
        classes = np.zeros(len(source)) if source.labels is None else source.labels
        chosen = stratified_subset(classes, source.ids, size=subset)
    description = describe(
        suite,
        source,
        choose_cells(suite, ["all"]),
        images=chosen.tolist(),
        executor=Threads(processors()),
        track=lambda done, total: watch(done, total, "images"),
    )
    _write(
        output,
        format,
        lambda: [description.table()],
        lambda: tables.to_csv(description.rows()),
        lambda: json.dumps(description.rows(), indent=1) + "\n",
    )


def _find_runs(store: Path) -> tuple[list[StoredRun], list[str]]:
    """The runs, and why others cannot be read."""
    from hardy.store.reader import find_runs

    faults: list[str] = []
    runs = find_runs(store, faults)
    if not runs:
        raise InputError(faults[0])
    return runs, faults


def _score_all(
    chosen: Sequence[StoredRun],
    every: Sequence[StoredRun],
    reference: str | None,
    faults: list[str],
) -> list[Scores]:
    """Those that can be scored; why the others cannot goes to the faults."""
    from hardy.scores import choose, score_run

    yardsticks: dict[str, StoredRun | str | None] = {}
    for suite in dict.fromkeys(run.suite for run in chosen):
        yardsticks[suite] = "suite" if reference is None else None
        if reference not in (None, "none"):
            yardsticks[suite] = choose(every, reference, suite)
    scored: list[Scores] = []
    refused: list[InputError] = []
    for run in watch(chosen, len(chosen), "runs"):
        try:
            scored.append(score_run(run, reference=yardsticks[run.suite]))
        except InputError as error:
            refused.append(error)
    if not scored:
        raise refused[0]
    faults += map(str, refused)
    return scored


def _compared_rows(compared: Compared) -> list[dict[str, Any]]:
    names = {"first_model": compared.first.model, "second_model": compared.second.model}
    return [
        {**names, "headline": leading, **one.as_dict()}
        for leading, some in ((True, compared.headline), (False, compared.singles))
        for one in some
    ]


def _compared_json(compared: Compared) -> str:
    around = compared.headline[0].first.as_dict()
    content = {
        "suite": compared.first.run.suite,
        "first": compared.first.model,
        "second": compared.second.model,
        "comparisons": _compared_rows(compared),
        "clean_mcnemar": compared.clean and compared.clean._asdict(),
        "significantly_worse": [one.first.name for one in compared.worse],
        "significantly_better": [one.first.name for one in compared.better],
        "decided_by": [one.first.name for one in compared.deciding],
        "regressions": [one.first.name for one in compared.regressions],
        "made": {key: around[key] for key in ("version", "recipe", "made", "images", "resampling")},
        "notes": [*compared.notes, *compared.first.notes, *compared.second.notes],
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _write(
    output: Path | None,
    format: Format,
    as_tables: Callable[[], list[TextTable]],
    as_csv: Callable[[], str],
    as_json: Callable[[], str],
) -> None:
    """To the terminal, or into a file that is there whole or not at all."""
    from hardy.images.image_files import replace_file
    from hardy.scores import text_tables as tables

    if format is Format.table:
        if output is None:
            tables.to_terminal(as_tables())
            return
        text = tables.to_text(as_tables())
    else:
        made = {Format.csv: as_csv, Format.json: as_json}
        text = made[format]() if format in made else tables.to_markdown(as_tables())
    if output is None:
        sys.stdout.write(text)  # as it is: click takes escape codes out of data, too
    else:
        replace_file(output, lambda file: file.write(text.encode()))
        typer.echo(f"wrote {output}")
