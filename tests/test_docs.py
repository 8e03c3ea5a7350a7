"""The pages in docs/: their commands can be typed, and what they say of training is so."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
from typer.testing import CliRunner

from hardy import cli
from hardy.suites import load
from hardy.suites.suite import parse_suite
from hardy.train import METHODS, NETS
from hardy.train.hyperparameters import LOWEST_LR, Hyperparameters
from hardy.train.method import make_method
from tests.train.small import NEEDED, narrow, write_arrays

__all__ = ["narrow"]

DOCS = Path(__file__).parent.parent / "docs"
TRAINING = (DOCS / "training.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    return [
        line
        for page in sorted(DOCS.glob("*.md"))
        for language, text in BLOCK.findall(page.read_text(encoding="utf-8"))
        for line in text.splitlines()
        if language in ("", "sh") and line.startswith("hardy ")
    ]


def test_there_are_commands() -> None:
    assert len(commands()) >= 10


@pytest.mark.parametrize("line", commands())
def test_commands_have_the_options_they_name(line: str) -> None:
    """They are not run: that takes models, images and hours."""
    _, name, *words = shlex.split(line, comments=True)
    command = typer.main.get_command(cli.app).commands[name]
    command.make_context(name, words).close()


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(TRAINING) if kind == language]


def test_the_method_on_the_page_trains(narrow, tmp_path, monkeypatch) -> None:
    (source,), (points,) = blocks("python"), blocks("toml")
    assert len(source.split("@dataclass")[1].splitlines()) <= 15
    (tmp_path / "my_methods.py").write_text(source)
    named = tomllib.loads(points)["project"]["entry-points"]["hardy.methods"]
    installed = tmp_path / "my_methods-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: my_methods\nVersion: 1.0\n")
    lines = [f"{name} = {value}\n" for name, value in named.items()]
    (installed / "entry_points.txt").write_text(f"[hardy.methods]\n{''.join(lines)}")
    monkeypatch.setattr(METHODS, "_plugins", None)
    monkeypatch.setattr(METHODS, "_objects", dict(METHODS._objects))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_methods", raising=False)
    monkeypatch.chdir(tmp_path)
    (line,) = (line for line in commands() if line.startswith("hardy train cutout "))
    data = write_arrays(tmp_path)
    small = ("--data", str(data), "--net", "narrow", "--epochs", "1", "--device", "cpu")
    done = CliRunner().invoke(cli.app, [*shlex.split(line)[1:], *small], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    described = json.loads(Path("cutout/run.json").read_text())
    assert described["method"] == {"name": "cutout", "size": 8}
    assert described["seen_corruptions"] == []


@pytest.mark.parametrize("name", list(METHODS))
def test_each_method_has_its_line(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}`(.*)\|$", TRAINING, re.MULTILINE)
    cells = [cell.strip() for cell in row.split("|")]
    method = make_method(name, NEEDED.get(name))
    wanted = [f"{setting.name}=" for setting in dataclasses.fields(method)]
    if name == "ant3x3":
        assert cells[0] == ", the same"
    else:
        assert re.findall(r"\w+=", cells[0]) == wanted
    # They can be typed as they stand there, and are the defaults.
    typed = dict(re.findall(r"(\w+)=(\S+)", cells[0]))
    assert make_method(name, {**typed, **NEEDED.get(name, {})}) == method
    seen = ", ".join(type(method).seen) or "none"
    assert cells[-1] == ("the one named" if name == "corrupted" else seen)


def test_the_page_on_torch_runs_from_top_to_bottom_and_is_so(torchvision) -> None:
    page = (DOCS / "torch.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for language, text in BLOCK.findall(page):
        if language == "python":
            exec(compile(text, "torch.md", "exec"), names)
    assert torch.equal(names["last"], names["foggy"][5:])
    images, noise = names["images"].permute(0, 3, 1, 2), names["noise"]
    for made in ("noisy", "others"):
        assert torch.equal(noise(images), names[made])
    assert not (names["noisy"] == names["others"]).flatten(1).all(1).any()
    assert torch.equal(names["channels_last"](names["images"]), names["noisy"].permute(0, 2, 3, 1))
    first, second = torch.cat(names["first"]), torch.cat(names["second"])
    assert not (first == second).flatten(1).all(1).any()
    again = torch.utils.data.DataLoader(
        names["pictures"], 4, num_workers=2, generator=torch.Generator().manual_seed(0)
    )
    assert torch.equal(torch.cat([pixels for pixels, _ in again]), first)
    assert len({made.numpy().tobytes() for made in names["seen"].values()}) == 16
    for name, made in names["seen"].items():
        assert torch.equal(noise(images[int(name.partition("/")[2])], ids=name), made.cpu())


def test_the_recipe_is_the_one_that_is_used() -> None:
    usual = Hyperparameters()
    for words in (
        f"momentum of {usual.momentum}",
        f"| {usual.lr}, along a {usual.schedule} to {LOWEST_LR:.0e}".replace("e-0", "e-"),
        f"{usual.epochs} epochs, batches of {usual.batch}",
        *(f"`{net}`" for net in NETS if net not in (usual.net, "narrow")),
    ):
        assert words in TRAINING, words
    assert (usual.net, usual.weight_decay) == ("wrn_40_2", 5e-4)


def test_the_suite_on_the_page_is_one(tmp_path) -> None:
    page = (DOCS / "suites.md").read_text(encoding="utf-8")
    ((_, text),) = [block for block in BLOCK.findall(page) if block[0] == "toml"]
    (tmp_path / "weather.toml").write_text(text, encoding="utf-8")
    suite = load(str(tmp_path / "weather.toml"))
    assert suite.counted == ("snow", "frost", "fog")
    # Every key that the checks of suites know is on the page.
    known = re.findall(r'"(\w+)": (?:str|int|list|dict)', inspect.getsource(parse_suite))
    assert {"storage", "score"} < set(known)
    prose = {"name", "version", "title", "source", "images", "noise_storage", "description"}
    assert all(f"`{key}`" in page or f"`[{key}]`" in page for key in {*known} - prose)


def test_speeds_of_other_benchmarks_are_what_was_measured() -> None:
    page = (DOCS.parent / "bench" / "results" / "suites.md").read_text(encoding="utf-8")
    whole = re.search(r"of one photo ≤ 1000 ms: ([\d.]+) ms", page)
    slowest = re.search(r"≤ 2 ms: slowest (\w+) ([\d.]+) ms", page)
    assert whole
    assert slowest
    c_bar, noc = ((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("c-bar", "noc"))
    assert f"All ten at five severities take {float(whole[1]):.0f} ms" in c_bar
    assert f"The slowest, `{slowest[1]}`, takes {slowest[2]} ms" in noc
