"""Plug-in packages of one file, installed by pip as a user would, for `hardy` in a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

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


def install_plugin(folder: Path, group: str, name: str, thing: str, code: str) -> Hardy:
    """Install the package and return `hardy(*words)`, which runs a command beside it in `folder`.

    `code` is the package's one file; `thing` is the object in it that the entry point names. A
    command that fails raises an AssertionError with all that it printed.
    """
    package, site = folder / "package", folder / "site"
    package.mkdir()
    (package / "pyproject.toml").write_text(PROJECT.format(name=name, group=group, thing=thing))
    (package / f"hardy_{name}.py").write_text(dedent(code))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    alone = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(site)]
    subprocess.run([*pip, *alone, str(package)], check=True, capture_output=True)
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
