"""Networks of the zoo a second time, in NumPy, as TensorFlow has them: NHWC, kernels HWIO.

They take the weights by the names and in the forms of their packages, before any conversion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Weights = dict[str, Floats]


def windows(pixels: Floats, kernel: int, stride: int, pad: int | str) -> Floats:
    """(N, H, W, C, kernel, kernel)."""
    sides = []
    for side in pixels.shape[1:3]:
        if pad == "same":  # by TensorFlow's documentation
            total = max(kernel - (side % stride or stride), 0)
            sides.append((total // 2, total - total // 2))
        else:
            sides.append((int(pad), int(pad)))
    padded = np.pad(pixels, [(0, 0), *sides, (0, 0)])
    return sliding_window_view(padded, (kernel, kernel), (1, 2))[:, ::stride, ::stride]


def conv(pixels: Floats, kernel: Floats, stride: int = 1, pad: int | str = "same") -> Floats:
    seen = windows(pixels, kernel.shape[0], stride, pad)
    return np.tensordot(seen, kernel, ((3, 4, 5), (2, 0, 1)))


def depthwise(pixels: Floats, kernel: Floats, stride: int) -> Floats:
    seen = windows(pixels, kernel.shape[0], stride, "same")
    return np.einsum("nhwcij,ijc->nhwc", seen, kernel)


def relu(values: Floats) -> Floats:
    return np.maximum(values, 0)


def relu6(values: Floats) -> Floats:
    return np.clip(values, 0, 6)


def sigmoid(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-values))


def swish(values: Floats) -> Floats:
    return values * sigmoid(values)


def resnet(weights: Weights, blocks: Sequence[int], pixels: Floats) -> Floats:
    """`pixels` is blue first, less Caffe's mean."""

    def normed(values: Floats, place: str, stride: int = 1, pad: int | str = 0) -> Floats:
        stem = place == "conv1"
        conv_name, norm = (place, "bn_conv1") if stem else (f"res{place}", f"bn{place}")
        out = conv(values, weights[f"{conv_name}/kernel"], stride, pad)
        out = out + weights[f"{conv_name}/bias"]
        gamma, beta, mean, variance = (
            weights[f"{norm}/{part}"]
            for part in ("gamma", "beta", "moving_mean", "moving_variance")
        )
        return (out - mean) / np.sqrt(variance + np.float32(1e-3)) * gamma + beta

    found = relu(normed(pixels, "conv1", 2, 3))
    found = windows(found, 3, 2, 1).max((4, 5))
    for stage, repeats in enumerate(blocks, 2):
        for letter in "abcdef"[:repeats]:
            name, stride = f"{stage}{letter}_branch", 2 if letter == "a" and stage > 2 else 1
            short = normed(found, f"{name}1", stride) if letter == "a" else found
            inner = relu(normed(found, f"{name}2a", stride))
            inner = relu(normed(inner, f"{name}2b", 1, "same"))
            found = relu(normed(inner, f"{name}2c") + short)
    return found.mean((1, 2)) @ weights["fc1000/kernel"] + weights["fc1000/bias"]


def mobilenet(weights: Weights, strides: Sequence[int], pixels: Floats) -> Floats:
    """`weights` has TensorFlow Lite's forms; all 1,001 logits come out."""
    inner = "MobilenetV1/MobilenetV1/Conv2d_"
    outer = "MobilenetV1/Conv2d_"

    def along(values: Floats, kernel: Floats, bias: Floats, stride: int = 1) -> Floats:
        return conv(values, kernel.transpose(1, 2, 3, 0), stride) + bias

    stem = (weights[f"{outer}0/weights"], weights[f"{inner}0/convolution_bias"])
    found = relu6(along(pixels, *stem, 2))
    for place, stride in enumerate(strides, 1):
        across = weights[f"{outer}{place}_depthwise/depthwise_weights"][0]
        bias = weights[f"{inner}{place}_depthwise/depthwise_bias"]
        found = relu6(depthwise(found, across, stride) + bias)
        kernel = weights[f"{outer}{place}_pointwise/weights"]
        found = relu6(along(found, kernel, weights[f"{inner}{place}_pointwise/convolution_bias"]))
    last = "MobilenetV1/Logits/Conv2d_1c_1x1"
    head = weights[f"{last}/weights"][:, 0, 0]
    return found.mean((1, 2)) @ head.T + weights[f"{last}/convolution_bias"]


def squeezenet(weights: dict[str, list[Floats]], pixels: Floats) -> Floats:
    """`pixels` is blue first, less Caffe's mean."""

    def bent(values: Floats, name: str, stride: int = 1) -> Floats:
        kernel, bias = weights[name]
        return relu(conv(values, kernel, stride) + bias)

    found = bent(pixels, "conv1", 2)
    for number in range(2, 10):
        if number in (2, 4, 6):
            found = windows(found, 3, 2, 0).max((4, 5))
        squeezed = bent(found, f"fire{number}/squeeze1x1")
        wide = [bent(squeezed, f"fire{number}/expand{size}") for size in ("1x1", "3x3")]
        found = np.concatenate(wide, -1)
    return bent(found, "conv10").mean((1, 2))


def efficientnet(
    weights: Weights, stages: Sequence[tuple[int, int, int, int, int]], pixels: Floats
) -> Floats:
    """`stages` has (repeats, kernel, stride, expansion, outputs)."""
    unnamed = iter(
        [weights[name] for name in sorted(weights, key=_number) if name.startswith("Func/")]
    )

    def normed(values: Floats, name: str, stride: int = 1) -> Floats:
        kind = "depthwise" if "depthwise" in name else "Conv2D"
        place = f"StatefulPartitionedCall/model/{name}/{kind}"
        kernel, bias = weights[f"{place}_weights"], weights[f"{place}_bn_offset"]
        if kind == "depthwise":
            return depthwise(values, kernel[..., 0], stride) + bias
        return conv(values, kernel, stride) + bias

    found = swish(normed(pixels, "stem_conv2d", 2))
    for number, (repeats, _, stride, expansion, _) in enumerate(stages):
        for place in range(repeats):
            name, before = f"stack_{number}/block_{place}/", found
            if expansion != 1:
                found = swish(normed(found, f"{name}expand_conv2d"))
            step = 1 if place else stride
            found = swish(normed(found, f"{name}depthwise_conv2d", step))
            means = found.mean((1, 2), keepdims=True)
            means = swish(conv(means, next(unnamed)) + next(unnamed))
            found = found * sigmoid(conv(means, next(unnamed)) + next(unnamed))
            found = normed(found, f"{name}project_conv2d")
            if step == 1 and before.shape == found.shape:
                found = found + before
    top = swish(normed(found, "top_conv2d")).mean((1, 2))
    return top @ next(unnamed) + next(unnamed)


def _number(name: str) -> int:
    last = name.rpartition("_")[2]
    return int(last) if last.isdecimal() else -1
