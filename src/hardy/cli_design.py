"""The commands of benchmark design: `hardy overlap`, `hardy design`, `hardy correlate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardy.cli_options import (
    Device,
    LearningRate,
    Seed,
    TrainBatch,
    TrainPrecision,
    resumable,
    training_device,
    words,
)
from hardy.errors import InputError, MissingResource, printable
from hardy.progress import watch

if TYPE_CHECKING:
    from hardy.design.balanced import Measures
    from hardy.design.categories import Categories
    from hardy.design.matrix import Matrix
    from hardy.design.overlap import Overlap
    from hardy.design.picture import Heat
    from hardy.design.results import Results

PICTURES = ("html", "png")


def overlap_corruptions(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where all goes; the same resumes.")],
    suite: Annotated[
        str | None, typer.Option(metavar="SUITE", help="Whose corruptions; a name or a .toml.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="SRC", help="Training images, such as cifar10.")
    ] = None,
    images: Annotated[
        str | None, typer.Option(metavar="SRC", help="Test images; those of a known data set.")
    ] = None,
    only: Annotated[str, typer.Option(metavar="NAMES", help="Such as fog,snow.")] = "counted",
    net: Annotated[str, typer.Option(metavar="NAME", help="Such as wrn_16_4.")] = "wrn_16_4",
    epochs: Annotated[int, typer.Option(help="Of each model; half of the images corrupted.")] = 15,
    batch: TrainBatch = 128,
    lr: LearningRate = 0.1,
    device: Device = None,
    precision: TrainPrecision = None,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="Train the clean model only: similarity of features.")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Measure how much corruptions overlap: train with each, test on all.

    One model for each corruption and a clean one. DIR then has the
    accuracies, both published scores with intervals, and heat maps.
    Without --suite and --data, what DIR holds is computed and drawn again.
    """
    from hardy.design.results import summarise, write_results

    if suite is not None and data is not None:
        recipe = {"net": net, "epochs": epochs, "batch": batch, "lr": lr, "seed": seed}
        chosen = {"images": images, "only": words(only), "clean_only": proxy}
        _train(suite, data, out, device, recipe | {"precision": precision}, **chosen)
    elif suite is not None or data is not None:
        raise InputError("expected both --suite and --data to train, or neither to draw again")
    results = summarise(out)
    written = write_results(results, out)
    for one in results.overlaps:
        for reason in one.undefined:
            typer.secho(f"undefined ({one.form}): {printable(reason)}", fg="yellow", err=True)
    for form, some in results.agreements.items():
        for kind, agreement in some.items():
            typer.echo(f"features ({kind}) and overlap ({form}): {agreement}")
    written += _draw_results(results, out)
    typer.echo(f"wrote {', '.join(path.name for path in written)} to {printable(str(out))}")
    if results.overlaps:
        typer.echo(_next(out, results.overlaps[0]))


def _next(out: Path, overlap: Overlap) -> str:
    gone = overlap.without
    if len(overlap.names) - len(gone) < 2:
        return "no two corruptions have an overlap: train for longer, in another folder"
    left_out = f" --without {','.join(gone)}" if gone else ""
    return f"next: hardy design {out}/overlap_{overlap.form}.csv --below 0.5{left_out}"


def _train(
    suite: str, data: str, out: Path, device: str | None, recipe: dict[str, Any], **others: Any
) -> None:
    kind, recipe["precision"] = training_device(device, recipe["precision"])
    from hardy.design.experiment import run_overlap
    from hardy.train.recipe import Recipe

    with resumable():
        run_overlap(
            suite, data, out, Recipe(**recipe), device=kind, say=typer.echo, track=watch, **others
        )


def _draw_results(results: Results, out: Path) -> list[Path]:
    """Without the libraries for pictures there are none; the numbers are written all the same."""
    from hardy.design.picture import draw, heat_map
    from hardy.report.files import write_whole

    experiment = results.experiment
    note = (
        f"{len(results.names)} corruptions of {experiment['suite']}, {experiment['recipe']['net']} "
        f"for {experiment['recipe']['epochs']} epochs"
    )
    heats = {
        f"overlap_{one.form}": heat_map(f"Overlap ({one.form})", note, one.names, one.values)
        for one in results.overlaps
    }
    if not heats:
        kind = "by_image"
        values = results.similarities[kind]
        heats[f"similarity_{kind}"] = heat_map(f"Similarity ({kind})", note, results.names, values)
    written = []
    for name, heat in heats.items():
        for form in PICTURES:
            try:
                content = draw(heat, form)
            except MissingResource as error:
                typer.echo(f"no {name}.{form}: {error}", err=True)
                continue
            write_whole(out / f"{name}.{form}", content)
            written.append(out / f"{name}.{form}")
    return written


def design_suite(
    matrix: Annotated[Path, typer.Argument(metavar="MATRIX", help="A CSV of overlaps.")],
    below: Annotated[
        float | None, typer.Option(metavar="T", help="A largest set with all overlaps below.")
    ] = None,
    categories: Annotated[
        int | None, typer.Option(metavar="N", help="A balanced set from N categories.")
    ] = None,
    each: Annotated[int, typer.Option(metavar="K", help="Of each of these categories.")] = 1,
    count: Annotated[int, typer.Option(help="How many balanced sets, all different.")] = 1,
    measure: Annotated[
        str | None, typer.Option(metavar="SUITE", help="Coverage and balance of this one.")
    ] = None,
    suite: Annotated[
        str | None, typer.Option(metavar="SUITE", help="That the corruptions come from.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A new suite, .toml.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Categories and members: .html, .png.")
    ] = None,
    without: Annotated[
        str, typer.Option(metavar="NAMES", help="Corruptions to leave out of the matrix.")
    ] = "",
    seed: Seed = 0,
) -> None:
    """Group corruptions by their overlap, and choose suites without repetition.

    Prints the categories. With --below: a largest set, proven. With
    --categories: balanced sets. With --measure: how a suite that exists
    covers the categories. -o and --suite write the choice as a suite that
    every command takes: hardy eval ... --suite FILE.
    """
    from hardy.design.balanced import draw_balanced
    from hardy.design.balanced import measure as measured
    from hardy.design.categories import categorise
    from hardy.design.matrix import read_matrix
    from hardy.design.selection import select
    from hardy.suites import load

    if sum(way is not None for way in (below, categories, measure)) > 1:
        raise InputError("expected one of --below, --categories and --measure, got several")
    if output is not None and suite is None:
        raise InputError("expected --suite, which the corruptions come from, to write a new suite")
    whole = read_matrix(matrix, words(without))
    found = categorise(whole, seed)
    _print_categories(found)
    made = f"chosen by hardy design from {matrix.name}"
    sets: list[tuple[str, ...]] = []
    if below is not None:
        chosen = select(whole, below)
        sets, made = [chosen.names], f"{made}, a largest set with overlaps below {below:g}"
        typer.echo(
            f"no set of more than {len(chosen.names)} has all overlaps below {below:g} "
            f"(all of {chosen.tried:,} cases that matter were tried):"
        )
    elif categories is not None:
        sets = draw_balanced(found, categories, each, count, seed)
        made = f"{made}, {each} of each of {categories} categories, seed {seed}"
    elif measure is not None:
        sets = [load(measure).counted]
    for names in sets:
        typer.echo(f"{', '.join(names)}\n  {measured(found, names)}")
    if output is not None:
        _write_suites(output, suite or "", sets, made)
    if picture is not None:
        members = sets[0] if sets else ()
        _draw_categories(picture, whole, found, members, measured(found, members) if sets else None)


def _print_categories(found: Categories) -> None:
    typer.echo(
        f"{len(found.groups)} categories, mean correlation within them {found.correlation:.2f}"
    )
    for number, group in enumerate(found.groups, 1):
        typer.echo(f"  {number}: {', '.join(group)}")


def _write_suites(output: Path, base: str, sets: list[tuple[str, ...]], source: str) -> None:
    from hardy.design.suite import write_suite

    if not sets:
        raise InputError("expected --below or --categories, which choose what -o writes")
    for number, names in enumerate(sets, 1):
        end = f"_{number:0{len(str(len(sets)))}}" if len(sets) > 1 else ""
        written = write_suite(output.with_stem(f"{output.stem}{end}"), base, names, source)
        typer.echo(f"wrote {written}")
    typer.echo(f"next: hardy eval MODEL --suite {written} --images SRC")


def _draw_categories(
    target: Path,
    matrix: Matrix,
    found: Categories,
    members: tuple[str, ...],
    measures: Measures | None,
) -> None:
    from hardy.design.picture import category_map, draw
    from hardy.report.files import check_target, write_whole

    check_target(target)
    note = str(measures or f"{len(found.groups)} categories")
    heat: Heat = category_map("Overlap", note, matrix.names, matrix.values, found, members)
    write_whole(target, draw(heat, target.suffix.lower().lstrip(".")))
    typer.echo(f"wrote {target}")


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
    from hardy.design.shifts import correlate, read_rows, stored_rows
    from hardy.report.files import write_whole
    from hardy.scoring.tables import Table, to_csv, to_terminal

    if output is not None and output.resolve() in [path.resolve() for path in results]:
        raise InputError(f"cannot write {output}: the results are read from it; name another file")
    rows = [
        row for path in results for row in (stored_rows(path) if path.is_dir() else read_rows(path))
    ]
    found = correlate(rows, target, family, seed)
    if output is not None:
        write_whole(output, to_csv([one.as_dict() for one in found]).encode())
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
