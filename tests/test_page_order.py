"""The commands of the pages run, one page after the other."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import hardy
from hardy import cli, demonstration
from hardy.files import write_file
from hardy.images import datasets, subtypes
from hardy.images.icons50 import icon_parts
from hardy.models.weight_files import packed
from hardy.models.zoo import ZOO, keeping
from hardy.store.reader import find_runs
from hardy.suites import load
from hardy.train import NETS
from hardy.train.blurpool import STRIDES, Halving
from tests.icons import write_icons
from tests.page_sets import use_torchvision, write_natural_shifts, write_subtypes
from tests.pages import (
    INSTALLED,
    ROOT,
    blocks,
    here_column,
    in_order,
    make_files,
    not_run,
    run_elsewhere,
    with_options,
)
from tests.run.subtype_sets import add_folder, write_cifar
from tests.stylise.tiny_adain import use_tiny
from tests.train.small import make_narrow

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
# What a shell puts into a command.
SHELL = {"$(git rev-parse --short HEAD)": "5d6e7f8"}
# Tests of their own run the Python of all but the last, which has signatures; tests/extras has two.
PROGRAMS = (
    "docs/torch.md",
    "docs/training.md",
    "docs/training-loop.md",
    "docs/other-models.md",
    "docs/reference.md",
)
RUN = ("hardy ", "make demo")


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


def run_command(line: str) -> None:
    if line == "make demo":
        line = "hardy demo"
    for said, meant in (SMALLER | SHELL).items():
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
