"""Files of Keras before Keras sees them; these tests do without it."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hardy.errors import HardyError, InputError, MissingResource
from hardy.models import load_model
from hardy.models.adapters.keras_file import read_keras_file

LAYER = {"module": "keras.layers", "class_name": "Dense", "config": {"name": "dense", "units": 5}}
CONFIG = {"module": "keras", "class_name": "Sequential", "config": {"layers": [LAYER]}}


def write(path: Path, config: Any = CONFIG, packed: int = zipfile.ZIP_STORED, **more: Any) -> Path:
    members = {
        "metadata.json": json.dumps({"keras_version": "3.15.1", "date_saved": path.name}),
        "config.json": config if isinstance(config, str | bytes) else json.dumps(config),
        "model.weights.h5": b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 20,
        **more,
    }
    with zipfile.ZipFile(path, "w", packed) as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)
    return path


def test_members_count_not_the_zip(tmp_path: Path) -> None:
    first = read_keras_file(write(tmp_path / "a.keras"), trust=False)
    packed = write(tmp_path / "b.keras", packed=zipfile.ZIP_DEFLATED)
    assert read_keras_file(packed, trust=False) == first
    trained = {**CONFIG, "compile_config": {"optimizer": "adam"}, "shared_object_id": 1399254902}
    again = write(tmp_path / "c.keras", trained)
    assert read_keras_file(again, trust=False) == first
    wider = json.dumps(CONFIG).replace("5", "6")
    assert read_keras_file(write(tmp_path / "d.keras", wider), trust=False) != first
    other = write(tmp_path / "e.keras", **{"model.weights.h5": b"other"})
    assert read_keras_file(other, trust=False) != first


@pytest.mark.parametrize(
    ("config", "members", "message"),
    [
        ("{", {}, r"cannot read .*m\.keras: JSONDecodeError"),
        ("[" * 100_000, {}, r"cannot read .*m\.keras: RecursionError"),
        (b"\xff\xfe\x00", {}, r"cannot read .*m\.keras: UnicodeDecodeError"),
        ('{"a":' * 700 + "1" + "}" * 700, {}, r"m\.keras: .*nested at most 100 deep, got more"),
        ([1], {}, r"expected a model in its config\.json, got no table"),
        (CONFIG, {"../evil.py": "x"}, r"each once, got \.\./evil\.py, config\.json"),
        (CONFIG, {"assets/vocabulary.txt": "x"}, r"got assets/vocabulary\.txt"),
        (CONFIG, {"model.weights.h5": None}, r"got config\.json, metadata\.json; load it where"),
        (CONFIG, {"model.weights.npz": b"x"}, r"each once, got"),
        (CONFIG, {"config.json": None}, r"expected a zip with config\.json"),
    ],
)
def test_odd_files_are_refused(tmp_path: Path, config: Any, members: Any, message: str) -> None:
    path = write(tmp_path / "m.keras", config, **members)
    with pytest.raises(InputError, match=message) as caught:
        load_model(f"keras:{path}")
    assert "\n" not in str(caught.value)


def test_a_member_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "m.keras")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("config.json", "{}")
    with pytest.raises(InputError, match="each once, got config"):
        load_model(f"keras:{path}")


def test_what_claims_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = write(tmp_path / "bomb.keras", packed=zipfile.ZIP_DEFLATED)
    wordy = write(tmp_path / "wordy.keras")
    monkeypatch.setattr(zipfile.ZipFile, "open", None)
    monkeypatch.setenv("HARDY_LARGEST_INFLATED", "5000")
    with pytest.raises(
        InputError, match=r"bomb\.keras: expected at most 5,000 bytes when it is un"
    ):
        load_model(f"keras:{bomb}")
    monkeypatch.setenv("HARDY_LARGEST_RECORD", "100")
    with pytest.raises(
        InputError, match=r"config\.json in .*: expected at most 100 bytes in a rec"
    ):
        load_model(f"keras:{wordy}")
    claims = bytearray(wordy.read_bytes())
    place = claims.rindex(b"PK\x01\x02")  # the weights' line in the list at the end
    claims[place + 20 : place + 28] = (3_000_000_000).to_bytes(4, "little") * 2
    wordy.write_bytes(claims)
    with pytest.raises(InputError, match=r"h5 claims 3,000,000,000 bytes, more than the file has"):
        load_model(f"keras:{wordy}")


def test_damage_is_told_in_one_line(tmp_path: Path) -> None:
    whole = write(tmp_path / "m.keras").read_bytes()
    path = tmp_path / "bad.keras"
    for end in (0, 20, 500, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError, match=r"bad\.keras, which is none; load it where it was"):
            load_model(f"keras:{path}")
    spoilt = bytearray(whole)
    spoilt[whole.index(bytes(range(100, 200)))] ^= 1
    path.write_bytes(spoilt)
    with pytest.raises(InputError, match=r"cannot read .*bad\.keras: BadZipFile: Bad CRC-32.*take"):
        load_model(f"keras:{path}")


def test_other_formats_are_refused(tmp_path: Path) -> None:
    for name in ("old.h5", "old.keras"):
        (tmp_path / name).write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
        for trust in (False, True):
            with pytest.raises(InputError, match=r"got HDF5, the format before Keras 3, which may"):
                load_model(f"keras:{tmp_path / name}", trust=trust)
    renamed = write(tmp_path / "a.keras").rename(tmp_path / "a.zip")
    with pytest.raises(InputError, match=r"expected a \.keras file, which is a zip with config"):
        load_model(f"keras:{renamed}")
    for missing in ("nowhere.keras", tmp_path):
        with pytest.raises(InputError, match=r"expected a \.keras file, got .*, which is no file"):
            load_model(f"keras:{missing}")


@pytest.mark.parametrize(
    "described",
    [
        {"class_name": "Lambda", "config": {"name": "halve"}},
        {"class_name": "Dense", "config": {"activation": {"class_name": "__lambda__"}}},
        {"class_name": "TorchModuleWrapper", "config": {"name": "wrapped", "module": "gASV"}},
    ],
)
def test_code_in_a_file_is_refused_at_any_depth(tmp_path: Path, described: Any) -> None:
    config = {"class_name": "Functional", "config": {"layers": [LAYER, {"inner": [described]}]}}
    path = write(tmp_path / "m.keras", config)
    with pytest.raises(InputError, match=r"brings code in the file.* say `trust=True`, or save"):
        load_model(f"keras:{path}")
    assert read_keras_file(path, trust=True).weights


def test_keras_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setitem(sys.modules, "keras", None)
    path = write(tmp_path / "m.keras")
    with pytest.raises(
        MissingResource, match=r'^keras:.* needs keras.*: pip install .*\[keras\]"$'
    ):
        load_model(f"keras:{path}")


def test_the_back_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Keras is imported, by the environment; afterwards it is what it is."""
    name = f"keras:{write(tmp_path / 'm.keras')}"
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    wanted = r"expected Keras on torch or jax, got {}; set the environment variable KERAS_BACKEND=t"
    with pytest.raises(InputError, match=wanted.format("tensorflow")):
        load_model(name)
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    here = SimpleNamespace(backend=SimpleNamespace(backend=lambda: "openvino"))
    monkeypatch.setitem(sys.modules, "keras", here)
    with pytest.raises(InputError, match=wanted.format("openvino")):
        load_model(name)


def test_options_it_cannot_honour(tmp_path: Path) -> None:
    name = f"keras:{write(tmp_path / 'm.keras')}"
    for options, message in (
        ({"checkpoint": "a.pt"}, "takes no checkpoint: the file holds its weights"),
        ({"compile": True}, "takes no compile: Keras decides itself"),
    ):
        with pytest.raises(HardyError, match=message):
            load_model(name, **options)
