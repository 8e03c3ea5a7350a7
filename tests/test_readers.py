"""Readers told of damage in one line: what a library raises over a broken file is never seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hardy
from hardy.errors import InputError
from hardy.suites import load
from hardy.variants.disk.array_layout import map_array
from hardy.variants.disk.build_header import HEADER, read_header
from tests.records import read_unsealed

FIXTURES = Path(__file__).parent / "fixtures/v0_1"


def test_a_suite_with_a_number_of_very_many_digits(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"version = {'9' * 5000}\n")
    with pytest.raises(InputError, match=r"mine\.toml: expected a TOML file, but .*repair that"):
        load(str(path))


@pytest.mark.parametrize(
    "shape", ["(" * 200, "(3, 'x')", "(9" + "9" * 5000 + ",)", "(-1, 8, 8, 3)", "()", "\0"]
)
def test_the_header_of_an_array_among_files(tmp_path: Path, shape: str) -> None:
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    path = tmp_path / "fog.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(99))
    with pytest.raises(InputError, match=r"fog\.npy: "):
        map_array(path)
    path.write_bytes(b"PK\x05\x06" + bytes(18))  # an archive, which NumPy opens by the same call
    with pytest.raises(InputError, match=r"fog\.npy: expected NumPy's format, got an archive"):
        map_array(path)


def test_a_damaged_video(tmp_path: Path) -> None:
    pytest.importorskip("av")
    from hardy.variants.disk.encode import read_video, video

    frames = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), np.uint8)
    whole = video(frames, "x264:crf=20,preset=ultrafast")
    path, random = tmp_path / "a.mp4", np.random.default_rng(1)
    refused: list[str] = []
    for _ in range(60):
        data = bytearray(whole)
        for place in random.integers(0, len(data), 8):
            data[place] = random.integers(256)
        path.write_bytes(data)
        try:
            read_video(path)
        except InputError as error:
            refused.append(str(error))
    assert refused
    assert all(str(path) in message for message in refused)
    path.write_bytes(whole)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HARDY_MOST_FRAMES", "3")
        with pytest.raises(InputError, match=r"a\.mp4: expected at most 3 frames in a sequence"):
            read_video(path)


def test_metadata_of_onnx_that_is_not_text(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, path = onnx.helper, tmp_path / "net.onnx"
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3, 8, 8])
    made = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 192])
    graph = helper.make_graph([helper.make_node("Flatten", ["x"], ["y"])], "g", [given], [made])
    net = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="x", ir_version=8
    )
    helper.set_model_props(net, {"mean": "[MARKER]"})
    path.write_bytes(net.SerializeToString().replace(b"[MARKER]", b"[\xff\xfe\xfd\xfc]]]"))
    with pytest.raises(InputError, match=r"the metadata of .*net\.onnx: UnicodeDecodeError"):
        hardy.models.load_model(f"onnx:{path}")


@pytest.mark.parametrize("kind", ["sparse", "meta"])
def test_weights_that_are_no_plain_tensors(kind: str) -> None:
    torch = pytest.importorskip("torch")
    from hardy.models.torch_identity import hash_weights

    net = torch.nn.Linear(4, 3)
    net.register_buffer("mask", net.weight.detach().to_sparse() if kind == "sparse" else None)
    if kind == "meta":
        net = net.to("meta")
    with pytest.raises(InputError, match=r"expected plain tensors as weights, got \w+, which is"):
        hash_weights(net)


CHILD = """
import os, sys
import numpy as np
import hardy
from hardy.cli import main

images = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), np.uint8)
np.savez("set.npz", images=images, labels=range(4))
top = os.getcwd()
model = lambda x: np.tile(np.linspace(9, 0, 10, dtype=np.float32), (len(x), 1))
asked = {"suite": "cifar10_c", "images": f"{top}/set.npz", "only": ["contrast"]}
hardy.evaluate(model, name="m", store=f"{top}/runs", track=hardy.progress.untracked, **asked)
hardy.build(out=f"{top}/built", workers=1, track=hardy.progress.untracked, **asked)
for line in (["score", f"{top}/runs"], ["report", f"{top}/runs", "-o", f"{top}/page.html"],
             ["verify", f"{top}/built"], ["score", f"{top}/none"]):
    sys.argv = ["hardy", *line]
    try:
        main()
    except SystemExit as ended:
        print("ended", ended.code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_store_in_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/st\xffre"
    os.mkdir(folder)
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD], cwd=folder, env=strict, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr, done.stderr
    ends = [line for line in done.stdout.splitlines() if line.startswith("ended")]
    assert ends == ["ended 0", "ended 0", "ended 0", "ended 2"]
    assert r"wrote " in done.stdout
    assert r"st\udcffre" in done.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": 39}, "files: expected 39, one per image, got "),
        ({"images": "40"}, "images: expected a whole number above 0, got '40'"),
        ({"ids": [None] * 40}, "ids: expected a list of ids"),
        ({"labels": [-1] * 40}, "labels: expected a list of class numbers or null"),
        ({"shape": [32, 10**9, 10**9]}, "shape: expected height, width and channels"),
        ({"format": "exe"}, "format: expected jpeg or png or npy or tar or mp4"),
        ({"cells": ["fog"]}, "cells: expected a list of cells such as fog:3"),
        ({"first_image": None}, "first_image: expected the place of an image, and a hash"),
        ({"suite": None}, "suite: expected the name of a suite.*, got None"),
    ],
)
def test_every_field_of_a_manifest_is_checked(tmp_path: Path, change, message: str) -> None:
    header = read_unsealed(FIXTURES / "built" / HEADER)
    (tmp_path / HEADER).write_text(json.dumps(header))
    assert read_header(tmp_path) == header
    (tmp_path / HEADER).write_text(json.dumps(header | change))
    with pytest.raises(InputError, match=f"{HEADER}: {message}"):
        read_header(tmp_path)


def test_a_record_that_changed_since_it_was_written(tmp_path: Path) -> None:
    np.savez(tmp_path / "set.npz", images=np.zeros((2, 32, 32, 3), np.uint8), labels=range(2))
    hardy.build(
        "cifar10_c", images=tmp_path / "set.npz", out=tmp_path / "b", only=["contrast"], workers=1
    )
    path = tmp_path / "b" / HEADER
    whole = path.read_text()
    for edited in ('"seed": 1', '"classes": ["x"]'):
        name = edited.split(":")[0]
        line = next(line for line in whole.splitlines() if line.lstrip().startswith(name))
        path.write_text(whole.replace(line, f" {edited},"))
        with pytest.raises(InputError, match=r"it is not as it was written, by its sha256; rest"):
            hardy.verify(tmp_path / "b")
    path.write_text(json.dumps(read_unsealed(path)))
    hardy.verify(tmp_path / "b")  # as a record of 0.1.0, which has no sum
