"""`hardy overlap`: which corruptions measure the same thing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardy.cli.options import (
    Device,
    LearningRate,
    Seed,
    TrainBatch,
    TrainPrecision,
    resumable,
    words,
)
from hardy.errors import InputError, MissingResource, need, printable
from hardy.progress import watch

if TYPE_CHECKING:
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
        str | None, typer.Option(metavar="SRC", help="Test images; cifar10 has its own.")
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
    from hardy.design.matrix import NO_OVERLAP

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


def _train(
    suite: str, data: str, out: Path, device: str | None, recipe: dict[str, Any], **others: Any
) -> None:
    need("torch", "torch", "training")
    from hardy.design.experiment import run_overlap
    from hardy.train.hyperparameters import Hyperparameters, best_device

    kind, recipe["precision"] = best_device(device, recipe["precision"])
    with resumable():
        run_overlap(
            suite,
            data,
            out,
            Hyperparameters(**recipe),
            device=kind,
            say=typer.echo,
            track=watch,
            **others,
        )


def _draw_results(results: Results, out: Path) -> list[Path]:
    """Without the libraries for pictures there are none; the numbers are written all the same."""
    from hardy.design.heat_map import draw, heat_map
    from hardy.files import write_output

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
            write_output(out / f"{name}.{form}", content)
            written.append(out / f"{name}.{form}")
    return written
