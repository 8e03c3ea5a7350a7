"""A small model of Keras, and photographs for it. This file imports keras."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("KERAS_BACKEND", "torch")  # before it is imported
import keras
from keras import layers

from tests.photos import photos

SIDE = 32
PHOTOS = photos(SIDE)
RESCALING = layers.Rescaling(1 / 127.5, offset=-1)


def small(
    *first: Any, head: str | None = "softmax", last: tuple[Any, ...] = (), loud: bool = False
) -> Any:
    """Six layers with weights that are neither zero nor one, batch norm's among them; `loud`: its
    pixels are in units of 0..255."""
    keras.utils.set_random_seed(3)
    body = [
        layers.Conv2D(6, 3, strides=2, padding="same"),
        layers.BatchNormalization(),
        layers.ReLU(),
        layers.Dropout(0.5),
        layers.GlobalAveragePooling2D(),
        layers.Dense(7, activation=head, bias_initializer="normal"),
    ]
    model = keras.Sequential([keras.Input((SIDE, SIDE, 3)), *first, *body, *last])
    draws = np.random.default_rng(0)
    model.set_weights([np.abs(draws.normal(0.3, 0.4, one.shape)) for one in model.get_weights()])
    if loud:
        body[0].kernel.assign(body[0].kernel / 64)
    return model


def saved(model: Any, path: Path) -> str:
    model.save(path)
    return f"keras:{path}"
