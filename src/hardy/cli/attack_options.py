"""`hardy eval --attack`: models under noise that is learned against each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import hardy
from hardy.cli.options import end_with_faults
from hardy.errors import InputError
from hardy.progress import watch

if TYPE_CHECKING:
    from hardy.scores.text_tables import TextTable
    from hardy.store.attack_files import Attacked


def attack_models(
    models: Sequence[str],
    noise: str,
    attack_images: str | None,
    steps: int | None,
    epsilon: float | None,
    options: Mapping[str, Any],
) -> None:
    """Attack the models one after the other; `options` are those of `evaluate`."""
    from hardy.scores.text_tables import to_terminal

    faults: list[str] = []
    found = hardy.attack(
        list(models),
        noise=noise,
        attack_images=attack_images,
        epsilon=epsilon,
        steps=steps,
        follow=watch,
        faults=faults,
        **options,
    )
    assert isinstance(found, list)  # one for each model of a list
    to_terminal([attack_table(found)])
    store: Path = options["store"]
    typer.echo(f"stored in {store}; `hardy report {store}` shows the noise")
    end_with_faults(faults, "image")


def check_alone(**given: bool) -> None:
    """The noise takes the suite's place: what chooses among its corruptions would do nothing."""
    for option, said in given.items():
        if said:
            raise InputError(f"expected --attack without --{option.replace('_', '-')}, got both")


def attack_table(found: Sequence[Attacked]) -> TextTable:
    from hardy.scores.text_tables import TextTable

    header = ("model", "clean", "adversarial", "Gaussian", "difference", "median distance")
    rows = [
        (
            one.model,
            *(f"{part.figure()} %" for part in (one.clean, one.adversarial, one.gaussian)),
            one.difference.figure(sign="+"),
            one.median_distance.figure(digits=2),
        )
        for one in found
    ]
    first = found[0]
    notes = [
        f"accuracy on {first.images:,} images under noise of L2 norm {first.epsilon:.4g}; "
        "95 % intervals",
        f"fitted on {first.fitted_on}, {first.steps:,} steps",
    ]
    notes += [
        f"{one.model}: {one.never:,} of {one.images:,} images stay right at any distance, which "
        f"counts as {one.values:,}"
        for one in found
        if one.never
    ]
    learned = frozenset((row, 4) for row, one in enumerate(found) if one.learned)
    return TextTable(f"adversarial noise, {first.noise}", header, rows, learned, tuple(notes))
