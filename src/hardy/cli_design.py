"""The commands of benchmark design: `hardy overlap`, `hardy design`."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardy.cli_options import (
    Device,
    LearningRate,
    Seed,
    TrainBatch,
    TrainPrecision,
    progress,
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
    from hardy.design.picture import Heat
    from hardy.design.results import Results

PICTURES = ("html", "png")
# Of the stand-in's similarities the one that agrees best with overlap so far; from 0 to 1, and 1 on
# the diagonal, so that it can be designed from.
STAND_IN = "errors"


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
        bool, typer.Option("--proxy", help="Train the clean model only: a stand-in for overlap.")
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
        if doubts := one.doubts():
            typer.secho(printable(doubts), fg="yellow", err=True)
    for form, some in results.agreements.items():
        for kind, agreement in some.items():
            typer.echo(f"stand-in ({kind}) and overlap ({form}): {agreement}")
    written += _draw_results(results, out)
    typer.echo(f"wrote {', '.join(path.name for path in written)} to {printable(str(out))}")
    typer.echo(_next(results, out))


def _next(results: Results, out: Path) -> str:
    told = ""
    if results.overlaps:
        overlap = results.overlaps[0]
        name, gone = f"overlap_{overlap.form}.csv", overlap.without
        none = "no two corruptions have an overlap: train for longer, in another folder"
    else:
        name, gone = f"similarity_{STAND_IN}.csv", results.costless
        none = "no two corruptions cost the clean model anything: nothing can be designed from that"
        told = f"{name} stands in for overlap: a guess at what training would show\n"
    if len(results.names) - len(gone) < 2:
        return none
    left_out = f" --without {','.join(gone)}" if gone else ""
    return f"{told}next: hardy design {out}/{name} --below 0.5{left_out}"


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
        f"overlap_{one.form}": heat_map(
            f"Overlap ({one.form})", note, one.names, one.values, one.doubtful
        )
        for one in results.overlaps
    }
    if not heats:
        values, title = results.similarities[STAND_IN], f"Similarity ({STAND_IN})"
        heats[f"similarity_{STAND_IN}"] = heat_map(title, note, results.names, values)
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
    each: Annotated[
        int | None, typer.Option(metavar="K", help="Of each of these; 1 if left out.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(metavar="M", help="Different balanced sets; 1 if left out.")
    ] = None,
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

    Prints the categories. With --below instead a largest set, proven. With
    --categories also balanced sets. With --measure also how a suite that
    exists covers the categories. -o and --suite write what was chosen as a
    suite that every command takes: hardy eval ... --suite FILE.
    """
    from hardy.design.balanced import draw_balanced
    from hardy.design.balanced import measure as measured
    from hardy.design.categories import categorise
    from hardy.design.matrix import read_matrix
    from hardy.design.selection import select
    from hardy.suites import load

    ways = {"--below": below, "--categories": categories, "--measure": measure}
    _check_asked(ways, {"--each": each, "--count": count}, suite, output)
    whole = read_matrix(matrix, words(without))
    made = f"chosen by hardy design from {matrix.name}"
    found = None
    if below is None or picture is not None:  # a largest set needs no categories
        found = categorise(whole, seed, progress("numbers of categories"))
        _print_categories(found)
    sets: list[tuple[str, ...]] = []
    if below is not None:
        chosen = select(whole, below)
        sets, made = [chosen.names], f"{made}, a largest set with overlaps below {below:g}"
        typer.echo(
            f"no set of more than {len(chosen.names)} has all overlaps below {below:g} "
            f"(all of {chosen.tried:,} cases that matter were tried):"
        )
    elif categories is not None and found is not None:
        each, count = (1 if number is None else number for number in (each, count))
        sets = draw_balanced(found, categories, each, count, seed)
        made = f"{made}, {each} of each of {categories} categories, seed {seed}"
    elif measure is not None:
        sets = [load(measure).counted]
    for names in sets:
        typer.echo(", ".join(names))
        if found is not None:
            typer.echo(f"  {measured(found, names)}")
    if output is not None:
        _write_suites(output, suite or "", sets, made)
    if picture is not None and found is not None:
        members = sets[0] if sets else ()
        _draw_categories(picture, whole, found, members, measured(found, members) if sets else None)


def _check_asked(
    ways: Mapping[str, object],
    balanced: Mapping[str, int | None],
    suite: str | None,
    output: Path | None,
) -> None:
    given = [way for way, value in ways.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"expected one of {', '.join(ways)}, got {' and '.join(given)}")
    for option, number in balanced.items():
        if number is not None and "--categories" not in given:
            raise InputError(f"expected {option} with --categories N, got it without; name both")
    if output is not None and given in ([], ["--measure"]):
        got = "--measure, which chooses nothing" if given else "neither"
        raise InputError(
            f"expected --below or --categories, which choose what -o writes, got {got}; name one "
            "of them, or leave -o out"
        )
    if output is not None and suite is None:
        raise InputError("expected --suite, which the corruptions come from, to write a new suite")


def _print_categories(found: Categories) -> None:
    from hardy.design.categories import ENOUGH

    number = len(found.groups)
    if isnan(found.correlation):
        typer.echo(
            f"{number} categories, one corruption each: with fewer, the mean correlation within "
            f"them is {ENOUGH:g} or less"
        )
    else:
        typer.echo(f"{number} categories, mean correlation within them {found.correlation:.2f}")
    for place, group in enumerate(found.groups, 1):
        typer.echo(f"  {place}: {', '.join(group)}")


def _write_suites(output: Path, base: str, sets: list[tuple[str, ...]], source: str) -> None:
    from hardy.design.suite import write_suite

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
