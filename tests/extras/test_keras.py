"""Keras itself, on torch and on JAX: its own predictions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

if find_spec("keras") is None:
    pytest.skip("needs keras: make test-extras", allow_module_level=True)
from tests.extras.small_keras import PHOTOS, RESCALING, SIDE, saved, small  # isort: split

import keras
from keras import layers

from hardy.errors import InputError
from hardy.models import Override, load_model
from hardy.models.adapters.torch_model import TorchModel
from hardy.models.features import load_features
from hardy.models.model import Options
from hardy.run.preflight import check
from tests.photos import photos, random_images

# Keras and torch warn of NumPy's newest, which is no fault of ours.
pytestmark = pytest.mark.filterwarnings("default")


def log_softmax(logits: Any) -> Any:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("mode", ["caffe", "tf", "torch"])
@pytest.mark.parametrize("head", ["softmax", None])
def test_what_keras_itself_predicts_of_photographs(mode: str, head: str, tmp_path: Path) -> None:
    own = small(head=head, loud=mode == "caffe")
    model = load_model(saved(own, tmp_path / "m.keras"), preprocessing=mode)
    pixels = keras.applications.imagenet_utils.preprocess_input(
        PHOTOS.astype(np.float32), mode=mode
    )
    wanted = own.predict(pixels, verbose=0)
    got = model.logits(PHOTOS)
    assert got.dtype == np.float32
    if head:
        np.testing.assert_allclose(log_softmax(got), np.log(wanted), atol=1e-4)
        assert "its last softmax is left out" in str(model.facts.found)
        assert np.abs(got.sum(axis=1) - 1).max() > 0.1
    else:
        np.testing.assert_allclose(got, wanted, atol=1e-4)
        assert "its outputs are taken as logits" in str(model.facts.found)
    assert f'("{mode}", given)' in str(model.preprocessing)
    assert isinstance(model, TorchModel)
    assert (model.device, model.precision) == ("cpu", "float32")


def test_larger_photographs_are_resized_by_pillow(tmp_path: Path) -> None:
    large = photos(75)
    own = small(head=None)
    model = load_model(saved(own, tmp_path / "m.keras"), preprocessing="tf")
    how = Image.Resampling.BILINEAR
    shrunk = [np.asarray(Image.fromarray(one).resize((SIDE, SIDE), how)) for one in large]
    wanted = own.predict(np.stack(shrunk).astype(np.float32) / 127.5 - 1, verbose=0)
    np.testing.assert_allclose(model.logits(large), wanted, atol=1e-4)


def functional(kind: str) -> Any:
    """Models of several forms, and what Keras' own call is given for PHOTOS."""
    given = keras.Input((SIDE, SIDE, 3))
    floats = PHOTOS.astype(np.float32)
    match kind:
        case "bytes":
            given = keras.Input((None, None, 3), dtype="uint8")
            out = layers.Dense(7)(layers.GlobalAveragePooling2D()(RESCALING(given)))
            return keras.Model(given, out), PHOTOS, "0..255, as its input is bytes"
        case "channels first":
            given = keras.Input((3, SIDE, SIDE))
            first = {"data_format": "channels_first"}
            seen = layers.Conv2D(4, 3, **first)(layers.Rescaling(1 / 255)(given))
            out = layers.Dense(7)(layers.GlobalAveragePooling2D(**first)(seen))
            return keras.Model(given, out), floats.transpose(0, 3, 1, 2), "its own Rescaling"
        case "operations":
            pixels = keras.applications.imagenet_utils.preprocess_input(given, mode="caffe")
            return (
                keras.Model(given, small(loud=True)(pixels)),
                floats,
                "as its own Add prepares them",
            )
        case "layer of softmax":
            body = small(RESCALING, head=None, last=(layers.Softmax(),))
            return body, floats, "its own Rescaling"
        case "activation":
            body = small(RESCALING, head=None, last=(layers.Activation("softmax"),))
            return body, floats, "its own Rescaling"
        case "nested":
            inner = keras.Sequential([keras.Input((7,)), layers.Dense(5, activation="softmax")])
            inside = keras.Sequential([keras.Input((SIDE, SIDE, 3)), RESCALING])
            return small(inside, head="relu", last=(inner,)), floats, "its own Rescaling"
        case "fixed batch":
            model = keras.Sequential(
                [keras.Input(batch_shape=(8, SIDE, SIDE, 3)), RESCALING, layers.Flatten()]
            )
            model.add(layers.Dense(3))
            return model, floats, "its own Rescaling"
        case "normalization":
            body = small(layers.Normalization(mean=[120.0] * 3, variance=[3600.0] * 3))
            return body, floats, "its own Normalization"
    raise AssertionError(kind)


FORMS = (
    *("bytes", "channels first", "operations", "layer of softmax", "activation", "nested"),
    *("fixed batch", "normalization"),
)


@pytest.mark.parametrize("kind", FORMS)
def test_forms_of_models(kind: str, tmp_path: Path) -> None:
    own, given, said = functional(kind)
    wanted = own.predict(given, verbose=0)
    model = load_model(saved(own, tmp_path / "m.keras"))
    assert said in str(model.preprocessing)
    got = model.logits(PHOTOS)
    if "softmax" in str(model.facts.found):
        wanted, got = np.log(wanted), log_softmax(got)
    np.testing.assert_allclose(got, wanted, atol=1e-4)
    np.testing.assert_allclose(model.logits(PHOTOS[:3])[:3], model.logits(PHOTOS)[:3], atol=1e-5)
    end = "the logarithms of its outputs" if kind == "layer of softmax" else ""
    assert end in str(model.facts.found)


def test_a_probability_of_nothing_has_a_logarithm(tmp_path: Path) -> None:
    own = small(RESCALING, head=None, last=(layers.Rescaling(1e4), layers.Softmax()))
    got = load_model(saved(own, tmp_path / "m.keras")).logits(PHOTOS)
    assert np.isfinite(got).all()
    assert got.min() < -80


def test_where_the_file_does_not_say_hardy_asks(tmp_path: Path) -> None:
    name = saved(small(), tmp_path / "m.keras")
    choices = r'say so: `preprocessing="caffe"` \(.*"tf" \(.*"torch" \(.*"unit" .* or "none" \(0\.'
    with pytest.raises(InputError, match=choices):
        load_model(name)
    with pytest.raises(InputError, match=choices):
        load_model(name, preprocessing=Override(size=16))
    half = (0.5, 0.5, 0.5)
    spelled = load_model(name, preprocessing=Override(mean=half, std=half))
    np.testing.assert_array_equal(
        spelled.logits(PHOTOS), load_model(name, preprocessing="tf").logits(PHOTOS)
    )
    assert spelled.identity == load_model(name, preprocessing="tf").identity


def test_a_wrong_choice_is_noticed(tmp_path: Path) -> None:
    """Blue first is among what the check before a run tries."""
    name = saved(small(), tmp_path / "m.keras")
    images = (
        random_images(200, SIDE, SIDE)
        // 4
        * np.random.default_rng(1).integers(0, 5, (200, 1, 1, 3), np.uint8)
    )
    right = load_model(name, preprocessing="caffe")
    labels = right.logits(images).argmax(axis=1)
    assert len(np.unique(labels)) > 1
    assert not [one for one in check(right, images, labels).warnings if "override" in one]
    (warning,) = check(load_model(name, preprocessing="tf"), images, labels).warnings
    assert "100.0 % with Caffe's (blue first)" in warning
    assert 'override its preprocessing: `preprocessing="caffe"` in place of' in warning


def test_gradients_reach_the_pixels(tmp_path: Path) -> None:
    """Which noise is learned by."""
    import torch

    model = load_model(saved(small(RESCALING), tmp_path / "m.keras"))
    assert isinstance(model, TorchModel)
    pixels = (torch.from_numpy(PHOTOS.copy()).permute(0, 3, 1, 2) / 255).requires_grad_()
    with model.from_pixels() as classify:
        logits = classify(pixels)
        (slope,) = torch.autograd.grad(logits[:, 0].sum(), pixels)
    np.testing.assert_allclose(logits.detach().numpy(), model.logits(PHOTOS), atol=1e-4)
    assert slope.abs().sum() > 0


ON_JAX = """
import json, sys
import numpy as np
from hardy.models import load_model

images, found = np.load("images.npy"), {}
for name in sys.argv[1:]:
    model = load_model(f"keras:{name}.keras", preprocessing="caffe", batch=5)
    np.save(f"{name}.npy", model.logits(images))
    found[name] = [model.identity, model.facts.found, model.facts.backend]
assert "torch" not in sys.modules and "tensorflow" not in sys.modules
print(json.dumps(found))
"""


def test_jax_gives_the_same(tmp_path: Path) -> None:
    if find_spec("jax") is None:
        pytest.skip("needs jax: make test-extras")
    np.save(tmp_path / "images.npy", PHOTOS)
    layered = small(head=None, last=(layers.Softmax(),), loud=True)
    names = {"softmax": small(loud=True), "layer": layered}
    for name, own in names.items():
        own.save(tmp_path / f"{name}.keras")
    done = subprocess.run(
        [sys.executable, "-c", ON_JAX, *names],
        cwd=tmp_path,
        env=os.environ | {"KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    for name in names:
        model = load_model(f"keras:{tmp_path / name}.keras", preprocessing="caffe")
        np.testing.assert_allclose(
            np.load(tmp_path / f"{name}.npy"), model.logits(PHOTOS), atol=1e-4
        )
        assert found[name][0] == model.identity, "a run begun on one may go on with the other"
        assert "on jax" in found[name][1]
        assert (found[name][2], model.facts.backend) == ("jax", "torch")


def test_the_command(run: Any, tmp_path: Path) -> None:
    name = saved(small(), tmp_path / "m.keras")
    np.savez("set.npz", images=random_images(40, 32, 32), labels=np.arange(40) % 7)
    words = ("eval", name, "--suite", "cifar10_c", "--images", "set.npz", "--own-classes")
    few = ("--only", "fog", "--severities", "1", "--store", "runs")
    code, out, err = run(*words, *few)
    assert code != 0
    assert 'say so: --preprocess "caffe"' in out + err
    code, out, err = run(*words, *few, "--preprocess", "caffe")
    assert code == 0, err
    assert 'blue first ("caffe", given)' in out + err
    assert "Sequential of Keras, on torch; its last softmax is left out" in out + err
    (record,) = Path("runs").glob("*/sessions/*.json")
    session = json.loads(record.read_text())["session"]
    assert session["backend"] == "torch"
    assert session["versions"]["keras"] == keras.__version__


@pytest.mark.parametrize("last", [(), (layers.Softmax(),)], ids=["activation", "layer"])
def test_features_are_what_goes_into_its_last_dense_layer(last: Any, tmp_path: Path) -> None:
    own = small(RESCALING, head=None if last else "softmax", last=last)
    name = saved(own, tmp_path / "m.keras")
    features = load_features(name, Options(name))
    pooled = keras.Model(own.inputs, own.layers[-2 - len(last)].output)
    assert (
        features.words == f"6 features, what goes into {own.layers[-1 - len(last)].name} of {name}"
    )
    wanted = pooled.predict(PHOTOS.astype(np.float32), verbose=0)
    np.testing.assert_allclose(features.model.logits(PHOTOS), wanted, atol=1e-4)
    assert features.model.identity != load_model(name).identity


def test_a_backbone_of_keras_gives_its_outputs_as_they_are(tmp_path: Path) -> None:
    own = small(RESCALING)
    bare = keras.Model(own.inputs, keras.layers.Activation("sigmoid")(own.layers[-2].output))
    name = saved(bare, tmp_path / "m.keras")
    features = load_features(name, Options(name))
    assert features.words == f"6 features, the outputs of {name}"
    wanted = bare.predict(PHOTOS.astype(np.float32), verbose=0)
    np.testing.assert_allclose(features.model.logits(PHOTOS), wanted, atol=1e-4)


def test_a_probe_says_what_computes_its_features(run: Any, tmp_path: Path) -> None:
    name = saved(small(RESCALING), tmp_path / "m.keras")
    np.savez("set.npz", images=random_images(40, 32, 32), labels=np.arange(40) % 2)
    code, _, err = run("probe", name, "--data", "set.npz", "--out", "p.safetensors")
    assert code == 0, err
    probes = [load_model("linear:p.safetensors") for _ in range(2)]
    assert probes[0].facts.backend == "torch"
    assert probes[0].identity == probes[1].identity, "though Keras seeds its dropout anew"
    pytest.importorskip("jax")
    on_jax = "import hardy.models as m; print(m.load_model('linear:p.safetensors').identity)"
    there = {**os.environ, "KERAS_BACKEND": "jax"}
    command = [sys.executable, "-W", "ignore", "-c", on_jax]
    done = subprocess.run(command, env=there, capture_output=True, text=True)
    assert done.stdout.strip() == probes[0].identity, done.stderr
