"""What `hardy eval --attack` prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hardy.cli import options

if TYPE_CHECKING:
    from hardy.scores.text_tables import TextTable
    from hardy.store.attack_files import Attacked


def print_attacks(found: Sequence[Attacked], store: Path, faults: Sequence[str]) -> None:
    from hardy.scores.text_tables import to_terminal

    to_terminal([_attack_table(found)])
    typer.echo(f"stored in {store}; `hardy report {store}` shows the noise")
    options.end_with_faults(faults, "image")


def _attack_table(found: Sequence[Attacked]) -> TextTable:
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
