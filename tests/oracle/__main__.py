"""An oracle that is not ours: `make test-oracle`.

Hands images and draws to a Python with other libraries, lets `formulas.py` corrupt them there,
compares with Hardy's bytes, and writes the table of docs/fidelity.md.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import hardy
from hardy.corrupt import CORRUPTIONS
from hardy.engine import textures
from hardy.suites import edition, editions
from tests.photos import photos

PAGE = Path(__file__).parents[2] / "docs" / "fidelity.md"
PLACE = re.compile(r"(<!-- oracle -->\n).*?(<!-- end of oracle -->)", re.DOTALL)
FORMULAS = Path(__file__).with_name("formulas.py")
# As many photographs of each side as take seconds.
COUNTS = {224: 2, 32: 8}
KINDS = {"224": 224, "cifar": 32, "c_bar_cifar": 32, "noc": 224}
NOISES = ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise")


class Agreement(NamedTuple):
    """How many values of an edition's corruption are the same, within 1, and the furthest off."""

    name: str
    edition: str
    equal: float
    within: float
    furthest: int


def cells(names: Iterable[str]) -> list[tuple[str, str, int]]:
    """Name, edition and severity of all that the oracle knows."""
    return [
        (name, chosen, severity)
        for name in names
        for chosen in KINDS
        if chosen in editions(name)
        for severity in edition(chosen).severities(name)
    ]


def drawn(name: str, chosen: str, severity: int, images: np.ndarray) -> dict[str, np.ndarray]:
    """Hardy's own draws; of the noises, which draw bytes, the reference's kind."""
    if name not in NOISES:
        size = images.shape[1:3]
        return hardy.draw(name, severity, size, ids=range(len(images)), edition=chosen)
    generator = np.random.default_rng(severity)
    if name == "shot_noise":
        photons = edition(chosen).params(name, severity)["photons"]
        return {"count": generator.poisson(images / 255 * photons).astype(float)}
    if name == "impulse_noise":
        return {key: generator.random(images.shape) for key in ("hit", "salt")}
    return {"normal": generator.standard_normal(images.shape)}


def hand_over(folder: Path, name: str, chosen: str, severity: int) -> None:
    side = KINDS[chosen]
    images = photos(side)[: COUNTS[side]]
    fields = drawn(name, chosen, severity, images)
    parameters: dict[str, object] = dict(edition(chosen).params(name, severity))
    if name == "frost":
        where = textures.texture_folder()
        parameters["textures"] = [str(where / texture.file) for texture in textures.TEXTURES]
    np.savez(
        folder / f"cell-{name}-{chosen}-{severity}.npz",
        images=images,
        ours=hardy.replay(images, name, severity, fields, edition=chosen),
        about=json.dumps({"name": name, "parameters": parameters}),
        **{f"d_{key}": values for key, values in fields.items()},
    )


def compare(folder: Path, names: Iterable[str], python: str) -> list[Agreement]:
    """Corrupt by both, cell by cell; one line for each corruption of an edition."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.npz"):
        old.unlink()
    wanted = cells(names)
    for cell in wanted:
        hand_over(folder, *cell)
    subprocess.run([python, FORMULAS, folder], check=True)
    lines = []
    for name, chosen in dict.fromkeys((name, chosen) for name, chosen, _ in wanted):
        off = []
        for severity in edition(chosen).severities(name):
            end = f"{name}-{chosen}-{severity}.npz"
            with np.load(folder / f"cell-{end}") as one, np.load(folder / f"made-{end}") as other:
                off.append(np.abs(one["ours"].astype(int) - other["made"]))
        apart = np.concatenate([part.reshape(-1) for part in off])
        shares = np.mean(apart == 0), np.mean(apart <= 1)
        lines.append(Agreement(name, chosen, *map(float, shares), int(apart.max())))
    return lines


def written(lines: list[Agreement], versions: dict[str, str]) -> str:
    used = ", ".join(f"{name} {version}" for name, version in versions.items())
    rows = [
        f"| {one.name} | {one.edition} | {_percent(one.equal)} | {_percent(one.within)} "
        f"| {one.furthest} |"
        for one in lines
    ]
    head = [
        "| corruption | edition | equal, % | within 1, % | furthest off |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([f"Libraries: {used}.", "", *head, *rows, ""])


def _percent(share: float) -> str:
    """Down to the third decimal, so that 100 is said of all values alone."""
    return "100" if share == 1 else f"{np.floor(share * 1e5) / 1e3:.3f}"


def main(python: str, folder: Path) -> None:
    names = [name for name in CORRUPTIONS.names() if f"def {name}(" in FORMULAS.read_text()]
    lines = compare(folder, names, python)
    table = written(lines, json.loads((folder / "versions.json").read_text()))
    PAGE.write_text(PLACE.sub(lambda found: found[1] + table + found[2], PAGE.read_text()))
    print(table)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
