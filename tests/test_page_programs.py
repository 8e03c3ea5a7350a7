"""What the pages on training, torch and suites say is so, and their programs run."""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from hardy import cli
from hardy.suites import load
from hardy.suites.suite import SUITE, SUITE_TOO
from hardy.train import METHODS, NETS
from hardy.train.hyperparameters import LOWEST_LR, Hyperparameters
from hardy.train.method import make_method
from tests.pages import INSTALLED, blocks, commands, page, with_options
from tests.plugins import forget_later
from tests.train.small import NEEDED, narrow, write_arrays

__all__ = ["narrow"]


TRAINING = page("docs/training.md")
METHOD_TABLE = TRAINING.partition("<!-- table: training methods -->")[2].partition("<!-- end -->")[
    0
]


def test_the_method_on_the_page_trains(narrow, tmp_path, monkeypatch) -> None:
    by_language = dict(blocks("docs/training.md"))
    source, points = by_language["python"], by_language["toml"]
    assert len(source.split("@dataclass")[1].splitlines()) <= 15
    (tmp_path / "my_methods.py").write_text(source)
    named = tomllib.loads(points)["project"]["entry-points"]["hardy.methods"]
    installed = tmp_path / "my_methods-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: my_methods\nVersion: 1.0\n")
    lines = [f"{name} = {value}\n" for name, value in named.items()]
    (installed / "entry_points.txt").write_text(f"[hardy.methods]\n{''.join(lines)}")
    monkeypatch.setattr(METHODS, "_plugins", None)
    forget_later(monkeypatch, METHODS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_methods", raising=False)
    monkeypatch.chdir(tmp_path)
    assert INSTALLED in commands("docs/training.md")
    data = write_arrays(tmp_path)
    words = shlex.split(INSTALLED)[1:]
    with_options(words, {"--data": str(data), "--net": "narrow", "--epochs": "1"})
    words += ["--device", "cpu"]
    done = CliRunner().invoke(cli.app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    described = json.loads(Path("cutout/run.json").read_text())
    assert described["method"] == {"name": "cutout", "size": 8}
    assert described["seen_corruptions"] == []


@pytest.mark.parametrize("name", list(METHODS))
def test_settings_can_be_typed_as_they_stand_there(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}` \|(.*)\|$", METHOD_TABLE, re.MULTILINE)
    needed = NEEDED.get(name, {})
    typed = dict(re.findall(r"(\w+)=(\S+)", row.split("|")[1]))
    assert make_method(name, {**typed, **needed}) == make_method(name, needed)


def test_methods_that_are_explained_exist() -> None:
    explained = TRAINING.partition("## What the methods do exactly")[2]
    assert set(re.findall(r"^\| `(\w+)` \|", explained, re.MULTILINE)) <= set(METHODS)


def test_the_page_on_torch_runs_from_top_to_bottom_and_is_so(torchvision) -> None:
    names: dict[str, Any] = {}
    for language, text in blocks("docs/torch.md"):
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
    (text,) = [text for language, text in blocks("docs/suites.md") if language == "toml"]
    (tmp_path / "weather.toml").write_text(text, encoding="utf-8")
    suite = load(str(tmp_path / "weather.toml"))
    assert suite.counted == ("snow", "frost", "fog")
    suites = page("docs/suites.md")
    prose = {"name", "version", "title", "source", "images", "noise_storage"}
    for key in {*SUITE, *SUITE_TOO} - prose:
        assert f"`{key}`" in suites or f"`[{key}]`" in suites, key
