"""What is attacked: commands that write, on a few small images. OPERATIONS has a row for each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from soak.results import (
    Results,
    finished,
    mirrored,
    overlapped,
    packed,
    predictions,
    scored,
    sent,
    trained,
    tree,
)
from soak.surroundings import make_small_shards, make_steady, make_tiny, make_urls, make_zoo

Command = tuple[str, ...]


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


@dataclass(frozen=True)
class Operation:
    """Commands that are attacked, after others that are not."""

    commands: tuple[Command, ...]
    results: Callable[[], Results]  # of the whole work
    before: tuple[Command, ...] = ()
    partly: Callable[[], Results] | None = None  # what must hold in between, too
    sweeps: bool = False  # what was left is removed when it is old, by the same command
    listed: tuple[str, ...] = ()  # how the line begins above what failed, where all else goes on
    power: bool = True  # whether it promises to survive that of the machine
    prepare: Callable[[], None] = lambda: None  # once in a worker


def eval_command(images: str, *options: str) -> Command:
    cells = ("--severities", "1,3", "--batch", "4", "--workers", "1")
    return ("eval", "fake:10", "--suite", "cifar10_c", "--images", images, *cells, *options)


def build_command(format: str, images: str, severities: str, out: str = "out") -> Command:
    options = ("--only", "contrast,jpeg_compression", "--severities", severities, "--workers", "1")
    return ("build", "cifar10_c", "--images", images, "--out", out, "--format", format, *options)


_ONE, _TWO = ("--only", "contrast"), ("--only", "contrast,jpeg_compression")
_STORE: dict[str, Any] = {"results": scored(), "partly": predictions(), "sweeps": True}
_THERE: dict[str, Any] = {
    "results": scored("objects/bucket/runs"),
    "partly": predictions("objects/bucket/runs"),
    "sweeps": True,
    "prepare": make_urls,
}
_UNTIL = (*_ONE, "--until", "12")
_SAMPLE = ("--suite", "cifar10_c", "--images", "many.npz", *_UNTIL)
_OVERLAP = ("overlap", "--out", "out", "--suite", "cifar10_c", "--data", "images.npz")
_OVERLAP += ("--images", "images.npz", "--net", "wrn_40_2", "--epochs", "1")
_TRAIN = ("train", "standard", "--data", "images.npz", "--out", "out", "--epochs", "2")

OPERATIONS: dict[str, Operation] = {
    "build, files": Operation(
        (build_command("jpeg", "folder", "1,2"),), tree("out"), partly=finished
    ),
    "build, arrays": Operation((build_command("npy", "images.npz", "1,2,3,4,5"),), tree("out")),
    "build, more cells": Operation(
        (build_command("jpeg", "folder", "1,2"),),
        tree("out"),
        before=(build_command("jpeg", "folder", "1"),),
        partly=finished,
    ),
    "eval": Operation((eval_command("images.npz", *_TWO),), **_STORE),
    "eval, shards": Operation(
        tuple(eval_command("images.npz", *_TWO, "--shard", f"{n}/2") for n in (1, 2)), **_STORE
    ),
    "eval, devices": Operation(
        (eval_command("images.npz", *_ONE, "--devices", "cpu,cpu"),), **_STORE, power=False
    ),
    "eval, more images": Operation(
        (eval_command("folder", *_ONE),),
        **_STORE,
        before=(eval_command("folder", *_ONE, "--subset", "4"),),
    ),
    "eval, more cells": Operation(
        (eval_command("images.npz", *_TWO),), **_STORE, before=(eval_command("images.npz", *_ONE),)
    ),
    "eval, many models": Operation(
        (("eval", "--models", "models.txt", *eval_command("images.npz", *_ONE)[2:]),),
        **_STORE,
        listed=("1 model could not be used", "2 models could not be used"),
    ),
    "eval, sampled": Operation((eval_command("many.npz", *_UNTIL),), **_STORE, prepare=make_steady),
    "eval, more of a sample": Operation(
        (eval_command("many.npz", *_ONE, "--until", "8"),),
        **_STORE,
        before=(eval_command("many.npz", *_UNTIL),),
        prepare=make_steady,
    ),
    "compare, sampled": Operation(
        (("compare", "runs", "fake:10", "fake:10:3", *_SAMPLE),), **_STORE, prepare=make_steady
    ),
    "eval, at a URL": Operation(
        (eval_command("images.npz", *_TWO, "--store", "s3://bucket/runs"),), **_THERE
    ),
    "build, at a URL": Operation(
        (build_command("npy", "images.npz", "1,2", "s3://bucket/out"),), sent, prepare=make_urls
    ),
    "build, more at a URL": Operation(
        (build_command("npy", "images.npz", "1,2", "s3://bucket/out"),),
        sent,
        before=(build_command("npy", "images.npz", "1", "s3://bucket/out"),),
        prepare=make_urls,
    ),
    "train": Operation(
        ((*_TRAIN, "--batch", "4", "--device", "cpu", "--deterministic"),),
        trained,
        prepare=make_tiny,
    ),
    "pack": Operation(
        (("pack", "folder", "--out", "out", "--side", "24", "--workers", "1"),),
        tree("out"),
        partly=packed,
        prepare=make_small_shards,
    ),
    "overlap": Operation(
        ((*_OVERLAP, "--only", "contrast,brightness", "--batch", "4", "--device", "cpu"),),
        overlapped,
        prepare=make_tiny,
    ),
    "probe": Operation(
        (("probe", "fake:10", "--data", "folder", "--out", "probe.safetensors"),),
        tree("."),
        partly=tree("."),
        sweeps=True,
    ),
    "fetch models": Operation(
        (("fetch", "models", "resnet50", "squeezenet1_1"),),
        tree("."),
        partly=tree("."),
        sweeps=True,
        prepare=make_zoo,
    ),
    "corrupt": Operation(
        (("corrupt", "folder", "out", "--with", "contrast:1,3"),), mirrored, power=False
    ),
    "results": Operation(
        (
            ("score", "runs", "--format", "json", "-o", "result.json"),
            ("report", "runs", "-o", "report.md"),
            ("leaderboard", "result.json", "-o", "board"),
            ("card", "runs", "fake:10", "-o", "README.md"),
            ("mpc", "performances.csv", "-o", "mpc.csv"),
        ),
        tree("."),
        before=(eval_command("images.npz", *_ONE),),
        partly=tree("."),
        sweeps=True,
    ),
}
