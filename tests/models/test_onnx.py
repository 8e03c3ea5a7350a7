import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from hardy.errors import HardyError, InputError
from hardy.models import Preprocessing, load_model
from hardy.models.calling import normalised, resized
from hardy.models.model import IMAGENET_MEAN, IMAGENET_STD
from tests.photos import random_images

IMAGES = random_images(7, 12, 12, seed=5)
WEIGHTS = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)


def write(path, shape=("n", 3, "h", "w"), kind=TensorProto.FLOAT, weights=WEIGHTS, **metadata):
    """Mean of each channel, times the weights."""
    last = shape[3] == 3
    nodes = [
        helper.make_node("Cast", ["pixels"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["floats"], ["x"], perm=[0, 3, 1, 2] if last else range(4)),
        helper.make_node("GlobalAveragePool", ["x"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("pixels", kind, shape)],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [shape[0], 4])],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata)
    onnx.save(model, path)
    return path


def by_hand(images, used):
    pixels = normalised(resized(images, used.size, used.interpolation), used)
    return pixels.mean(axis=(1, 2)) @ WEIGHTS


@pytest.mark.parametrize(
    "shape",
    [("n", 3, "h", "w"), (None, 3, 12, 12), ("n", "h", "w", 3), (3, 3, 12, 12), (10, 12, 12, 3)],
    ids=str,
)
@pytest.mark.parametrize("batch", ["auto", 2])
def test_layouts_and_batches(shape, batch, tmp_path):
    model = load_model(f"onnx:{write(tmp_path / 'm.onnx', shape)}", batch=batch)
    used = model.preprocessing
    assert (used.mean, used.std) == (IMAGENET_MEAN, IMAGENET_STD)
    assert "ImageNet's, since the file has no metadata" in str(used)
    out = model.logits(IMAGES)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, by_hand(IMAGES, used), rtol=1e-4, atol=1e-5)
    assert model.logits(IMAGES[:1]).shape == (1, 4)


def test_preprocessing_from_metadata(tmp_path):
    figures = {"mean": "[0.1, 0.2, 0.3]", "std": "0.4 0.5 0.6", "size": "20"}
    path = write(tmp_path / "m.onnx", **figures, interpolation="bicubic")
    model = load_model(f"onnx:{path}")
    used = Preprocessing((0.1, 0.2, 0.3), (0.4, 0.5, 0.6), 20, "bicubic")
    assert model.preprocessing == used
    assert "the file's metadata" in str(model.preprocessing)
    np.testing.assert_allclose(model.logits(IMAGES), by_hand(IMAGES, used), rtol=1e-4, atol=1e-5)
    other = Preprocessing((0, 0, 0), (1, 1, 1))
    assert load_model(f"onnx:{path}", preprocessing=other).preprocessing == other
    np.testing.assert_allclose(
        model.logits(IMAGES, other), by_hand(IMAGES, other), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("metadata", [{"mean": "0.5", "std": "1 1 1"}, {"size": "big"}])
def test_metadata_that_makes_no_sense(metadata, tmp_path):
    with pytest.raises(InputError, match=r"m\.onnx.*metadata"):
        load_model(f"onnx:{write(tmp_path / 'm.onnx', **metadata)}")


def test_a_fixed_size_is_met_by_resizing(tmp_path):
    model = load_model(f"onnx:{write(tmp_path / 'm.onnx', (2, 3, 20, 20))}")
    assert model.preprocessing.size == 20
    expected = by_hand(IMAGES, model.preprocessing)
    np.testing.assert_allclose(model.logits(IMAGES), expected, rtol=1e-4, atol=1e-5)


def test_bytes_go_in_as_they_are(tmp_path):
    model = load_model(f"onnx:{write(tmp_path / 'm.onnx', ('n', 12, 12, 3), TensorProto.UINT8)}")
    assert model.preprocessing is None
    expected = IMAGES.mean(axis=(1, 2)) @ WEIGHTS
    np.testing.assert_allclose(model.logits(IMAGES), expected, rtol=1e-4)
    with pytest.raises(
        InputError, match="expected images of 12 x 12, got width 12, height 9; export it with"
    ):
        model.logits(IMAGES[:, :9])


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.UINT8])
def test_a_read_only_array_is_fine(kind, tmp_path):
    images = IMAGES.copy()
    images.setflags(write=False)
    model = load_model(f"onnx:{write(tmp_path / 'm.onnx', ('n', 12, 12, 3), kind)}")
    np.testing.assert_array_equal(model.logits(images), model.logits(IMAGES))


@pytest.mark.parametrize("shape", [("n", 1, 12, 12), ("n", 12, 12, 4), ("n", 4, "h", "w")])
def test_channels_are_checked_at_once(shape, tmp_path):
    with pytest.raises(InputError, match=r"expected one input of .*\(N, 3, H, W\).*export it so"):
        load_model(f"onnx:{write(tmp_path / 'm.onnx', shape, weights=np.ones((shape[1], 4), 'f'))}")


@pytest.mark.parametrize(
    ("baked", "message"),
    [
        ([1, 4], r"onnx raised \w+: .*Reshape.*, given images \(7, 12, 12, 3\); export it"),
        ([1, -1], r"expected logits \(7, classes\).*got float32 \(1, 28\); export it"),
    ],
)
def test_a_batch_that_is_baked_into_the_graph(baked, message, tmp_path, capfd):
    path = write(tmp_path / "m.onnx")
    network = onnx.load(path)
    network.graph.initializer.append(numpy_helper.from_array(np.array(baked), "baked"))
    network.graph.node.append(helper.make_node("Reshape", ["logits", "baked"], ["reshaped"]))
    network.graph.output[0].name = "reshaped"
    onnx.save(network, path)
    with pytest.raises(HardyError, match=f"{message}.*with a free batch, or try a batch of 1"):
        load_model(f"onnx:{path}").logits(IMAGES)
    assert capfd.readouterr().err == ""
    assert load_model(f"onnx:{path}", batch=1).logits(IMAGES).shape == (7, 4)


def test_half_precision_inputs(tmp_path):
    model = load_model(f"onnx:{write(tmp_path / 'm.onnx', kind=TensorProto.FLOAT16)}")
    assert model.precision == "float16"
    expected = by_hand(IMAGES, model.preprocessing)
    np.testing.assert_allclose(model.logits(IMAGES), expected, atol=1e-2)


def test_identity_is_content_not_place(tmp_path):
    first = load_model(f"onnx:{write(tmp_path / 'a.onnx')}")
    (tmp_path / "deep").mkdir()
    moved = load_model(
        f"onnx:{write(tmp_path / 'deep' / 'b.onnx')}", batch=2, name="b", device="cpu"
    )
    trained = load_model(f"onnx:{write(tmp_path / 'c.onnx', weights=WEIGHTS + 1)}")
    plain = Preprocessing((0, 0, 0), (1, 1, 1))
    other = load_model(f"onnx:{tmp_path / 'a.onnx'}", preprocessing=plain)
    assert moved.identity == first.identity
    assert len({first.identity, trained.identity, other.identity}) == 3


def test_weights_in_a_file_beside_it_belong_to_the_identity(tmp_path):
    identities = set()
    for k, name in enumerate(("w.data", "w.data", "n" * 200)):  # a long name has a longer length
        path = write(tmp_path / "m.onnx", weights=np.full((3, 4), k, np.float32))
        convert = {"save_as_external_data": True, "location": name, "size_threshold": 0}
        onnx.save(onnx.load(path), path, **convert)
        graph = path.read_bytes()
        identities.add(load_model(f"onnx:{path}").identity)
        data = bytearray((tmp_path / name).read_bytes())
        data[0] ^= 1
        (tmp_path / name).write_bytes(data)
        assert path.read_bytes() == graph
        identities.add(load_model(f"onnx:{path}").identity)
        (tmp_path / name).unlink()
    assert len(identities) == 6


@pytest.mark.parametrize("option", [{"checkpoint": "w.pt"}, {"precision": "float16"}])
def test_options_it_cannot_honour(option, tmp_path):
    with pytest.raises(InputError, match=f"takes no {next(iter(option))}"):
        load_model(f"onnx:{write(tmp_path / 'm.onnx')}", **option)


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps", "nonsense"])
def test_a_device_it_does_not_have(device, tmp_path):
    expected = rf"expected a device that this onnxruntime has \(.*got '{device}'; name cpu"
    with pytest.raises(InputError, match=expected):
        load_model(f"onnx:{write(tmp_path / 'm.onnx')}", device=device)


def test_it_runs_on_the_gpu_that_was_named_or_says_that_it_does_not(tmp_path, monkeypatch):
    place, taken = f"onnx:{write(tmp_path / 'm.onnx')}", []
    cpu = onnxruntime.InferenceSession

    class Session:
        here = "CUDAExecutionProvider"

        def __init__(self, path, settings, providers):
            taken.append(providers)
            self._session = cpu(path, settings, ["CPUExecutionProvider"])

        def get_providers(self):
            return [self.here]

        def __getattr__(self, name):
            return getattr(self._session, name)

    both = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: both)
    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    assert load_model(place, device="cuda:1").device == "cuda:1"
    assert taken[-1][0] == ("CUDAExecutionProvider", {"device_id": 1})
    assert load_model(place).device == load_model(place, device="cuda").device == "cuda:0"
    monkeypatch.setattr(Session, "here", "CPUExecutionProvider")
    assert load_model(place).device == "cpu"
    with pytest.raises(InputError, match="expected onnxruntime to run it on cuda:1, got the CPU"):
        load_model(place, device="cuda:1")


def test_files_that_are_none(tmp_path):
    with pytest.raises(InputError, match=r"expected an ONNX file, got .*none\.onnx"):
        load_model(f"onnx:{tmp_path / 'none.onnx'}")
    (tmp_path / "text.onnx").write_text("hello")
    with pytest.raises(InputError, match=r"text\.onnx is no ONNX file that onnxruntime can run"):
        load_model(f"onnx:{tmp_path / 'text.onnx'}")


def test_a_network_of_something_else_is_refused(tmp_path):
    path = write(tmp_path / "m.onnx", kind=TensorProto.INT64)
    with pytest.raises(InputError, match=r"expected one input of floats or bytes.*tensor\(int64\)"):
        load_model(f"onnx:{path}")
