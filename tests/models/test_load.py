import importlib.metadata
import subprocess
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from hardy.errors import HardyError, InputError, MissingResource
from hardy.models import MODELS, Model, Options, Override, Preprocessing, load_model, will_be_on_gpu
from hardy.models.adapters.function_model import FakeModel
from hardy.run.preflight import STANDARD
from tests.photos import photos, random_images
from tests.plugins import forget_later

IMAGES = random_images(9, 20, 24)


def test_the_kinds_of_model():
    assert MODELS.names() == (
        *(
            "torchvision",
            "timm",
            "torch",
            "hf",
            "clip",
            "onnx",
            "tflite",
            "keras",
            "zoo",
            "linear",
            "sklearn",
            "hardy",
            "fake",
        ),
    )


def test_importing_models_imports_no_framework():
    heavy = (
        "torch",
        "torchvision",
        "timm",
        "transformers",
        "onnxruntime",
        "ai_edge_litert",
        "keras",
        "sklearn",
        "joblib",
    )
    code = f"import sys, hardy, hardy.models; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tim:resnet50", r'^unknown kind of model "tim"; did you mean "timm"\?'),
        (
            "resnet50",
            r"KIND:NAME, such as timm:resnet50 or torchvision:resnet50, got",
        ),
        ("net.py:make", "such as torch:net.py:make, got"),
        ("nets/net.py", "such as torch:nets/net.py:FACTORY, got"),
        ("net.onnx", "such as onnx:net.onnx, got"),
        ("net.keras", "such as keras:net.keras, got"),
        ("forest.joblib", "such as sklearn:forest.joblib, got"),
        ("fake", r'expected "fake:CLASSES", got "fake"'),
        ("onnx:", r'expected "onnx:FILE", got "onnx:"'),
        ("fake:0", r'expected "fake:CLASSES" or "fake:CLASSES:SEED", got "fake:0"'),
        ("fake:ten", r"got \"fake:ten\""),
        ("fake:99999999999999999999", "it has 1 to 100,000 classes"),
        ("fake:" + "9" * 5000, "it has 1 to 100,000 classes"),
        ("fake:10:" + "9" * 5000, "a seed has at most 18 digits"),
        (7, r'expected a model\'s name such as "timm:resnet50".*got int'),
    ],
)
def test_what_is_no_model_is_refused(name, message):
    with pytest.raises(InputError, match=message):
        load_model(name)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("timm:resnet50", "timm", "timm"),
        ("torchvision:resnet50", "torchvision", "torchvision"),
        ("torch:examples.mine:model", "torch", "torch"),
        ("hf:folder", "transformers", "hf"),
        ("onnx:model.onnx", "onnxruntime", "onnx"),
        ("tflite:model.tflite", "ai_edge_litert", "tflite"),
    ],
)
def test_a_missing_extra_says_how_to_install_it(name, module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(MODELS, "_objects", {})
    message = rf'^{name} needs {module}.*: pip install .*\[{extra}\]"$'
    with pytest.raises(MissingResource, match=message):
        load_model(name)


def test_builds_that_do_not_belong_together_are_told_from_missing_ones(tmp_path, monkeypatch):
    (tmp_path / "timm.py").write_text('raise RuntimeError("operator nms does not exist")')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "timm", raising=False)
    with pytest.raises(HardyError, match=r"installed but broken \(operator nms does not exist\)"):
        load_model("timm:resnet50")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "float64"}, "expected a precision of float32, bfloat16, float16, got"),
        ({"batch": 0}, 'expected a batch of at least 1 image or "auto", got 0'),
        ({"batch": True}, "got True"),
        ({"checkpoint": "weights.pt"}, "fake:5 @ weights.pt takes no checkpoint: it has no weig"),
        ({"precision": "float16"}, "fake:5 takes no precision: its arithmetic is exact"),
        ({"device": "cuda"}, "fake:5: expected the device cpu, got 'cuda'"),
        ({"device": "nonsense"}, "fake:5: expected the device cpu, got 'nonsense'"),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        load_model("fake:5", **options)


def make_plug_in(rest: str, options: Options) -> Model:
    return FakeModel(int(rest), name=options.name)


def test_a_plug_in_brings_a_kind_of_its_own(monkeypatch):
    point = EntryPoint("mine", f"{__name__}:make_plug_in", "hardy.models")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda *, group: [point])
    monkeypatch.setattr(MODELS, "_plugins", None)
    forget_later(monkeypatch, MODELS)
    assert load_model("mine:4").logits(IMAGES).shape == (9, 4)
    MODELS._plugins = None


def test_a_model_is_taken_as_it_is():
    model = FakeModel(3)
    assert load_model(model) is model
    assert load_model(model, trust=True) is model


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("checkpoint", "weights.pt"),
        ("device", "cpu"),
        ("precision", "bfloat16"),
        ("batch", 3),
        ("preprocessing", Preprocessing((0, 0, 0), (1, 1, 1))),
        ("name", "another"),
    ],
)
def test_a_model_that_is_made_already_takes_no_options(option, value):
    message = rf"^fake:3:0 takes no (other )?{option}: it is made already"
    with pytest.raises(InputError, match=message):
        load_model(FakeModel(3), **{option: value})


def test_a_name_can_be_printed():
    assert load_model(len, name="a\udcff\x1b[31m\n🦊").name == r"a\udcff\x1b[31m\n🦊"


def test_the_fake_depends_on_each_image_alone():
    model = load_model("fake:10:3")
    images = np.concatenate([photos(32), random_images(30, 32, 32)])
    together = model.logits(images)
    alone = np.concatenate([model.logits(images[k : k + 1]) for k in range(len(images))])
    assert together.dtype == np.float32
    assert together.shape == (38, 10)
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together[::-1], model.logits(images[::-1]))
    np.testing.assert_array_equal(together, load_model("fake:10:3").logits(images))
    assert (together.argmax(1) != load_model("fake:10:4").logits(images).argmax(1)).mean() > 0.5


def test_the_fake_has_the_accuracy_that_was_ordered():
    images = random_images(2000, 8, 8)
    model = FakeModel(10)
    right = model.labels(images, accuracy=0.7) == model.logits(images).argmax(axis=1)
    assert abs(right.mean() - 0.7) < 0.04
    half = model.labels(images[::2], accuracy=0.7)
    np.testing.assert_array_equal(half, model.labels(images, accuracy=0.7)[::2])
    assert (model.labels(images) == model.logits(images).argmax(axis=1)).all()


@pytest.mark.parametrize(
    ("images", "got"),
    [
        (IMAGES[0], r"uint8 \(20, 24, 3\)"),
        (IMAGES / 255, r"float64 \(9, 20, 24, 3\)"),
        (IMAGES[:0], r"\(0, 20, 24, 3\)"),
        (IMAGES[..., :1], r"\(9, 20, 24, 1\)"),
    ],
)
def test_images_are_bytes_in_a_batch(images, got):
    with pytest.raises(InputError, match=rf"expected.*\(N, H, W, 3\), got {got}"):
        load_model("fake:5").logits(images)


def test_preprocessing_in_words():
    used = Preprocessing(
        (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), 299, "bicubic", "timm config"
    )
    assert str(used) == (
        "resize to 299 (bicubic), mean 0.485 0.456 0.406, std 0.229 0.224 0.225 (timm config)"
    )
    assert str(Preprocessing((0, 0, 0), (1, 1, 1))) == "mean 0 0 0, std 1 1 1 (given)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0.5, 0.5), (1, 1, 1)), "expected mean as three figures"),
        (((0.5, 0.5, float("nan")), (1, 1, 1)), "expected mean"),
        (((0.5, 0.5, 0.5), (1, 0, 1)), "expected std as three figures.*above 0"),
        (((0, 0, 0), (1, 1, 1), 0), "expected a size of at least 1 pixel, got 0"),
        (((0, 0, 0), (1, 1, 1), 8, "hamming"), "expected an interpolation of nearest, bilinear"),
    ],
)
def test_impossible_preprocessing_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Preprocessing(*arguments)


@pytest.mark.parametrize(
    ("name", "figures", "said"),
    [
        ("mean", (125, 122, 113), "125,122,113"),
        ("mean", (-0.5, 0.5, 0.5), "-0.5,0.5,0.5"),
        ("std", (58.395, 57.12, 57.375), "58.395,57.12,57.375"),
    ],
)
def test_overrides_in_units_of_bytes_are_refused(name, figures, said):
    message = f"expected `{name}` in units of 0..1, got {said}; divide by 255"
    with pytest.raises(InputError, match=message):
        Override(**{name: figures})
    for mean, std, _ in STANDARD.values():
        Override(mean, std)


class Silent:
    """A model that says nothing of where and how it computes."""

    name, identity, preprocessing = "silent", "1", None

    def logits(self, images, preprocessing=None):
        return np.zeros((len(images), 5), np.float32)


def test_a_class_of_the_users_own_need_not_name_device_and_precision():
    model = load_model(Silent())
    assert isinstance(model, Model)
    assert (model.name, model.device, model.precision) == ("silent", "cpu", "float32")
    assert model.logits(IMAGES).shape == (9, 5)
    with pytest.raises(InputError, match="silent takes no device: it is made already"):
        load_model(Silent(), device="cpu")


def test_what_a_class_of_the_users_own_says_is_kept():
    class Halved(Silent):
        precision = "float16"

    assert (load_model(Halved()).device, load_model(Halved()).precision) == ("cpu", "float16")


def test_whether_models_are_bound_for_a_gpu_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    class Own:
        parameters = ("a", "b")

    for there in (True, False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert will_be_on_gpu(["timm:resnet50", "torch:net.py:make"], None) == there
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert will_be_on_gpu(["timm:resnet50"], "cuda:1")
    assert not will_be_on_gpu(["timm:resnet50"], "cpu")
    assert not will_be_on_gpu(["timm:resnet50", "onnx:net.onnx"], None)
    assert not will_be_on_gpu([torch.nn.Linear(1, 1)], None)
    assert not will_be_on_gpu([Own()], None)
