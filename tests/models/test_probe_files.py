"""Files of linear probes that somebody else wrote."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.models.probe_files import read_probe

WEIGHT = np.ones((3, 4), np.float32)


def write(path: Path, **arrays: Any) -> Path:
    np.savez(path, **{"weight": WEIGHT, "backbone": "hf:somewhere", **arrays})
    return path


def test_a_plain_one(tmp_path: Path) -> None:
    for kind in (np.float16, np.float64, np.int8):
        path = write(tmp_path / "p.npz", weight=WEIGHT.astype(kind), classes=["a", "b", "c"])
        probe = read_probe(path)
        assert probe.classes == ("a", "b", "c")
        assert probe.weight.dtype == np.float32
        np.testing.assert_array_equal(probe.bias, [0, 0, 0])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"weight": WEIGHT.astype(str)}, r"weight as real numbers, got <U32"),
        ({"weight": WEIGHT.astype(bytes)}, r"weight as real numbers, got \|S"),
        ({"weight": np.zeros((3, 4), [("a", "f4")])}, r"weight as real numbers, got \[\('a'"),
        ({"weight": WEIGHT.astype(complex)}, r"weight as real numbers, got complex128"),
        ({"weight": np.zeros((3, 4), "M8[s]")}, r"weight as real numbers, got datetime64\[s\]"),
        ({"weight": np.zeros((3, 4), "m8[s]")}, r"weight as real numbers, got timedelta64\[s\]"),
        ({"bias": np.array(["a", "b", "c"])}, r"bias as real numbers, got <U1"),
        ({"bias": np.ones(3, complex)}, r"bias as real numbers, got complex128"),
        ({"weight": np.float32(1)}, r"expected weight \(classes, features\)"),
        ({"classes": "abc"}, r"classes as a row of texts, got <U3 \(\)"),
        ({"classes": [["a"], ["b"], ["c"]]}, r"classes as a row of texts, got <U1 \(3, 1\)"),
        ({"classes": [1.5, 2.5, 3.5]}, r"classes as a row of texts, got float64 \(3,\)"),
        ({"classes": ["a", "b"]}, r"expected 3 names of classes, got 2"),
        ({"backbone": ["a", "b"]}, r"backbone as one text, got <U1 \(2,\)"),
        ({"backbone": 5}, r"backbone as one text, got int64 \(\)"),
    ],
)
def test_arrays_of_another_kind_are_refused(
    arrays: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_probe(write(tmp_path / "p.npz", **arrays))
    assert "\n" not in str(caught.value)


def test_what_unpacks_to_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "p.npz", weight=np.zeros((30, 400)), backbone="hf:x")
    monkeypatch.setattr(np.lib.format, "read_array", None)
    monkeypatch.setenv("HARDY_LARGEST_INFLATED", "5000")
    with pytest.raises(InputError, match=r"p\.npz: expected at most 5,000 bytes when it is unpack"):
        read_probe(tmp_path / "p.npz")


def test_a_shape_that_the_file_does_not_hold(tmp_path: Path) -> None:
    header = io.BytesIO()
    said = {"descr": "<f4", "fortran_order": False, "shape": (10, 10**13)}
    np.lib.format.write_array_header_1_0(header, said)
    path = write(tmp_path / "p.npz")
    with zipfile.ZipFile(path) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in kept.items():
            archive.writestr(name, header.getvalue() if name == "weight.npy" else content)
    with pytest.raises(InputError, match=r"weight: expected 400,000,000,000,000 bytes, got 0"):
        read_probe(path)


def test_notes_of_safetensors(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    path = tmp_path / "p.safetensors"
    for classes, weight, message in (
        ('"abc"', torch.ones(3, 4), "expected classes as a list, got str"),
        ('["a", "b", "c"]', torch.ones(3, 4, dtype=torch.complex64), "as real numbers, got compl"),
    ):
        save_file({"weight": weight}, path, {"backbone": "hf:x", "classes": classes})
        with pytest.raises(InputError, match=message):
            read_probe(path)
