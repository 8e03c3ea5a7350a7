"""Folders as `save_pretrained` writes them, of tiny classifiers with weights by chance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.utils import logging

logging.disable_progress_bar()

IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
HALF = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}


def resnet(classes: int = 5) -> Any:
    """It takes images of any size."""
    return transformers.ResNetForImageClassification(
        transformers.ResNetConfig(
            embedding_size=8,
            hidden_sizes=[8, 16],
            depths=[1, 1],
            layer_type="basic",
            num_labels=classes,
        )
    )


def vit(classes: int = 5, size: int = 32) -> Any:
    return transformers.ViTForImageClassification(
        transformers.ViTConfig(
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            image_size=size,
            patch_size=8,
            num_labels=classes,
        )
    )


def convnext(classes: int = 5) -> Any:
    return transformers.ConvNextForImageClassification(
        transformers.ConvNextConfig(
            num_stages=2, hidden_sizes=[8, 16], depths=[1, 1], num_labels=classes
        )
    )


def save(
    folder: Path,
    make: Any = resnet,
    labels: list[str] | None = None,
    processor: str | None = "ViTImageProcessor",
    **settings: Any,
) -> Path:
    state = torch.random.get_rng_state()
    torch.manual_seed(0)
    module = make(5 if labels is None else len(labels))
    torch.random.set_rng_state(state)
    with torch.no_grad():  # so that classes are told apart
        for name, tensor in module.named_parameters():
            if name.startswith("classifier"):
                tensor.mul_(20)
    if labels is not None:
        module.config.id2label = dict(enumerate(labels))
        module.config.label2id = {label: place for place, label in enumerate(labels)}
    module.save_pretrained(folder)
    if processor is not None:
        named = {"image_processor_type": processor} if processor else {}
        said = {**named, **settings}
        (folder / "preprocessor_config.json").write_text(json.dumps(said))
    return folder


def by_the_library(folder: Path, image: Any, backend: str = "pil") -> Any:
    """The logits of one image by the library's own classes."""
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend=backend)
    module = transformers.AutoModelForImageClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return module(**processor(image, return_tensors="pt")).logits.numpy()


def of_pixels(folder: Path, pixels: Any) -> Any:
    """The logits of prepared pixels, (N, H, W, 3), by the library's own class."""
    module = transformers.AutoModelForImageClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return module(
            torch.tensor(pixels.transpose(0, 3, 1, 2), dtype=torch.float32)
        ).logits.numpy()


def pixels_of_library(folder: Path, image: Any, backend: str = "pil") -> Any:
    """Its bytes after resizing and cropping, (H, W, 3)."""
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend=backend)
    plain = {"do_rescale": False, "do_normalize": False, "return_tensors": "np"}
    found = processor(image, **plain)["pixel_values"]
    return found[0].transpose(1, 2, 0)
