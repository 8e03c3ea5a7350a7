"""The commands `hardy log` and `hardy card`."""

from pathlib import Path
from typing import Annotated

import typer

import hardy
from hardy.cli.options import end_with_faults, tell
from hardy.errors import printable
from hardy.progress import watch

Store = Annotated[Path, typer.Argument(metavar="RUNS", help="A store, made by `hardy eval`.")]
OfSuite = Annotated[str | None, typer.Option(metavar="NAME", help="Only runs on this one.")]


def log_runs(
    store: Store,
    to: Annotated[
        str, typer.Option(metavar="TRACKER", help="Where to: {share.tracking:TRACKERS}.")
    ],
    model: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this one; may be repeated.")
    ] = None,
    suite: OfSuite = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Project of W&B, experiment of MLflow; hardy if left out."
        ),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Add a page on each run, as an artifact.")
    ] = False,
) -> None:
    """Log stored runs to a tracker of experiments: Weights & Biases or MLflow.

    Each becomes a run there: scores with the ends of their intervals, a
    number per corruption, all cells as a table, and what the run was made
    of, its notes included. Given again, the command updates runs that have
    grown, and skips the others.

    W&B is used as it is set up: `wandb login` once, or WANDB_MODE=offline
    for a folder that `wandb sync` sends later. MLflow is found by
    MLFLOW_TRACKING_URI. Runs that cannot be scored are listed at the end,
    and the exit code is then 1.
    """
    logged = hardy.log(
        store,
        to=to,
        model=model or (),
        suite=suite,
        project=project,
        report=report,
        track=watch,
        tell=tell,
    )
    for line in logged:
        typer.echo(printable(str(line)))
    end_with_faults(logged.faults, "run", "scored")


def write_card(
    store: Store,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model, or its folder.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Its README.md, new or not.")
    ],
    suite: OfSuite = None,
) -> None:
    """Write a model's scores into its model card, as Hugging Face reads them.

    The card's head, YAML, gets a result per suite in its model-index: the
    headline scores with their intervals, the suite's version, the images.
    Given again, the command replaces what it wrote; all else of the file
    stays as it is, byte for byte. Runs that cannot be scored are listed at
    the end, and the exit code is then 1.
    """
    left_out: list[str] = []
    written = hardy.card(store, model, output, suite=suite, track=watch, tell=left_out.append)
    typer.echo(f"wrote {printable(str(written))}")
    end_with_faults(left_out, "run", "scored")
