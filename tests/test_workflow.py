"""The example for GitHub Actions: it is YAML, and its commands do what it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image
from typer.testing import CliRunner

from hardy import cli
from tests.pages import ROOT

EXAMPLE: dict[Any, Any] = yaml.safe_load(
    (ROOT / "examples/github-actions.yml").read_text(encoding="utf-8")
)
SOURCE = str(ROOT / "src")
STEPS = EXAMPLE["jobs"]["robustness"]["steps"]
COMMANDS = [line for step in STEPS for line in step.get("run", "").splitlines()]
NET = """
import torch

def make():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([SIGN, -SIGN]))

        def forward(self, pixels):
            return pixels.mean((1, 2, 3))[:, None] * self.weight

    return Net()
"""


def write_net(sign: float) -> None:
    """A net that tells dark from bright, or takes one for the other."""
    Path("net.py").write_text(NET.replace("SIGN", str(sign)))


def give(line: str) -> int:
    """Give a command as the workflow does; the exit code."""
    line, _, target = line.partition(" >> ")
    program, *words = shlex.split(line)
    if program == "pytest":
        start = [sys.executable, "-m", "pytest", "-p", "hardy.share.pytest_plugin"]
        return subprocess.run(start + words, env={**os.environ, "PYTHONPATH": SOURCE}).returncode
    assert program == "hardy"
    done = CliRunner().invoke(cli.app, words)
    if target:
        Path("summary.md").write_text(done.output, encoding="utf-8")
    return done.exit_code


def test_it_is_a_workflow() -> None:
    assert EXAMPLE["name"] == "robustness"
    assert set(EXAMPLE[True]) == {"push", "pull_request"}, "YAML takes `on` for true"
    assert EXAMPLE["permissions"] == {"contents": "read"}
    for step in STEPS:
        assert ("uses" in step) != ("run" in step)
        assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/x@v1"))
    assert {shlex.split(line)[0] for line in COMMANDS} == {"pip", "hardy", "pytest"}


def test_its_commands_keep_a_model_from_getting_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    draws = np.random.default_rng(0)
    for name, grey in (("bright", 190), ("dark", 60)):
        Path("test-images", name).mkdir(parents=True)
        for number in range(20):
            pixels = np.clip(draws.normal(grey, 20, (32, 32, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(f"test-images/{name}/{number}.png")
    evaluate, compare, report, result, summary = COMMANDS[1:]
    write_net(1.0)
    assert give(evaluate) == 0
    (target,) = re.findall(r"hardy score runs --format json -o (\S+baseline.json)", comment())
    assert give(f"hardy score runs --format json -o {target}") == 0
    assert give(compare) == 0, "the same model is no regression"
    Path("runs").rename("before")
    write_net(-1.0)
    assert give(evaluate) == 0
    assert give(compare) == 1, "one that takes dark for bright is"
    assert [give(line) for line in (report, result, summary)] == [0, 0, 0]
    assert "| net |" in Path("summary.md").read_text(encoding="utf-8")
    for kept in STEPS[-1]["with"]["path"].split():
        assert Path(kept).stat().st_size > 1000


def comment() -> str:
    return (ROOT / "examples/github-actions.yml").read_text(encoding="utf-8").partition("\nname")[0]
