"""Several processes train one net."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from hardy.errors import InputError
from hardy.train import NETS
from hardy.train.loop import Training
from hardy.train.method import Draw, make_method
from hardy.train.processes import ALONE, Ranks, joined
from hardy.train.training_data import batches
from tests.photos import random_images
from tests.train.small import CPU, NARROW, narrow, small_data, write_arrays
from tests.train.two_processes import make_linear, streamed, streamed_images, unequal_parts

__all__ = ["narrow"]


def write_photos(folder: Path) -> list[Path]:
    """Photographs of two classes; a quarter of them, which it returns, cannot be read."""
    paths = [folder / "ab"[number % 2] / f"{number:02}.png" for number in range(24)]
    for path, pixels in zip(paths, random_images(24, 20, 20), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    damaged = [path for number, path in enumerate(paths) if number % 4 == 1]
    for path in damaged:
        path.write_bytes(path.read_bytes()[:300])
    return sorted(damaged)


def test_two_processes_make_one_net_and_resume_to_it(tmp_path, monkeypatch) -> None:
    source = write_arrays(tmp_path)
    damaged = write_photos(tmp_path / "photos")
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
        *("-m", "tests.train.two_processes", str(source), str(tmp_path)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert first["threads"] == second["threads"] == []  # which could end in an abort with Python
    assert first["sizes"] == second["sizes"] == [12, 12, 8]
    assert first["averaged"] == second["averaged"] == [0.5, 1.0]
    assert first["weighted"] == second["weighted"] == pytest.approx(2 / 3)
    assert first["unreadable"] == second["unreadable"]
    listed = first["unreadable"].splitlines()
    assert [line.split(": ")[0] for line in listed] == [f"cannot read {path}" for path in damaged]
    assert first["noise"] != second["noise"]
    assert first["weights"] == second["weights"]
    assert first["resumed"] == second["resumed"] == 1
    shared = zip(first["streamed_images"], second["streamed_images"], strict=True)
    whole_batches = streamed_images(str(source), ALONE)
    assert len(whole_batches) == 50
    assert [[*batch[::2], *batch[1::2]] for batch in whole_batches] == [a + b for a, b in shared]
    whole, cut = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(whole[name], cut[name]) for name in whole)
    assert json.loads((tmp_path / "whole/run.json").read_text())["processes"] == 2
    monkeypatch.setitem(NETS._objects, "linear", make_linear)
    alone = unequal_parts(small_data(tmp_path), ALONE)
    read = streamed(str(source), ALONE)
    assert first["streamed"] == second["streamed"] == pytest.approx(read, rel=1e-4, abs=1e-5)
    assert first["unequal"] == second["unequal"] == pytest.approx(alone, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"WORLD_SIZE": "abc"}, 'expected WORLD_SIZE as a whole number of at least 1, got "abc"'),
        ({"WORLD_SIZE": "0"}, 'WORLD_SIZE as a whole number of at least 1, got "0"; start several'),
        ({"WORLD_SIZE": "2"}, "expected RANK beside WORLD_SIZE=2, got none; start several"),
        ({"WORLD_SIZE": "2", "RANK": "2"}, 'RANK as a whole number from 0 to 1, got "2"'),
        ({"WORLD_SIZE": "2", "RANK": "0"}, "expected MASTER_ADDR beside WORLD_SIZE=2, got none"),
        (
            {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "here"},
            'expected MASTER_PORT as a whole number from 0 to 65535, got "here"',
        ),
    ],
)
def test_processes_that_torchrun_did_not_start(monkeypatch, said, message) -> None:
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=message), joined("cpu"):
        pass


def test_what_one_process_says_is_not_buried_under_the_others(tmp_path) -> None:
    """They wait for it, and find it gone."""
    source = write_arrays(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.txt").touch()
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
        *("-m", "hardy.cli", "train", "standard", "--data", str(source), "--net", "wrn_16_4"),
        *("--epochs", "1", "--device", "cpu", "--out", str(tmp_path / "out")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode != 0
    assert "out holds other things than a training run" in done.stderr
    assert "[rank1]" not in done.stderr


def test_processes_share_out_each_batch(tmp_path) -> None:
    data = small_data(tmp_path)
    parts = [
        [labels for _, labels in batches(data, 21, Draw(0, CPU, Ranks(rank, 2)))] for rank in (0, 1)
    ]
    assert [[len(labels) for labels in part] for part in parts] == [[11, 11, 11], [10, 10, 10]]
    alone = [labels for _, labels in batches(data, 21, Draw(0, CPU))]
    assert [len(labels) for labels in alone] == [21, 21, 21, 1]
    for whole, first, second in zip(alone, *parts, strict=False):
        assert torch.equal(whole[0::2], first)
        assert torch.equal(whole[1::2], second)


@pytest.mark.usefixtures("narrow")
def test_more_processes_than_images_in_a_batch(tmp_path) -> None:
    recipe, data = replace(NARROW, batch=3), small_data(tmp_path)
    with pytest.raises(InputError, match="at least one image in each batch for each of 4 proces"):
        Training(make_method("standard"), data, recipe, CPU, Ranks(0, 4))
