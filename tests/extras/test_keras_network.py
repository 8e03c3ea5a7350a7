"""EfficientNet-Lite0 as a file of Keras: the predictions of torch, on twenty photographs."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if find_spec("keras") is None:
    pytest.skip("needs keras: make test-extras", allow_module_level=True)
os.environ.setdefault("KERAS_BACKEND", "torch")  # before it is imported
import keras
from keras import layers

from hardy.models import load_model
from tests.models.test_one_network import example, expected, photographs

__all__ = ["example", "expected", "photographs"]
pytestmark = pytest.mark.filterwarnings("default")


def convolved(given: Any, conv: Any, norm: Any, active: bool = True) -> Any:
    """A convolution, batch norm and ReLU6, with the weights of torch's."""
    how = {"strides": conv.stride[0], "padding": "same", "use_bias": False}
    kernel = conv.weight.detach().numpy().transpose(2, 3, 1, 0)  # height, width, in, out
    if conv.groups > 1:
        layer = layers.DepthwiseConv2D(conv.kernel_size, **how)
        kernel = kernel.transpose(0, 1, 3, 2)
    else:
        layer = layers.Conv2D(conv.out_channels, conv.kernel_size, **how)
    normalised = layers.BatchNormalization(epsilon=norm.eps)
    made = normalised(layer(given))
    layer.set_weights([kernel])
    figures = (norm.weight, norm.bias, norm.running_mean, norm.running_var)
    normalised.set_weights([one.detach().numpy() for one in figures])
    return layers.ReLU(6.0)(made) if active else made


def as_keras(network: Any, how: dict[str, Any]) -> Any:
    given = keras.Input((how["size"], how["size"], 3))
    scale, offset = 1 / (255 * how["std"][0]), -how["mean"][0] / how["std"][0]
    x = layers.Rescaling(scale, offset)(given)
    x = convolved(x, network._conv_stem, network._bn0)
    for block in network._blocks:
        before = x
        if block._block_args.expand_ratio != 1:
            x = convolved(x, block._expand_conv, block._bn0)
        x = convolved(x, block._depthwise_conv, block._bn1)
        x = convolved(x, block._project_conv, block._bn2, active=False)
        if block._block_args.stride == 1 and before.shape == x.shape:
            x = layers.Add()([x, before])
    x = layers.GlobalAveragePooling2D()(convolved(x, network._conv_head, network._bn1))
    head = layers.Dense(1000, activation="softmax")
    made = keras.Model(given, head(x))
    head.set_weights([network._fc.weight.detach().numpy().T, network._fc.bias.detach().numpy()])
    return made


def test_the_same_predictions(
    example: Any, photographs: Any, expected: Any, tmp_path: Path
) -> None:
    images, _ = photographs
    own = as_keras(example.model(), example.PREPROCESSING)
    own.save(tmp_path / "lite0.keras")
    model = load_model(f"keras:{tmp_path / 'lite0.keras'}")
    assert "0..255, as its own Rescaling prepares them" in str(model.preprocessing)
    logits = model.logits(images)
    assert (logits.argmax(axis=1) == expected.argmax(axis=1)).all()
    np.testing.assert_allclose(logits, expected, atol=1e-3)
    shares = own.predict(images.astype(np.float32), verbose=0)
    softmax = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(softmax / softmax.sum(axis=1, keepdims=True), shares, atol=1e-4)
