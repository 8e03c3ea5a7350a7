"""Files that Keras itself wrote: what they are told apart by, and what they may not do."""

from __future__ import annotations

import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if find_spec("keras") is None:
    pytest.skip("needs keras: make test-extras", allow_module_level=True)
from tests.extras.small_keras import PHOTOS, RESCALING, SIDE, saved, small  # isort: split

import keras
from keras import layers

from hardy.errors import HardyError, InputError
from hardy.models import load_model

# Keras and torch warn of NumPy's newest, which is no fault of ours.
pytestmark = pytest.mark.filterwarnings("default")


def test_identity_is_that_of_the_content(tmp_path: Path) -> None:
    own = small(RESCALING)
    model = load_model(saved(own, tmp_path / "m.keras"))
    packed = tmp_path / "packed.keras"
    with (
        zipfile.ZipFile(tmp_path / "m.keras") as before,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for member in reversed(before.namelist()):
            after.writestr(zipfile.ZipInfo(member, (2001, 2, 3, 4, 5, 6)), before.read(member))
    assert load_model(f"keras:{packed}", batch=3).identity == model.identity
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    assert load_model(saved(loaded, tmp_path / "again.keras")).identity == model.identity
    assert load_model(f"keras:{packed}", preprocessing="tf").identity != model.identity
    own.layers[-1].bias.assign(own.layers[-1].bias + 1)
    assert load_model(saved(own, tmp_path / "other.keras")).identity != model.identity


class Own(layers.Layer):
    def call(self, pixels: Any) -> Any:
        return pixels / 255


def test_nothing_of_a_file_is_run_unless_it_is_trusted(tmp_path: Path) -> None:
    mark = tmp_path / "was-run"
    code = f"lambda x: [open({str(mark)!r}, 'w').close(), x / 255][1]"
    own = keras.Sequential([keras.Input((SIDE, SIDE, 3)), layers.Lambda(eval(code))])
    own.add(layers.Flatten())
    own.add(layers.Dense(3))
    name = saved(own, tmp_path / "m.keras")
    mark.unlink(missing_ok=True)
    with pytest.raises(InputError, match=r'layer "lambda.*", a Lambda, brings code in the file'):
        load_model(name, preprocessing="none")
    assert not mark.exists()
    model = load_model(name, preprocessing="none", trust=True)
    np.testing.assert_allclose(
        model.logits(PHOTOS), own.predict(PHOTOS.astype(np.float32), verbose=0), atol=1e-4
    )
    assert mark.exists()


def test_code_behind_a_name_that_looks_harmless(tmp_path: Path) -> None:
    """A class of the file's choice is not looked up outside Keras, not even with trust."""
    path = tmp_path / "m.keras"
    small(RESCALING).save(path)
    mark = tmp_path / "was-run"
    module = tmp_path / "a_module_of_theirs.py"
    module.write_text(f"open({str(mark)!r}, 'w').close()\nclass ReLU: pass\n")
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    text = members["config.json"].decode()
    members["config.json"] = text.replace(
        '"module": "keras.layers", "class_name": "ReLU"',
        '"module": "a_module_of_theirs", "class_name": "ReLU"',
    ).encode()
    assert members["config.json"] != text.encode()
    with zipfile.ZipFile(path, "w") as archive:
        for one, content in members.items():
            archive.writestr(one, content)
    sys.path.insert(0, str(tmp_path))
    try:
        for trust in (False, True):
            with pytest.raises(InputError, match=r"not Keras' own \(a_module_of_theirs\.ReLU\)"):
                load_model(f"keras:{path}", trust=trust)
    finally:
        sys.path.remove(str(tmp_path))
    assert not mark.exists()


def test_classes_of_the_users_own_are_named(tmp_path: Path) -> None:
    own = keras.Sequential([keras.Input((SIDE, SIDE, 3)), Own(), layers.Flatten()])
    own.add(layers.Dense(3))
    name = saved(own, tmp_path / "m.keras")
    with pytest.raises(
        InputError, match=r"not Keras' own \(Own\): import what registers them"
    ) as it:
        load_model(name)
    assert "\n" not in str(it.value)


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (
            (SIDE, SIDE, 1),
            3,
            r"expected one input \(N, H, W, 3\) or \(N, 3, H, W\), got \(None, 32",
        ),
        ((SIDE, 20, 3), 3, r"square images or of any size, got \(None, 32, 20, 3\)"),
        ((SIDE, SIDE, 3), 1, r"expected one output \(N, classes\), of two classes at least, got"),
    ],
)
def test_what_is_no_classifier_of_rgb_is_refused(
    inputs: Any, outputs: int, message: str, tmp_path: Path
) -> None:
    own = keras.Sequential([keras.Input(inputs), layers.Flatten(), layers.Dense(outputs)])
    with pytest.raises(InputError, match=message):
        load_model(saved(own, tmp_path / "m.keras"), preprocessing="tf")


def test_damage_is_told_in_one_line(tmp_path: Path) -> None:
    whole = Path(saved(small(RESCALING), tmp_path / "m.keras").partition(":")[2]).read_bytes()
    draws, path, told = np.random.default_rng(0), tmp_path / "bad.keras", []
    for _ in range(25):
        spoilt = np.frombuffer(whole, np.uint8).copy()
        places = draws.integers(0, len(whole), 6)
        spoilt[places] = draws.integers(0, 256, 6)
        path.write_bytes(spoilt.tobytes())
        try:
            load_model(f"keras:{path}").logits(PHOTOS)
        except HardyError as error:
            told.append(str(error))
    assert len(told) > 15
    assert all("bad.keras" in line and "\n" not in line for line in told)


@pytest.mark.parametrize(
    ("units", "message"),
    [
        (9, r"cannot read .*m\.keras: ValueError"),
        (5_000_000, r"m\.keras: .*one that claims 30,000,\d+ numbers, where the weights have"),
    ],
)
def test_weights_that_do_not_fit(units: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.keras"
    small(RESCALING).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    wider = f'"units": {units}'.encode()
    members["config.json"] = members["config.json"].replace(b'"units": 7', wider)
    with zipfile.ZipFile(path, "w") as archive:
        for one, content in members.items():
            archive.writestr(one, content)
    make = layers.Layer.add_weight
    with pytest.raises(InputError, match=message) as caught:
        load_model(f"keras:{path}")
    assert "\n" not in str(caught.value)
    assert layers.Layer.add_weight is make
