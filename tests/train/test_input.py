"""`hardy train --input clahe`: what a net is trained on, it is shown in a test."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from hardy.cli.train_command import train_model
from hardy.errors import InputError
from hardy.models import load_model
from hardy.models.defences.input_filters import input_filter
from hardy.train.training_data import read_data
from tests.train.small import CPU, narrow, write_arrays

__all__ = ["narrow"]


@pytest.fixture
def run(narrow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Run `hardy train standard ...` beside `set.npz`."""
    monkeypatch.chdir(tmp_path)
    write_arrays(tmp_path)
    app = typer.Typer()
    app.command()(train_model)

    def run(*arguments: str) -> str:
        small = ("standard", "--data", "set.npz", "--net", "narrow", "--device", "cpu")
        done = CliRunner().invoke(
            app, [*small, *arguments, "--epochs", "1"], catch_exceptions=False
        )
        assert done.exit_code == 0
        return done.output

    return run


def test_training_images_pass_the_filter_once(tmp_path: Path) -> None:
    where = str(write_arrays(tmp_path))
    plain, filtered = read_data(where, CPU), read_data(where, CPU, input="clahe")
    expected = input_filter("clahe")(plain.images.numpy())
    assert (expected != plain.images.numpy()).any()
    np.testing.assert_array_equal(filtered.images.numpy(), expected)
    assert (plain.input, filtered.input) == (None, "clahe")
    with pytest.raises(
        InputError, match='unknown input "clage"; expected one of clahe, nlm, median'
    ):
        read_data(where, CPU, input="clage")


def test_train_and_load(run) -> None:
    run("--out", "out", "--input", "clahe")
    assert json.loads(Path("out/run.json").read_text())["input"] == "clahe"
    model = load_model("hardy:out", device="cpu")
    images = np.load("set.npz")["images"][:5]
    assert model.name == "hardy:out"
    assert model.facts.defences[-1].words.endswith("as it was trained")
    np.testing.assert_array_equal(
        model.logits(images), model.model.logits(input_filter("clahe")(images))
    )


def test_another_input_is_another_run(run) -> None:
    run("--out", "out", "--input", "clahe")
    assert "out was finished before" in run("--out", "out", "--input", "clahe")
    with pytest.raises(InputError, match="input is 'median' and was 'clahe'"):
        run("--out", "out", "--input", "median")
