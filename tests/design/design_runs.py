"""The overlap experiment on small images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hardy.design.experiment import run_overlap
from tests.train.small import NARROW, write_arrays

NAMES = ("gaussian_noise", "brightness", "contrast", "pixelate")
RECIPE = replace(NARROW, epochs=1)


class Killed(Exception):
    pass


def run_it(folder: Path, say=lambda line: None, **changes) -> Path:
    wanted = {"only": NAMES, "recipe": RECIPE, **changes}
    train, test = (write_arrays(folder / part, count) for part, count in (("a", 48), ("b", 30)))
    run_overlap(
        "cifar10_c",
        str(train),
        folder / "out",
        wanted["recipe"],
        images=str(test),
        only=wanted["only"],
        device="cpu",
        say=say,
        clean_only=wanted.get("clean_only", False),
    )
    return folder / "out"
