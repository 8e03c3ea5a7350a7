"""The pages a user reads, and the files that their commands speak of."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from PIL import Image

from tests.page_sets import VALIDATION, WNIDS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The reason why no test runs a block stands above it.
NOT_RUN = re.compile(r"^<!-- not run: ([^\n]+) -->\n```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Or the target of the Makefile whose tests run it.
RUN_BY = re.compile(r"^<!-- run by: ([^\n]+) -->\n```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Pages that are on the site though they lie outside docs/.
OUTSIDE = (
    *("CONTRIBUTING.md", "SECURITY.md"),
    *("results/cifar10.md", "results/icons50.md", "results/overlap/README.md"),
)
# A test of its own installs the package that has this method.
INSTALLED = "hardy train cutout --set size=8 --data cifar10 --out cutout"
ROW = re.compile(r"^\| \[[^\]]*\]\((\w[\w-]*\.md)\)", re.MULTILINE)


def page(name: str) -> str:
    """A page by its path from the root of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def in_order() -> list[str]:
    """README and the pages of docs/ in the order of their index, which is how one reads them."""
    return ["README.md", *(f"docs/{name}" for name in ROW.findall(INDEX))]


def blocks(name: str) -> list[tuple[str, str]]:
    """(language, text) of each fenced block."""
    return BLOCK.findall(page(name))


def not_run(name: str) -> dict[str, str]:
    """Why no test runs a block of commands, by its text."""
    return {text: reason for reason, text in NOT_RUN.findall(page(name))}


def run_elsewhere(name: str) -> dict[str, str]:
    """Which target's tests run a block of commands, by its text."""
    return {text: target for target, text in RUN_BY.findall(page(name))}


def blocks_run_by(target: str) -> list[tuple[str, str]]:
    """(page, text) of each block that the tests of this target run, on all pages."""
    return [
        (name, text)
        for name in (*in_order(), *OUTSIDE)
        for text, where in run_elsewhere(name).items()
        if where == target
    ]


def commands(name: str) -> list[str]:
    """The lines of all blocks of commands but those that are run elsewhere, or not at all."""
    left_out = not_run(name) | run_elsewhere(name)
    return [
        line
        for language, text in blocks(name)
        for line in text.splitlines()
        if language == "bash" and text not in left_out
    ]


def here_column(name: str) -> list[str]:
    """What the last column of the page's tables says to type."""
    return re.findall(r"^\|.*\| `([^`|]+)` \|$", page(name), re.MULTILINE)


def with_options(words: list[str], options: dict[str, str]) -> None:
    for option, value in options.items():
        place = words.index(option) if option in words else len(words)
        words[place : place + 2] = [option, value]


def make_files(folder: Path) -> None:
    """What the pages call photo.jpg, photos, paintings, imagenet, coco, cityscapes, fruit, shop,
    net.py, its weights of two epochs and model.onnx; CIFAR-10 in `kept`."""
    draws = np.random.default_rng(0)
    noise = draws.integers(0, 256, (240, 300, 3)).astype(np.uint8)
    Image.fromarray(noise).save(folder / "photo.jpg")
    for name in ("photos", "paintings"):
        (folder / name).mkdir(parents=True)
        Image.fromarray(noise).save(folder / name / f"{name[-4:]}.jpg")
    for number, wnid in enumerate(WNIDS, 1):
        for file in (f"val/{wnid}/{VALIDATION.format(number)}", f"train/{wnid}/{wnid}_0.JPEG"):
            (folder / "imagenet" / file).parent.mkdir(parents=True)
            Image.fromarray(noise).save(folder / "imagenet" / file, "JPEG")
    for name in ("coco/val2017/000000000139.jpg", "cityscapes/leftImg8bit/val/ulm.png"):
        (folder / name).parent.mkdir(parents=True)
        Image.fromarray(noise).save(folder / name)
    for name in ("apples", "pears", "plums"):
        (folder / "fruit" / name).mkdir(parents=True)
        Image.fromarray(noise).save(folder / "fruit" / name / "image_0001.jpg")
    for name in ("train/apples", "train/pears", "test/apples", "test/pears"):
        (folder / "shop" / name).mkdir(parents=True)
        for number in range(2):
            Image.fromarray(noise[number:]).save(folder / "shop" / name / f"{number}.jpg")
    (folder / "net.py").write_text(
        next(code for _, code in blocks("docs/start.md") if "def make()" in code)
    )
    write_epochs(folder)
    write_classifier(folder / "model.onnx")
    (folder / "kept").mkdir()
    for split in ("train", "test"):
        images = draws.integers(0, 256, (20, 32, 32, 3)).astype(np.uint8)
        np.save(folder / f"kept/{split}_images.npy", images)
        np.save(folder / f"kept/{split}_labels.npy", np.arange(20, dtype=np.uint8) % 10)


def write_epochs(folder: Path) -> None:
    """Weights of net.py, which the second epoch has not changed."""
    import torch

    weights = {"2.weight": torch.eye(3), "2.bias": torch.zeros(3)}
    for number in (1, 2):
        torch.save(weights, folder / f"epoch{number}.pt")


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


INDEX = page("docs/README.md")
