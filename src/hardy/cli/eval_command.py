"""`hardy eval`: models on a suite, into a store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hardy
from hardy.cli import options
from hardy.cli.attack_table import print_attacks
from hardy.errors import InputError, printable
from hardy.places import locate
from hardy.progress import Item, in_time, watch

if TYPE_CHECKING:
    from hardy import Run
    from hardy.evaluation import Evaluation
    from hardy.models import Override
    from hardy.models.model import Triple
    from hardy.run.plan import RunPlan


def evaluate_models(
    suite: Annotated[
        str,
        typer.Option(
            metavar="SUITE",
            help="See `hardy ls suites`; or a .toml of your own.",
            autocompletion=options.complete("suites"),
        ),
    ],
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help="Such as timm:resnet50; see `hardy ls models`. MODEL@FILE has other weights; a "
            ".toml lists models.",
        ),
    ] = None,
    many: Annotated[
        str | None,
        typer.Option(
            "--models",
            metavar="LIST",
            help="Hundreds of them, of which some may fail: a .txt with one on each line, or "
            "'MODEL@DIR/*.pt'.",
        ),
    ] = None,
    images: options.MaybeImages = None,
    store: Annotated[
        Path, typer.Option(metavar="DIR", help="Where predictions go, also a URL.")
    ] = Path("runs"),
    files: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder with the suite, downloaded or built."),
    ] = None,
    labels: options.Labels = None,
    only: options.Only = "counted",
    severities: options.Severities = None,
    subset: options.Subset = None,
    images_per_class: Annotated[
        int | None,
        typer.Option(metavar="N", help="Use N images of each class, the same each time."),
    ] = None,
    seed: options.Seed = 0,
    own_classes: options.OwnClasses = False,
    classes: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With --own-classes: so many, if images show fewer."),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="What to call a model; one for each, in their order."),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Weights: safetensors, or torch's.")
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load files that run code, such as joblib's.")
    ] = False,
    device: options.Device = None,
    precision: Annotated[
        str,
        typer.Option(metavar="NAME", help="{models.model:PRECISIONS}; recorded with the run."),
    ] = "float32",
    batch: Annotated[
        str,
        typer.Option(
            metavar="N", help="Images per step; on a CPU up to 64 photos or 1,024 small ones."
        ),
    ] = "auto",
    compile: Annotated[
        bool,
        typer.Option("--compile", help="By torch.compile: up to a minute more, then faster."),
    ] = False,
    mean: Annotated[
        str | None, typer.Option(metavar="R,G,B", help="Means from 0 to 1, not the model's own.")
    ] = None,
    std: Annotated[str | None, typer.Option(metavar="R,G,B", help="Deviations, likewise.")] = None,
    size: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Resize images to this side for the model."),
    ] = None,
    prompts: Annotated[
        str | None,
        typer.Option(
            metavar="NAME_OR_FILE",
            help="For clip: {models.prompts:prompt_sets}, or sentences with {} in a file.",
        ),
    ] = None,
    preprocess: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Instead of --mean, --std: {models.normalisations:NORMALISATIONS}.",
        ),
    ] = None,
    defend: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Before the model, such as clahe; see `hardy ls defences`."
        ),
    ] = None,
    attack: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Noise learned against each model instead: {store.attack_files:NOISES}.",
        ),
    ] = None,
    attack_images: Annotated[
        str | None, typer.Option(metavar="SRC", help="Learn the noise on these, else on half.")
    ] = None,
    attack_steps: Annotated[
        int | None, typer.Option(metavar="N", help="Steps to learn the noise; 1,001 if left out.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="X", help="L2 norm of the noise; 135 at 224 px, 19.3 at 32."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Threads; as many as processors if left out."),
    ] = None,
    devices: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Share the run: all, GPUs such as 0,1,3, or cpu,cpu."),
    ] = None,
    on: options.On = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N", help="Do this share; others fill the store too. auto: torchrun, SLURM."
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="POINTS",
            help="Sample until the main score is ± so many; or 'mCE=0.5,clean error=0.3', or "
            "'difference=0.3' of two models.",
        ),
    ] = None,
    at_most: options.AtMost = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost, by a timed sample.")
    ] = False,
) -> None:
    """Evaluate models on a suite; predictions are stored, `hardy score` reads them.

    A MODEL is {models}.

    A defence is {defences}.

    The same command resumes what was stopped; more models, names,
    severities or images extend it. Images that cannot be used are listed
    at the end, and so are those of --models that failed; the exit code
    is then 1.
    """
    if attack is not None and many is not None:
        raise InputError("expected MODEL... with --attack, got --models")
    for option, said in (
        ("--attack-images", attack_images),
        ("--attack-steps", attack_steps),
        ("--epsilon", epsilon),
    ):
        if said is not None and attack is None:
            raise InputError(f"expected {option} with --attack, got it alone")
    every = 0

    def announce(evaluation: Evaluation) -> None:
        nonlocal every
        # Of several groups of models, the first tells what all are shown.
        lines = evaluation.describe_models() if every else evaluation.describe()
        every = evaluation.predictions
        for line in lines:
            typer.echo(printable(line))

    def track(done: Iterable[Item], total: int, unit: str = "", *how: Any) -> Iterable[Item]:
        if unit == "predictions" and total < every and until is None:
            typer.echo(f"{every - total:,} of {every:,} predictions are stored already")
        return watch(done, total, unit, *how)

    given: dict[str, Any] = {
        "suite": suite,
        "images": images,
        "files": files,
        "labels": labels,
        "store": store,
        "subset": subset,
        "images_per_class": images_per_class,
        "seed": seed,
        "own_classes": own_classes,
        "classes": classes,
        "name": name,
        "checkpoint": checkpoint,
        "trust": trust,
        "device": device,
        "precision": precision,
        "batch": _batch(batch),
        "compile": compile,
        "preprocessing": _preprocessing(mean, std, size, preprocess),
        "prompts": prompts,
        "defend": defend,
        "workers": workers,
        "devices": devices,
        "on": on,
        "shard": shard,
        "announce": announce,
        "warn": options.warn,
        "track": track,
    }
    chosen, levels = options.words(only), options.numbers(severities)
    choice: dict[str, Any] = {"only": chosen, "severities": levels, "dry_run": dry_run}
    choice |= {"until": until, "at_most": at_most}
    given |= {name: said for name, said in choice.items() if said not in (["counted"], None, False)}
    if attack is None:
        with options.resumable():
            found: Any = hardy.evaluate(**{"model": models or None, "models": many, **given})
        _print_runs(found, locate(store))
    else:
        faults: list[str] = []
        with options.resumable("the same command fits all noise anew"):
            attacked = hardy.attack(
                models or [],
                noise=attack,
                attack_images=attack_images,
                steps=attack_steps,
                epsilon=epsilon,
                faults=faults,
                **given,
            )
        assert isinstance(attacked, list)  # one for each model of a list
        print_attacks(attacked, locate(store), faults)


def _print_runs(found: list[Run] | RunPlan, store: Path) -> None:
    failed = getattr(found, "failed", {})  # of many models
    reasons = [f"{name}: {options.in_options(why)}" for name, why in failed.items()]
    if not isinstance(found, list):
        typer.echo("\n".join(_describe_plan(found, store)))
        options.end_with_faults(reasons, "model")
        return
    faults = found[0].faults if found else ()
    while found:
        run = found.pop(0)  # what is read of each for its score is let go of
        try:
            told = f"{printable(run.title)}: {run.score()}"
        except InputError as error:  # it is stored all the same
            told = f"{printable(run.title)} has no score: {error}"
        for line in told.splitlines():
            typer.echo(options.in_options(line))
    typer.echo(f"stored in {store}; see `hardy score {store}`")
    if reasons and faults:
        options.list_faults(reasons, "model")
    options.end_with_faults(faults, "image")
    options.end_with_faults(reasons, "model")


def _describe_plan(plan: RunPlan, store: Path) -> list[str]:
    from hardy.files import byte_size

    return [
        f"{plan.cells} cells × {plan.images:,} images: {plan.predictions:,} predictions in all",
        f"about {byte_size(plan.size)} in {store}",
        f"about {in_time(plan.seconds)}, by a timed sample, if nothing of it is stored yet",
    ]


def _batch(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise InputError(f'expected --batch as a number of images or "auto", got "{text}"')
    return int(text)


def _preprocessing(
    mean: str | None, std: str | None, size: int | None, named: str | None
) -> Override | None:
    from hardy.models import Override

    if mean is None and std is None and size is None and named is None:
        return None
    return Override(_triple("--mean", mean), _triple("--std", std), size, named)


def _triple(option: str, text: str | None) -> Triple | None:
    if text is None:
        return None
    try:
        figures = [float(word) for word in options.words(text)]
    except ValueError:
        figures = []
    if len(figures) == 1:
        figures *= 3
    if len(figures) != 3:
        raise InputError(f'expected {option} such as 0.485,0.456,0.406, got "{text}"')
    return figures[0], figures[1], figures[2]
