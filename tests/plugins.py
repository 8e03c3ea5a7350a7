"""Plug-in packages of one file, installed by pip as a user would, for `hardy` in a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from hardy.registry import Registry

PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "hardy-{name}"
version = "1.0"

[project.entry-points."{group}"]
{name} = "hardy_{name}:{thing}"

[tool.hatch.build.targets.wheel]
only-include = ["hardy_{name}.py"]
"""

Hardy = Callable[..., str]
Points = Mapping[str, Mapping[str, str]]  # of each group: name and place


def install_plugin(folder: Path, group: str, name: str, thing: str, code: str) -> Hardy:
    """Install the package and return `hardy(*words)`, which runs a command beside it in `folder`.

    `code` is the package's one file; `thing` is the object in it that the entry point names. A
    command that fails raises an AssertionError with all that it printed.
    """
    package, site = folder / "package", folder / "site"
    package.mkdir()
    (package / "pyproject.toml").write_text(PROJECT.format(name=name, group=group, thing=thing))
    (package / f"hardy_{name}.py").write_text(dedent(code))
    install(package, site)
    return _beside(site, folder)


def install(package: Path, site: Path) -> None:
    """Let pip install the package of that folder, without a network, into the folder `site`."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    alone = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(site)]
    subprocess.run([*pip, *alone, str(package)], check=True, capture_output=True)


def place_plugin(folder: Path, name: str, points: Points, code: str) -> Hardy:
    """The same for a package of several entry points, whose files are written without pip."""
    site = folder / "site"
    about = site / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (site / f"{name}.py").write_text(dedent(code))
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, named in points.items()
        for line in (f"[{group}]", *(f"{name} = {place}" for name, place in named.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    return _beside(site, folder)


def forget_later(monkeypatch: pytest.MonkeyPatch, registry: Registry[Any]) -> None:
    """What is added to the registry is gone after the test."""
    monkeypatch.setattr(registry, "_objects", dict(registry._objects))
    monkeypatch.setattr(registry, "_brought", set(registry._brought))


def pretend(
    monkeypatch: pytest.MonkeyPatch, registry: Registry[Any], points: Mapping[str, str]
) -> None:
    """Let the registry find these entry points, for the length of a test and in this process."""
    group = registry.entry_point_group
    found = {name: EntryPoint(name, place, str(group)) for name, place in points.items()}
    monkeypatch.setattr(registry, "_plugins", found)
    forget_later(monkeypatch, registry)
    monkeypatch.setattr(registry, "_faults", {})


def _beside(site: Path, folder: Path) -> Hardy:
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "120"}

    def hardy(*words: object) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "hardy.cli", *map(str, words)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return hardy
