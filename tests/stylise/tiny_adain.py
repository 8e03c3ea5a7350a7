"""A narrow AdaIN, pictures of styles, and sets of images, on which stylising takes no time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from hardy.models.weight_files import packed
from hardy.stylise import dressing, style_pictures, style_weights
from hardy.stylise.adain import AdaIN


class TinyAdaIN(AdaIN):
    encoder_widths = ((3, 4, 4), (4, 6, 6), (6, 8, 8, 8, 8), (8, 10))
    decoder_widths = ((10, 8), (8, 8, 8, 8, 6), (6, 6, 4), (4, 4, 3))


def random_net() -> TinyAdaIN:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = TinyAdaIN()
        with torch.no_grad():
            for name, weight in net.named_parameters():
                if name.endswith("weight"):  # features that do not fade on their way
                    weight.mul_(2.0)
            net.decoder[-1].bias.fill_(0.5)
    return net.eval()


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Weights of the narrow net, which is now the net; images pass it at 16 pixels."""
    path = tmp_path / "tiny.safetensors"
    write_tiny(path, monkeypatch)
    return path


def use_tiny(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The narrow net is that which was fetched."""
    write_tiny(folder / "adain.safetensors", monkeypatch)
    monkeypatch.setattr(style_weights, "fetch_adain", lambda: folder)


def write_tiny(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style_weights, "AdaIN", TinyAdaIN)
    for module in (dressing, style_pictures):
        monkeypatch.setattr(module, "SIDE", 16)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(packed(random_net().state_dict(), {}, path))


def write_pictures(folder: Path, count: int, height: int = 20, width: int = 30) -> Path:
    """Noise, each picture in its own colour."""
    folder.mkdir(parents=True, exist_ok=True)
    draws = np.random.default_rng(7)
    for number in range(count):
        pixels = draws.integers(0, 128, (height, width, 3)) + draws.integers(0, 128, 3)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number:02}.png")
    return folder


def write_classes(folder: Path, each: int = 2) -> Path:
    for name in ("cat", "dog", "owl"):
        write_pictures(folder / name, each, 10, 12)
    return folder
