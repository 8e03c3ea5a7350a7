"""What is attacked: commands that write, on a few small images, and what their results are."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Command = tuple[str, ...]
Results = dict[Any, Any]  # equal for equal work; each entry is one result


def hardy(*commands: Command) -> None:
    """Give commands one after the other, in this process, until one fails: SystemExit."""
    from hardy import cli

    for command in commands:
        sys.argv = ["hardy", *command]
        try:
            cli.main()
        except SystemExit as ended:
            if ended.code:
                raise


def tree(folder: str) -> Callable[[], Results]:
    """All files below a folder, hidden ones too."""

    def files() -> Results:
        found = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
        return {str(path): sha256(path.read_bytes()).hexdigest() for path in found}

    return files


def finished() -> Results:
    """The files that a build's manifest lists: it counts on them, and on nothing else."""
    manifest = Path("out/manifest.jsonl")
    lines = manifest.read_bytes().splitlines(keepends=True) if manifest.exists() else []
    if not (listed := [json.loads(line) for line in lines if line.endswith(b"\n")]):
        return {}
    images = json.loads(Path("out/manifest.json").read_text())["files"]
    names = {
        f"out/{cell.replace(':', '/')}/{Path(images[line['unit']]).with_suffix('.JPEG')}"
        for line in listed
        for cell in line["cells"]
    }
    files = tree("out")()
    return {name: files.get(name, "nothing") for name in sorted(names)}


def mirrored() -> Results:
    """Corrupted files; the list of them may name them in any order."""
    files = tree("out")()
    listing = Path("out/corrupted.jsonl")
    if files.pop(str(listing), None):
        files |= dict.fromkeys(listing.read_text().splitlines(), True)
    return files


def predictions() -> Results:
    """Every stored prediction; scores and the worst images where a run is complete."""
    from hardy.store.reader import READABLE, open_run

    found: Results = {}
    for record in sorted(Path("runs").glob("*/run.json")):
        run = open_run(record.parent)
        for cell in run.cells:
            rows = np.flatnonzero(run.complete([cell]))
            read = run.read([cell], tuple(READABLE), rows)
            for place, row in enumerate(rows):
                values = tuple(read[name][place].tobytes() for name in sorted(read))
                found[run.identity.hash(), cell, run.ids[row]] = values
    return found


def scored() -> Results:
    from hardy.scores.run_scores import score_run
    from hardy.store.parts import names_in
    from hardy.store.reader import open_run
    from hardy.store.sessions import parts_that_count

    found = predictions()
    for record in sorted(Path("runs").glob("*/run.json")):
        run = open_run(record.parent)
        scores = score_run(run)
        found["scores", record] = [(name, str(scores[name])) for name in scores]
        worst = record.with_name("worst.parquet")
        found["worst", record] = sha256(worst.read_bytes()).hexdigest()
        counting = {path.name for path in parts_that_count(record.parent)}
        found["left", record] = sorted({*names_in(record.parent / "parts")} - counting)
        found["unfinished", record] = [str(p) for p in record.parent.rglob(".*")]
    return found


def trained() -> Results:
    files = tree("out")()
    for name in ("log.jsonl", "log.csv"):  # which say how long an epoch took
        files.pop(f"out/{name}", None)
    log = Path("out/log.jsonl")
    if log.exists():
        files["log"] = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    return files


def make_tiny() -> None:
    """Have trainings take a moment: a net of one layer, and a checkpoint after each epoch."""
    import torch

    from hardy.train import loop, nets

    def tiny(classes: int, halving: Any) -> torch.nn.Module:
        pooled = torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten()
        return torch.nn.Sequential(*pooled, torch.nn.Linear(12, classes))

    nets.NETS = {"wrn_40_2": tiny}  # type: ignore[assignment]
    loop.SAVE_SECONDS = 0.0


@dataclass(frozen=True)
class Operation:
    """Commands that are attacked, after others that are not."""

    commands: tuple[Command, ...]
    results: Callable[[], Results]  # of the whole work
    before: tuple[Command, ...] = ()
    partly: Callable[[], Results] | None = None  # what must hold in between, too
    sweeps: bool = False  # what was left is removed when it is old, by the same command
    power: bool = True  # whether it promises to survive that of the machine
    prepare: Callable[[], None] = lambda: None  # once in a worker


def _eval(images: str, *options: str) -> Command:
    cells = ("--severities", "1,3", "--batch", "4", "--workers", "1")
    return ("eval", "fake:10", "--suite", "cifar10_c", "--images", images, *cells, *options)


def _build(format: str, images: str, severities: str) -> Command:
    options = ("--only", "contrast,jpeg_compression", "--severities", severities, "--workers", "1")
    return ("build", "cifar10_c", "--images", images, "--out", "out", "--format", format, *options)


_ONE, _TWO = ("--only", "contrast"), ("--only", "contrast,jpeg_compression")
_STORE = {"results": scored, "partly": predictions, "sweeps": True}
_RESULT = ("report", "runs", "-o")
_TRAIN = ("train", "standard", "--data", "images.npz", "--out", "out", "--epochs", "2")

OPERATIONS: dict[str, Operation] = {
    "build, files": Operation((_build("jpeg", "folder", "1,2"),), tree("out"), partly=finished),
    "build, arrays": Operation((_build("npy", "images.npz", "1,2,3,4,5"),), tree("out")),
    "build, more cells": Operation(
        (_build("jpeg", "folder", "1,2"),),
        tree("out"),
        before=(_build("jpeg", "folder", "1"),),
        partly=finished,
    ),
    "eval": Operation((_eval("images.npz", *_TWO),), **_STORE),
    "eval, shards": Operation(
        tuple(_eval("images.npz", *_TWO, "--shard", f"{n}/2") for n in (1, 2)), **_STORE
    ),
    "eval, devices": Operation(
        (_eval("images.npz", *_ONE, "--devices", "cpu,cpu"),), **_STORE, power=False
    ),
    "eval, more images": Operation(
        (_eval("folder", *_ONE),), **_STORE, before=(_eval("folder", *_ONE, "--subset", "4"),)
    ),
    "eval, more cells": Operation(
        (_eval("images.npz", *_TWO),), **_STORE, before=(_eval("images.npz", *_ONE),)
    ),
    "train": Operation(
        ((*_TRAIN, "--batch", "4", "--device", "cpu", "--deterministic"),),
        trained,
        prepare=make_tiny,
    ),
    "corrupt": Operation(
        (("corrupt", "folder", "out", "--with", "contrast:1,3"),), mirrored, power=False
    ),
    "results": Operation(
        (
            ("score", "runs", "--format", "json", "-o", "result.json"),
            (*_RESULT, "report.md"),
            ("leaderboard", "result.json", "-o", "board"),
        ),
        tree("."),
        before=(_eval("images.npz", *_ONE),),
        partly=tree("."),
        sweeps=True,
    ),
}


def lay_images(folder: Path) -> None:
    """The images of all operations."""
    pixels = np.random.default_rng(7).integers(0, 256, (8, 32, 32, 3), np.uint8)
    np.savez(folder / "images.npz", images=pixels, labels=np.arange(8))
    for number, image in enumerate(pixels):
        place = folder / f"folder/{number % 2}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{number}.png")


def make_small() -> None:
    """Have this process do little at a time, so that a small work has all the steps of a large one,
    and load what takes long, but nothing that starts threads, which no fork has."""
    import multiprocessing

    from hardy import corrupt, files
    from hardy.execute import crew
    from hardy.store import parts

    files.CHECKPOINT_SECONDS = 0.0
    parts.MERGED = 3
    for name in ("contrast", "jpeg_compression"):
        corrupt(np.zeros((32, 32, 3), np.uint8), name, 1)
    # A fork takes no seconds to import everything, and its calls pass the same gate.
    crew.get_context = lambda kind: multiprocessing.get_context("fork")  # type: ignore[assignment]


def check_partly(operation: Operation, prepared: Results, wanted: Results) -> None:
    """Whether what is there in the middle of the work is a part of its result, and holds all that
    was there before."""
    from hardy.errors import HardyError
    from soak.harness import Accepted

    if operation.partly is None:
        return
    try:
        found = operation.partly()
    except HardyError:
        return  # told in a line: the run is not whole enough to be read
    if lost := [key for key, value in prepared.items() if found.get(key) != value]:
        raise Accepted(f"lost what was there before: {_some(lost)}")
    wrong = [key for key, value in found.items() if key in wanted and wanted[key] != value]
    if wrong:
        raise Accepted(f"wrong in the middle of the work: {_some(wrong)}")


def check_there(found: Results, wanted: Results) -> None:
    """Whether all results are there; what was swept may be there again."""
    from soak.harness import Accepted

    swept = ("left", "unfinished")
    lost = [k for k, v in wanted.items() if found.get(k) != v and k[0] not in swept]
    if lost:
        raise Accepted(f"lost after the end: {_some(lost)}")


def check_whole(found: Results, wanted: Results) -> None:
    from soak.harness import Accepted

    if found != wanted:
        differing = {*found, *wanted} if set(found) != set(wanted) else set(found)
        other = [key for key in differing if found.get(key, ...) != wanted.get(key, ...)]
        shown = [(key, found.get(key, "nothing"), wanted.get(key, "nothing")) for key in other]
        raise Accepted(f"another result in the end: {_some(shown)}")


def _some(things: Sequence[Any]) -> str:
    return f"{len(things)}, such as {str(things[0])[:200]}"
