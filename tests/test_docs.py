"""The pages in docs/: they are listed, their commands run, and what they say is so."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import typer
from PIL import Image
from typer.testing import CliRunner

import hardy
from docs import tables
from hardy import cli, demonstration
from hardy.files import write_file
from hardy.images import datasets, subtypes
from hardy.images.icons50 import icon_parts
from hardy.models.weight_files import packed
from hardy.models.zoo import ZOO, keeping
from hardy.store.reader import find_runs
from hardy.suites import load
from hardy.suites.suite import SUITE, SUITE_TOO
from hardy.train import METHODS, NETS
from hardy.train.blurpool import STRIDES, Halving
from hardy.train.hyperparameters import LOWEST_LR, Hyperparameters
from hardy.train.method import make_method
from tests.icons import write_icons
from tests.page_sets import use_torchvision, write_natural_shifts, write_subtypes
from tests.pages import (
    DOCS,
    OUTSIDE,
    ROOT,
    blocks,
    blocks_run_by,
    commands,
    here_column,
    in_order,
    make_files,
    not_run,
    page,
    run_elsewhere,
)
from tests.run.test_subtypes import add_folder, write_cifar
from tests.stylise.tiny_adain import use_tiny
from tests.train.small import NEEDED, make_narrow, narrow, write_arrays

__all__ = ["narrow"]

TRAINING = page("docs/training.md")
METHOD_TABLE = TRAINING.partition("<!-- table: training methods -->")[2].partition("<!-- end -->")[
    0
]
# What is changed in a command, where it would take hours.
SHORTER = {
    "train": {"--epochs": "1"},
    "overlap": {"--epochs": "1", "--only": "noc_rain,noc_hue"},
    "--attack": {"--attack-steps": "2"},
    "--warmup": {"--warmup": "0.5"},
}
# What is smaller than on the page: photographs are two; a probe needs images of each type, which
# other commands would train on for long.
SMALLER = {
    "--subset 5000": "--subset 2",
    "imagenet_subtypes --data imagenet/train": "imagenet_subtypes --data seen/train",
    "imagenet22k --images imagenet/val": "imagenet22k --images seen/val",
}
# Tests of their own run the Python of all but the last, which has signatures; tests/extras has two.
PROGRAMS = (
    "docs/torch.md",
    "docs/training.md",
    "docs/training-loop.md",
    "docs/other-models.md",
    "docs/reference.md",
)
# A test of its own installs the package that has this method.
INSTALLED = "hardy train cutout --set size=8 --data cifar10 --out cutout"
RUN = ("hardy ", "make demo")
# Where the tests of other targets run blocks that are marked so.
ELSEWHERE = {
    "make test-cluster": "tests/cluster/test_page_commands.py",
    "make test-extras": "tests/extras/test_page_commands.py",
}
SHOWN = [*in_order(), *OUTSIDE]


@pytest.mark.parametrize("name", in_order()[1:])
def test_tables_are_those_of_the_registries(name: str) -> None:
    """`make docs` writes them."""
    assert tables.filled(page(name)) == page(name)


def test_every_page_is_listed_once() -> None:
    there = {found.name for found in DOCS.glob("*.md")} - {"README.md"}
    assert sorted(in_order()) == sorted(["README.md", *(f"docs/{name}" for name in there)])


def anchors(text: str) -> list[str]:
    """What GitHub calls the headings of a page."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads]


@pytest.mark.parametrize("name", [*in_order(), "docs/README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_lead_somewhere(name: str) -> None:
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page(name)):
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), path
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"{path}#{anchor}"


@pytest.mark.parametrize(
    "name", [*in_order(), "CONTRIBUTING.md", "SECURITY.md", "results/cifar10.md"]
)
def test_files_that_are_named_exist(name: str) -> None:
    for path in re.findall(r"`((?:src|tests|docs|bench|engine|results)/[\w/.-]+)`", page(name)):
        assert (ROOT / path).exists() or (ROOT / "src/hardy" / path).exists(), path


@pytest.mark.parametrize("name", SHOWN)
def test_blocks_are_run_or_say_why_not(name: str) -> None:
    """Commands are `bash`. Hardy's are run below; `make` by CI, pip to make the environment."""
    assert {language for language, _ in blocks(name)} <= {"bash", "python", "text", "toml"}
    for line in commands(name):
        program, *words = shlex.split(line, comments=True)
        if program == "make":
            assert words[0] in re.findall(r"^([\w-]+):", page("Makefile"), re.MULTILINE)
        elif program == "pip":
            assert words == ["install", ".[torchvision,report]"]
        else:
            assert program == "hardy", line


# What a test cannot have.
LACKING = r"GPU|days|fetches networks"


def test_few_blocks_are_not_run_and_these_have_the_options_they_name() -> None:
    left_out = {name: not_run(name) for name in SHOWN if not_run(name)}
    assert sum(map(len, left_out.values())) <= 4
    assert all(re.search(LACKING, why) for texts in left_out.values() for why in texts.values())
    elsewhere = [text for name in SHOWN for text in run_elsewhere(name)]
    texts = [*elsewhere, *(text for some in left_out.values() for text in some)]
    lines = [line for text in texts for line in text.splitlines()]
    for line in lines:
        program, name, *words = shlex.split(line)
        if program == "hardy":
            command = typer.main.get_command(cli.app).commands[name]
            command.make_context(name, words).close()


def test_blocks_of_other_targets_are_run_there() -> None:
    """The test there takes every block with its mark, so that a new one cannot be forgotten."""
    marks = re.findall(r"^<!-- run by: (.+) -->$", "\n".join(map(page, SHOWN)), re.MULTILINE)
    assert set(marks) == set(ELSEWHERE)
    assert len(marks) == sum(len(blocks_run_by(target)) for target in ELSEWHERE)
    for target, file in ELSEWHERE.items():
        assert f'blocks_run_by("{target}")' in page(file)
        recipe = page("Makefile").partition(f"\n{target.split()[1]}: ")[2].partition("\n\n")[0]
        assert file.rpartition("/")[0] in recipe


@pytest.fixture
def folder(tmp_path, monkeypatch, torchvision):
    """An empty folder but for the files that the pages speak of; CIFAR-10 and icons are few, nets
    are narrow, noise is learned in two steps, and weights of torchvision, the zoo and AdaIN are
    random."""
    make_files(tmp_path)
    write_natural_shifts(tmp_path)
    write_subtypes(tmp_path)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    use_torchvision(tmp_path / "torch/hub/checkpoints", monkeypatch)
    monkeypatch.setattr(datasets, "folder", lambda: tmp_path / "kept")
    monkeypatch.setattr(keeping, "zoo_folder", lambda: tmp_path / "zoo")
    came = {"package": ZOO["squeezenet1_1"].parcel.package}
    torch.manual_seed(0)
    weights_of = keeping.blank_net(ZOO["squeezenet1_1"]).state_dict()
    write_file(keeping.net_file("squeezenet1_1"), packed(weights_of, came, tmp_path))
    use_tiny(tmp_path / "adain", monkeypatch)
    monkeypatch.setattr(datasets, "faults", lambda split=None: [])
    write_icons(tmp_path / "icons/free", ("acme", "microsoft", "openmoji-black"))
    monkeypatch.setattr(icon_parts, "icons_folder", lambda: tmp_path / "icons")
    monkeypatch.setattr(icon_parts, "set_faults", lambda name: [])
    for net in ("wrn_40_2", "wrn_16_4"):
        monkeypatch.setitem(NETS._objects, net, make_narrower)
    write_cifar(tmp_path / "cifar-100-python", "python")
    monkeypatch.setattr(subtypes, "grocery_folder", lambda: tmp_path / "fetched")
    for number, one in enumerate(load("groceries_superclass").shift.types.values()):
        for kind in (*one.seen, *one.unseen):
            for part in ("train", "test"):
                add_folder(tmp_path / "fetched/fine" / part, kind, number, 1, part)
    monkeypatch.setitem(hardy.attack.__kwdefaults__, "steps", 2)
    digits = [one[: demonstration.TRAINED_ON + 10] for one in demonstration.digits()]
    monkeypatch.setattr(demonstration, "digits", lambda: digits)
    write_shifts(tmp_path / "natural.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_narrower(
    classes: int, halving: Halving = STRIDES, *, dropout: float = 0.0
) -> torch.nn.Module:
    """What stands for the nets that can be told to drop something out."""
    return make_narrow(classes, halving)


def write_shifts(path: Path) -> None:
    """Accuracies of six models on two suites by design and on ImageNet-R."""
    rows = [
        f"model {k},{suite},0.{70 + k},0.{40 + step * k}"
        for suite, step in (("imagenet_r", 2), ("even_1", 3), ("even_2", 1))
        for k in range(6)
    ]
    path.write_text("\n".join(["model,suite,clean,accuracy", *rows]) + "\n")


def with_options(words: list[str], options: dict[str, str]) -> None:
    for option, value in options.items():
        place = words.index(option) if option in words else len(words)
        words[place : place + 2] = [option, value]


def run_command(line: str) -> None:
    if line == "make demo":
        line = "hardy demo"
    for said, meant in SMALLER.items():
        line = line.replace(said, meant)
    _, *words = shlex.split(line, comments=True)
    if words[0] == "design":
        # Trained nets' overlaps; after one step on a few images none is defined.
        shutil.copy(ROOT / "results" / words[1], words[1])
    for word in words[:]:
        with_options(words, SHORTER.get(word, {}))
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, f"{line}\n{done.output}{done.exception!r}"


def test_the_pages_run_in_order(folder) -> None:
    """As somebody would who reads them one after the other and types all of it."""
    names: dict[str, Any] = {}
    typed: set[str] = set()
    for name in in_order():
        left_out = not_run(name) | run_elsewhere(name)
        for language, text in blocks(name):
            if language == "python" and name not in PROGRAMS:
                exec(compile(text, name, "exec"), names)
            elif language == "bash" and text not in left_out:
                for line in text.splitlines():
                    if line.startswith(RUN) and line not in (*typed, INSTALLED):
                        typed.add(line)
                        run_command(line)
    names["image"] = np.asarray(names["photo"])
    names["images"] = np.stack([names["image"]] * 2)
    for line in here_column("docs/coming-from.md"):
        if not line.startswith("hardy "):
            exec(line, names)
        elif line not in typed:
            run_command(line)
    assert names["foggy"].size == (224, 224)
    assert names["noisy"].shape == (1, 224, 224, 3)
    assert (folder / "sheet.png").stat().st_size > 100_000
    with Image.open(folder / "foggy.png") as foggy:
        assert foggy.size == (300, 240)
    runs = find_runs(folder / "runs")
    assert sorted((run.suite, run.model) for run in runs) == [
        ("apart", "hardy:augmix"),
        ("cifar10_c", "fake:10"),  # a sample, and then a larger one
        ("cifar10_c", "fake:10:1"),  # another, of both
        ("cifar10_c", "hardy:augmix"),
        ("cifar10_c", "hardy:augmix+bn_adapt:16 (adapted)"),
        ("cifar10_c", "hardy:tuned"),
        ("icons50_style", "hardy:no-black"),
        ("icons50_style", "hardy:no-microsoft"),
        ("icons50_subtype", "hardy:no-subtypes"),
        ("imagenet_a", "torchvision:resnet50"),
        ("imagenet_c", "fake:1000"),
        ("imagenet_c", "onnx:model.onnx"),
        ("imagenet_c", "onnx:model.onnx+clahe"),
        ("imagenet_c", "torchvision:resnet18"),
        ("imagenet_c_bar", "onnx:model.onnx"),
        ("imagenet_noc", "onnx:model.onnx"),
        ("imagenet_o", "torchvision:resnet50"),
        ("imagenet_p", "onnx:model.onnx"),
        ("imagenet_r", "torchvision:resnet50"),
        ("imagenet_real", "torchvision:resnet50"),
        ("imagenet_subtypes", "linear:probe.safetensors"),
        ("imagenet_v2", "torchvision:resnet50"),
    ]
    assert len(list(folder.glob("runs/**/attack-ant-*.json"))) == 1


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
    monkeypatch.setattr(METHODS, "_objects", dict(METHODS._objects))
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
