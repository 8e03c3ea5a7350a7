"""The command line as scripts use it: names, defaults and which of them must be given stay."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Any

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
    return (
        value.value if isinstance(value, Enum) else str(value) if isinstance(value, Path) else value
    )


def test_every_command_is_there() -> None:
    assert set(COMMANDS) == set(KEPT)


@pytest.mark.parametrize("name", KEPT)
def test_options(name: str) -> None:
    assert options(COMMANDS[name]) == KEPT[name]
