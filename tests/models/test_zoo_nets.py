"""Networks of the zoo on made-up weights: what conversion gives is what the package's net gives."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hardy.errors import InputError
from hardy.models.adapters.torch_model import prepared
from hardy.models.zoo import ZOO
from hardy.models.zoo.efficientnets import EfficientNetB0, EfficientNetLite, _Stage
from hardy.models.zoo.foreign_tensors import pickled_arrays, tensorflow_js, tensorflow_lite
from hardy.models.zoo.mobilenet import MobileNetV1
from hardy.models.zoo.resnet50 import ResNet50
from hardy.models.zoo.same_padding import SameConv2d
from hardy.models.zoo.squeezenet import SqueezeNet
from tests.models import plain_nets
from tests.photos import photos, random_images

CAFFE = np.array([103.939, 116.779, 123.68], np.float32)
STAGES = (_Stage(1, 3, 1, 1, 16), _Stage(2, 5, 2, 6, 24), _Stage(1, 3, 1, 6, 24))


class Drawn:
    """Random weights of given shapes, of a size that keeps values in bounds."""

    def __init__(self) -> None:
        self.draws = np.random.default_rng(7)

    def kernel(self, *shape: int, inputs: int) -> NDArray[np.float32]:
        return (self.draws.normal(0, (2 / inputs) ** 0.5, shape)).astype(np.float32)

    def bias(self, number: int) -> NDArray[np.float32]:
        return self.draws.normal(0, 0.1, number).astype(np.float32)

    def positive(self, number: int) -> NDArray[np.float32]:
        return self.draws.uniform(0.5, 1.5, number).astype(np.float32)

    def conv(self, height: int, inputs: int, outputs: int) -> NDArray[np.float32]:
        return self.kernel(height, height, inputs, outputs, inputs=height * height * inputs)


def tfjs_files(weights: Mapping[str, NDArray[np.float32]]) -> dict[str, bytes]:
    """A folder of TensorFlow.js: in no particular order, with a whole number among them, and cut
    in the middle of a value."""
    names = sorted(weights, key=lambda name: name[::-1])
    listed = [{"name": n, "shape": weights[n].shape, "dtype": "float32"} for n in names]
    listed.insert(1, {"name": "axes", "shape": [2], "dtype": "int32"})
    parts = [weights[name].tobytes() for name in names]
    parts.insert(1, np.array([1, 2], np.int32).tobytes())
    content = b"".join(parts)
    paths = ["group1-shard1of2.bin", "group1-shard2of2.bin"]
    manifest = {"weightsManifest": [{"paths": paths, "weights": listed}]}
    return {
        f"package/net/{paths[1]}": content[1001:],
        "package/net/model.json": json.dumps(manifest).encode(),
        f"package/net/{paths[0]}": content[:1001],
    }


def outputs(net: torch.nn.Module, files: Mapping[str, bytes], name: str, images) -> NDArray:
    """Logits of the converted network on images as Hardy prepares them for the zoo's of a name."""
    arrays = net.converted(files)
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
    own = net.state_dict()
    counts = {name: own[name] for name in own if name.endswith("num_batches_tracked")}
    net.load_state_dict({**tensors, **counts})
    preprocessing = ZOO[name].preprocessing
    assert preprocessing.size is not None
    shown = torch.from_numpy(np.array(images))
    with torch.inference_mode():
        pixels = (shown.permute(0, 3, 1, 2) / 255 - _column(preprocessing.mean)) / _column(
            preprocessing.std
        )
        if images.shape[1] == preprocessing.size:
            torch.testing.assert_close(pixels, prepared(shown, preprocessing))
        return net.eval()(pixels).numpy()


def _column(figures: tuple[float, ...]) -> torch.Tensor:
    return torch.tensor(figures).view(1, 3, 1, 1)


def caffe(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    return images[..., ::-1].astype(np.float32) - CAFFE


@pytest.mark.parametrize("side", [32, 33, 224])
def test_resnet(side: int) -> None:
    drawn, width, blocks = Drawn(), 2, (1, 2, 1, 1)
    weights = {}

    def normed(conv: str, norm: str, height: int, inputs: int, outputs: int) -> None:
        weights[f"{conv}/kernel"] = drawn.conv(height, inputs, outputs)
        weights[f"{conv}/bias"] = drawn.bias(outputs)
        for part in ("gamma", "moving_variance"):
            weights[f"{norm}/{part}"] = drawn.positive(outputs)
        for part in ("beta", "moving_mean"):
            weights[f"{norm}/{part}"] = drawn.bias(outputs)

    normed("conv1", "bn_conv1", 7, 3, width)
    inputs = width
    for stage, repeats in enumerate(blocks):
        inner = width * 2**stage
        for letter in "ab"[:repeats]:
            place = f"{stage + 2}{letter}_branch"
            for branch, height, comes, goes in (
                ("2a", 1, inputs, inner),
                ("2b", 3, inner, inner),
                ("2c", 1, inner, 4 * inner),
                *([("1", 1, inputs, 4 * inner)] if letter == "a" else []),
            ):
                normed(f"res{place}{branch}", f"bn{place}{branch}", height, comes, goes)
            inputs = 4 * inner
    weights["fc1000/kernel"] = drawn.kernel(inputs, 1000, inputs=inputs)
    weights["fc1000/bias"] = drawn.bias(1000)
    images = photos(side)[:2]
    ours = outputs(ResNet50(blocks, width), tfjs_files(weights), "resnet50", images)
    theirs = plain_nets.resnet(weights, blocks, caffe(images))
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * np.abs(theirs).max())
    assert np.ptp(theirs) > 1


@pytest.mark.parametrize("side", [32, 45, 224])
def test_efficientnet_b0(side: int) -> None:
    drawn, weights, number = Drawn(), {}, 7

    def graph(name: str, height: int, inputs: int, outputs: int) -> None:
        place = f"StatefulPartitionedCall/model/{name}/Conv2D"
        weights[f"{place}_weights"] = drawn.conv(height, inputs, outputs)
        weights[f"{place}_bn_offset"] = drawn.bias(outputs)

    def unnamed(array: NDArray[np.float32]) -> None:
        nonlocal number
        number += 31  # _100 comes after _69, not before it
        weights[f"Func/StatefulPartitionedCall/input/_{number}"] = array

    graph("stem_conv2d", 3, 3, 32)
    inputs = 32
    for place, stage in enumerate(STAGES):
        for repeat in range(stage.repeats):
            block, inner = f"stack_{place}/block_{repeat}", inputs * stage.expansion
            if stage.expansion != 1:
                graph(f"{block}/expand_conv2d", 1, inputs, inner)
            across = f"StatefulPartitionedCall/model/{block}/depthwise_conv2d/depthwise"
            size = stage.kernel
            weights[f"{across}_weights"] = drawn.kernel(size, size, inner, 1, inputs=size**2)
            weights[f"{across}_bn_offset"] = drawn.bias(inner)
            unnamed(drawn.conv(1, inner, inputs // 4))
            unnamed(drawn.bias(inputs // 4))
            unnamed(drawn.conv(1, inputs // 4, inner))
            unnamed(drawn.bias(inner))
            graph(f"{block}/project_conv2d", 1, inner, stage.outputs)
            inputs = stage.outputs
    graph("top_conv2d", 1, inputs, 1280)
    unnamed(drawn.kernel(1280, 1000, inputs=1280))
    unnamed(drawn.bias(1000))
    images = photos(side)[:2]
    ours = outputs(EfficientNetB0(STAGES), tfjs_files(weights), "efficientnet_b0", images)
    mean, std = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)  # as its graph has them
    pixels = ((images - np.array(mean)) / np.array(std)).astype(np.float32)
    theirs = plain_nets.efficientnet(weights, STAGES, pixels)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4 * np.abs(theirs).max())
    assert np.ptp(theirs) > 0.1


def mobilenet_weights() -> dict[str, NDArray[np.float32]]:
    drawn, weights = Drawn(), {}
    inner, outer = "MobilenetV1/MobilenetV1/Conv2d_", "MobilenetV1/Conv2d_"
    weights[f"{outer}0/weights"] = drawn.kernel(4, 3, 3, 3, inputs=27)
    weights[f"{inner}0/convolution_bias"] = drawn.bias(4)
    for place, (comes, goes) in enumerate(((4, 6), (6, 8)), 1):
        across = drawn.kernel(1, 3, 3, comes, inputs=9)
        weights[f"{outer}{place}_depthwise/depthwise_weights"] = across
        weights[f"{inner}{place}_depthwise/depthwise_bias"] = drawn.bias(comes)
        weights[f"{outer}{place}_pointwise/weights"] = drawn.kernel(goes, 1, 1, comes, inputs=comes)
        weights[f"{inner}{place}_pointwise/convolution_bias"] = drawn.bias(goes)
    last = "MobilenetV1/Logits/Conv2d_1c_1x1"
    weights[f"{last}/weights"] = drawn.kernel(1001, 1, 1, 8, inputs=8)
    weights[f"{last}/convolution_bias"] = drawn.bias(1001)
    return weights


@pytest.fixture
def tflite(tmp_path: Path) -> bytes:
    """A file of LiteRT's own writer, with the weights of a small MobileNet and no steps."""
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    from tests.models.tflite_files import Writer

    writer = Writer()
    writer.tensor("input", np.float32, [1, 32, 32, 3])  # it has no values
    for name, array in mobilenet_weights().items():
        writer.tensor(name, np.float32, list(array.shape), values=array)
    writer.tensor("shape", np.int32, [2], values=[-1, 1001])
    return writer.write(tmp_path / "net.tflite").read_bytes()


def test_tensorflow_lite_is_read_as_its_own_library_writes_it(tflite: bytes) -> None:
    found, expected = tensorflow_lite(tflite), mobilenet_weights()
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("side", [32, 33])
def test_mobilenet(tflite: bytes, side: int) -> None:
    images = photos(side)[:2]
    net = MobileNetV1(((6, 1), (8, 2)), first=4)
    ours = outputs(net, {"net.tflite": tflite}, "mobilenet_v1", images)
    theirs = plain_nets.mobilenet(
        mobilenet_weights(), (1, 2), (images / 127.5 - 1).astype(np.float32)
    )
    assert theirs.shape == (2, 1001)
    np.testing.assert_allclose(ours, theirs[:, 1:], rtol=1e-4, atol=1e-4)


def squeezenet_weights() -> dict[str, list[NDArray[np.float32]]]:
    drawn = Drawn()
    weights = {"conv1": [drawn.conv(3, 3, 4), drawn.bias(4)]}
    inputs = 4
    for number in range(2, 10):
        for part, height, comes, goes in (
            ("squeeze1x1", 1, inputs, 3),
            ("expand1x1", 1, 3, 5),
            ("expand3x3", 3, 3, 5),
        ):
            weights[f"fire{number}/{part}"] = [drawn.conv(height, comes, goes), drawn.bias(goes)]
        inputs = 10
    weights["conv10"] = [drawn.conv(1, 10, 1000), drawn.bias(1000)]
    return weights


@pytest.mark.parametrize("side", [64, 67])
def test_squeezenet(side: int) -> None:
    images, weights = photos(side)[:2], squeezenet_weights()
    files = {"weights.pkl": pickle.dumps(weights, protocol=3)}
    ours = outputs(SqueezeNet(((3, 5),) * 8, first=4), files, "squeezenet1_1", images)
    theirs = plain_nets.squeezenet(weights, caffe(images))
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * theirs.max())
    assert theirs.max() > 1


def test_a_pickle_that_names_more_than_arrays_is_refused() -> None:
    class Bad:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (pytest.fail, ("its code was run",))

    with pytest.raises(InputError, match=r"expected a pickle of arrays alone, got one that names "):
        pickled_arrays(pickle.dumps({"conv1": Bad()}))


def test_quantised_weights_of_tensorflow_js_are_refused() -> None:
    weight = {"name": "a", "shape": [1], "dtype": "float32", "quantization": {"dtype": "uint8"}}
    manifest = {"weightsManifest": [{"paths": ["x"], "weights": [weight]}]}
    with pytest.raises(InputError, match=r"a: expected plain float32 in TensorFlow\.js"):
        tensorflow_js({"p/model.json": json.dumps(manifest).encode(), "p/x": b"\0"})


def test_lite_takes_all_of_its_file() -> None:
    """Names are put into others, one to one; the slow test compares values with its own code."""
    net = EfficientNetLite(1.1, 1.2, STAGES)
    assert [one.repeats for one in net.stages] == [1, 3, 1], "not the first nor the last"
    assert [one.outputs for one in net.stages] == [16, 24, 24]
    theirs: dict[str, torch.Tensor] = {}
    for conv, norm, name in net._names():
        part = net.get_submodule(name)
        theirs[f"{conv}.weight"] = torch.randn_like(part[0].weight)
        for stat in ("weight", "bias", "running_mean", "running_var"):
            theirs[f"{norm}.{stat}"] = torch.rand_like(getattr(part[1], stat)) + 0.5
    theirs["_fc.weight"], theirs["_fc.bias"] = torch.randn(1000, 1280), torch.randn(1000)
    stream = io.BytesIO()
    torch.save(theirs, stream)
    found = outputs(
        net, {"net.pth": stream.getvalue()}, "efficientnet_lite2", random_images(2, 32, 32)
    )
    assert found.shape == (2, 1000)
    assert np.isfinite(found).all()
    assert torch.equal(net.blocks[1].expand[1].running_var, theirs["_blocks.1._bn0.running_var"])
    assert torch.equal(net.blocks[0].project[0].weight, theirs["_blocks.0._project_conv.weight"])


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("side", [6, 7, 8, 9])
def test_padding_as_tensorflows_same(side: int, kernel: int, stride: int) -> None:
    layer = SameConv2d(2, 3, kernel, stride)
    pixels = np.random.default_rng(0).normal(size=(1, side, side + 1, 2)).astype(np.float32)
    with torch.inference_mode():
        ours = layer(torch.from_numpy(pixels).permute(0, 3, 1, 2)).permute(0, 2, 3, 1).numpy()
        weights = layer.weight.permute(2, 3, 1, 0).numpy()
        theirs = plain_nets.conv(pixels, weights, stride) + layer.bias.numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
