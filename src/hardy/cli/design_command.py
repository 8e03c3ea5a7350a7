"""`hardy design`: suites without repetition, by overlap."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hardy.cli.options import Seed, progress, words
from hardy.errors import InputError, printable

if TYPE_CHECKING:
    from hardy.design.balanced import Measures
    from hardy.design.categories import Categories
    from hardy.design.heat_map import Heat
    from hardy.design.matrix import Matrix


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
    from hardy.design.balanced import check_known, draw_balanced
    from hardy.design.balanced import measure as measured
    from hardy.design.categories import categorise
    from hardy.design.designed_suite import base_suite
    from hardy.design.independent_sets import QUICK, select
    from hardy.design.matrix import read_matrix
    from hardy.suites import load

    ways = {"--below": below, "--categories": categories, "--measure": measure}
    _check_asked(ways, {"--each": each, "--count": count}, suite, output)
    _check_targets(output, picture)
    existing = load(measure).counted if measure is not None else ()
    if suite is not None:
        base_suite(suite)  # what does not fit is refused before the search
    whole = read_matrix(matrix, words(without))
    check_known(whole.names, existing)
    made = f"chosen by hardy design from {matrix.name}"
    found = None
    if below is None or picture is not None:  # a largest set needs no categories
        found = categorise(whole, seed, progress("numbers of categories"))
        _print_categories(found)
    sets: list[tuple[str, ...]] = []
    if below is not None:
        if (number := len(whole.names)) > QUICK:
            typer.echo(f"searching among {number} corruptions, which may take long", err=True)
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
        sets = [existing]
    for names in sets:
        typer.echo(printable(", ".join(names)))
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


def _check_targets(output: Path | None, picture: Path | None) -> None:
    """Before any work, and before one of the two is written."""
    from hardy.design.designed_suite import check_file_name
    from hardy.design.heat_map import check_format
    from hardy.files import check_target

    if output is not None:
        check_file_name(output)
    if picture is not None:
        check_format(_format(picture))
        check_target(picture)


def _format(picture: Path) -> str:
    return picture.suffix.lower().lstrip(".")


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
        typer.echo(printable(f"  {place}: {', '.join(group)}"))


def _write_suites(output: Path, base: str, sets: list[tuple[str, ...]], source: str) -> None:
    from hardy.design.designed_suite import write_suite

    for number, names in enumerate(sets, 1):
        end = f"_{number:0{len(str(len(sets)))}}" if len(sets) > 1 else ""
        written = write_suite(output.with_stem(f"{output.stem}{end}"), base, names, source)
        typer.echo(f"wrote {printable(str(written))}")
    typer.echo(printable(f"next: hardy eval MODEL --suite {written} --images SRC"))


def _draw_categories(
    target: Path,
    matrix: Matrix,
    found: Categories,
    members: tuple[str, ...],
    measures: Measures | None,
) -> None:
    from hardy.design.heat_map import category_map, draw
    from hardy.files import write_output

    note = str(measures or f"{len(found.groups)} categories")
    heat: Heat = category_map("Overlap", note, matrix.names, matrix.values, found, members)
    write_output(target, draw(heat, _format(target)))
    typer.echo(f"wrote {printable(str(target))}")
