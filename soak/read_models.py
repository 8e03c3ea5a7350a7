"""Models and their weights, read as commands read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.vision import import_torchvision


def read_onnx(path: Path) -> None:
    from hardy.models import load_model

    load_model(f"onnx:{path}")


def read_tflite(path: Path) -> None:
    """What Hardy itself reads of it: LiteRT, which runs it, dies over some damaged files."""
    from hardy.errors import door
    from hardy.models.adapters.tflite_file import ends_in_softmax, stated_normalisation

    with door(path):
        ends_in_softmax(path.read_bytes())
        stated_normalisation(path.read_bytes())


def read_state(path: Path) -> Any:
    import torch

    from hardy.models.weight_files import read_weights
    from hardy.models.weights import load_checkpoint

    read = read_weights(path, "take another")
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    load_checkpoint(net, path, "take another")
    return {name: tensor.numpy().tobytes() for name, tensor in sorted(read.items())}


def read_linear(path: Path) -> Any:
    from hardy.models.probe_files import read_probe

    found = read_probe(path)
    return found.weight.tobytes(), found.bias.tobytes(), found[2:]


def read_keras(path: Path) -> None:
    from hardy.models.adapters.keras_file import read_keras_file

    read_keras_file(path, trust=False)


def read_hf(path: Path) -> None:
    from hardy.models import load_model

    import_torchvision()
    load_model(f"hf:{path.parent}")


def read_image_text_model(path: Path) -> None:
    """Without what is kept of texts: it is fuzzed by itself."""
    from hardy.models import load_model, text_cache

    text_cache.text_cache = lambda: path.parent / "texts"
    names = (("apple",), ("sea_lion",))
    import_torchvision()
    load_model(f"clip:{path.parent}", classes=names, prompts="single")


def read_kept_texts(path: Path) -> Any:
    """What is kept of texts, or made anew where the file is damaged: the same, either way."""
    import numpy as np

    from hardy.models import text_cache

    text_cache.text_cache = lambda: path.parent
    made = np.eye(3, 8, dtype=np.float32)
    return text_cache.cached_features(path.stem, 3, lambda: made).tobytes()
