"""`hardy overlap`, `hardy design` and `hardy correlate`: which corruptions to use."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import hardy
from hardy.cli import options
from hardy.errors import printable
from hardy.progress import watch

if TYPE_CHECKING:
    from hardy.design.categories import Categories
    from hardy.design.results import OverlapResults


def overlap_corruptions(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the experiment; kept work resumes.")
    ],
    suite: Annotated[
        str | None,
        typer.Option(metavar="SUITE", help="Its corruptions are compared; name or .toml."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="SRC", help="Training images, such as cifar10.")
    ] = None,
    images: Annotated[
        str | None, typer.Option(metavar="SRC", help="Test images; cifar10 has its own.")
    ] = None,
    only: Annotated[
        str, typer.Option(metavar="NAMES", help="Corruptions, as fog,snow.")
    ] = "counted",
    like: options.Like = None,
    net: Annotated[
        str | None, typer.Option(metavar="NAME", help="Such as torchvision:resnet18; or wrn_16_4.")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Epochs of each model; half of its images are corrupted; 15."
        ),
    ] = None,
    batch: Annotated[int | None, typer.Option(metavar="N", help="Images per step; 128.")] = None,
    lr: Annotated[
        float | None, typer.Option(metavar="X", help="Learning rate at the start; 0.1.")
    ] = None,
    side: Annotated[
        int | None,
        typer.Option(metavar="N", help="Cut photographs to N x N, as they are read."),
    ] = None,
    device: options.Device = None,
    on: options.On = None,
    precision: options.TrainPrecision = None,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="Train the clean model only: a stand-in for overlap.")
    ] = False,
    seed: options.Seed = 0,
) -> None:
    """Measure how much corruptions overlap: train with each, test on all.

    One model for each corruption and a clean one. DIR then has the
    accuracies, both published scores with intervals, and heat maps.
    --as noc-overlap trains as published, on photographs of your classes.
    Without --suite and --data, what DIR holds is computed and drawn again.
    """
    if suite is None and data is None:
        training = ("images", "only", "net", "epochs", "batch", "lr", "side", "device", "on")
        redrawn = "without --suite and --data, which draw again what is there and train nothing"
        options.refuse_given(context, redrawn, *training, "precision", "like", "proxy", "seed")
    with options.resumable():
        results = hardy.overlap(
            out,
            suite=suite,
            data=data,
            images=images,
            only=options.words(only),
            like=like,
            net=net,
            epochs=epochs,
            batch=batch,
            lr=lr,
            side=side,
            device=device,
            on=on,
            precision=precision,
            proxy=proxy,
            seed=seed,
            say=typer.echo,
            warn=options.warn,
            track=watch,
        )
    for one in results.overlaps:
        for reason in one.undefined:
            typer.secho(f"undefined ({one.form}): {printable(reason)}", fg="yellow", err=True)
        if doubts := one.doubts():
            typer.secho(printable(doubts), fg="yellow", err=True)
    for form, some in results.agreements.items():
        for kind, agreement in some.items():
            typer.echo(f"stand-in ({kind}) and overlap ({form}): {agreement}")
    for name, reason in results.undrawn.items():
        typer.echo(f"no {name}: {reason}", err=True)
    names = ", ".join(path.name for path in results.written)
    typer.echo(f"wrote {names} to {printable(str(out))}")
    typer.echo(_next(results, out))


def _next(results: OverlapResults, out: Path) -> str:
    """What to type to design a suite from the results, or why that cannot be."""
    from hardy.design.matrix import NO_OVERLAP
    from hardy.design.overlap import STAND_IN

    told = ""
    if results.overlaps:
        overlap = results.overlaps[0]
        name, gone = f"overlap_{overlap.form}.csv", overlap.without
        none = NO_OVERLAP
    else:
        name, gone = f"similarity_{STAND_IN}.csv", results.costless
        none = "no two corruptions cost the clean model anything: nothing can be designed from that"
        told = f"{name} stands in for overlap: a guess at what training would show\n"
    if len(results.names) - len(gone) < 2:
        return none
    left_out = f" --without {','.join(gone)}" if gone else ""
    return f"{told}next: hardy design {out}/{name} --below 0.5{left_out}"


def design_suite(
    context: typer.Context,
    matrix: Annotated[Path, typer.Argument(metavar="MATRIX", help="A CSV of overlaps.")],
    below: Annotated[
        float | None,
        typer.Option(metavar="T", help="Choose a largest set with all overlaps below T."),
    ] = None,
    categories: Annotated[
        int | None, typer.Option(metavar="N", help="Choose a balanced set from N categories.")
    ] = None,
    each: Annotated[
        int | None, typer.Option(metavar="K", help="Corruptions from each category; 1 if left out.")
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(metavar="M", help="Number of balanced sets to choose; 1 if left out."),
    ] = None,
    measure: Annotated[
        str | None, typer.Option(metavar="SUITE", help="Say how this suite covers the categories.")
    ] = None,
    suite: Annotated[
        str | None, typer.Option(metavar="SUITE", help="Suite that the corruptions come from.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the choice as a suite, .toml."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw categories and members: {design.heat_map:PICTURE_FORMATS}."
        ),
    ] = None,
    without: Annotated[
        str, typer.Option(metavar="NAMES", help="Corruptions to leave out of the matrix.")
    ] = "",
    seed: options.Seed = 0,
) -> None:
    """Group corruptions by their overlap, and choose suites without repetition.

    Prints the categories. With --below instead a largest set, proven. With
    --categories also balanced sets. With --measure also how a suite that
    exists covers the categories. -o and --suite write what was chosen as a
    suite that every command takes: hardy eval ... --suite FILE.
    """
    if below is not None and picture is None:
        reason = "with --below, which tries all sets and draws no lots"
        options.refuse_given(context, reason, "seed")
    found = hardy.design(
        matrix,
        below=below,
        categories=categories,
        each=each,
        count=count,
        measure=measure,
        suite=suite,
        output=output,
        picture=picture,
        without=options.words(without),
        seed=seed,
        say=lambda line: typer.echo(line, err=True),
        track=watch,
    )
    if found.categories is not None:
        _print_categories(found.categories)
    if below is not None:
        typer.echo(
            f"no set of more than {len(found.sets[0])} has all overlaps below {below:g} "
            f"(all of {found.tried:,} cases that matter were tried):"
        )
    for place, names in enumerate(found.sets):
        typer.echo(printable(", ".join(names)))
        if found.measures:
            typer.echo(f"  {found.measures[place]}")
    suites = [path for path in found.written if path != picture]
    for path in suites:
        typer.echo(f"wrote {printable(str(path))}")
    if suites:
        typer.echo(printable(f"next: hardy eval MODEL --suite {suites[-1]} --images SRC"))
    if picture is not None:
        typer.echo(f"wrote {printable(str(picture))}")


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


def correlate_shifts(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS...", help="Stores, or CSV: {scores.accuracy_files:ACCURACY_COLUMNS}."
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option("--with", metavar="SUITE", help="Correlate all other suites with this one."),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help='Suites to take as one, by their mean: "noc_*".'),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write a CSV.")
    ] = None,
    seed: options.Seed = 0,
) -> None:
    """Say whether models that lose little on one suite lose little on another.

    Pearson's and Spearman's correlation of accuracy drops over models, with
    95 % intervals. Accuracies are shares of 1.
    """
    from hardy.scores.drops import Correlation
    from hardy.scores.text_tables import to_terminal

    found = hardy.correlate(
        results,
        target=target,
        family=family,
        output=output,
        seed=seed,
        tell=lambda reason: typer.secho(f"left out: {printable(reason)}", fg="yellow", err=True),
        track=watch,
    )
    if output is not None:
        typer.echo(f"wrote {output}")
        return
    to_terminal([Correlation.table(found)])
