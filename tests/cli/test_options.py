"""The command line as scripts use it: names, defaults and which of them must be given stay."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from hardy.cli import app

KEPT: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "golden/options.json").read_text()
)
GROUP = typer.main.get_command(app)
COMMANDS = {"": GROUP, **GROUP.commands}


def options(command: Any) -> dict[str, Any]:
    """Each argument and option, under all its names, with its default, or that it is required."""
    return {
        " ".join([*one.opts, *one.secondary_opts]): "(required)" if one.required else plain(one)
        for one in command.params
    }


def plain(option: Any) -> Any:
    value = option.default
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def test_every_command_is_there() -> None:
    assert set(COMMANDS) == set(KEPT)


@pytest.mark.parametrize("name", KEPT)
def test_options(name: str) -> None:
    assert options(COMMANDS[name]) == KEPT[name]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("eval fake:10 --suite cifar10_c --only fog --only snow", "--only once, got it 2 times"),
        ("build cifar10_c --images a --images b --out c", "expected --images once"),
        ("show a.png -o b.png --level 2", "expected no --level without --sequence"),
        ("show a.png -o b.html --html --sequence tilt", "expected no --sequence with --html"),
        ("overlap --out dir --epochs 3", "expected no --epochs without --suite and --data"),
        ("design m.csv --below 0.5 --seed 1", "expected no --seed with --below"),
        ("report runs -o a.csv --photo b.png", "expected --photo with html, which has a gallery"),
        ("eval fake:10 --suite cifar10_p --files a --images b", "expected no --images with the"),
        ("eval fake:10 --suite cifar10_c --images b.npz --classes 3", "with --own-classes"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(words: str, reason: str, run: Any) -> None:
    np.savez("b.npz", images=np.zeros((3, 32, 32, 3), np.uint8), labels=range(3))
    code, _, err = run(*words.split())
    assert code == 2
    assert reason in err


def test_what_was_typed_is_forgotten_with_its_command(run) -> None:
    typed = ("show", "photo.png", "-o", "sheet.png", "--html")
    assert "--level with --html" in run(*typed, "--level", "2")[2]
    assert "--level" not in run(*typed)[2]
