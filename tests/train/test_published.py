"""Trainings of papers by name: what they say, and what is said over them."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

import hardy
from hardy.errors import InputError
from hardy.train.hyperparameters import HYPERPARAMETERS, Hyperparameters, learning_rate
from hardy.train.method import make_method
from hardy.train.published_trainings import TRAININGS, choose_training, told_like
from tests.photos import random_images
from tests.train.small import NEEDED, narrow, write_arrays

__all__ = ["narrow"]

# What no paper here has.
NONE_OF_THEM = {"label_smoothing", "mixup", "mixup_each", "warmup", "ema", "accumulate"}
NONE_OF_THEM |= {"autoaugment"}
# The one that is no paper's.
OWN = "best"
FEW = {"net": "narrow", "epochs": 2, "batch": 24, "device": "cpu"}


@pytest.mark.parametrize("name", TRAININGS.names())
def test_each_is_a_training_that_the_loop_can_do(name: str) -> None:
    one = TRAININGS[name]
    assert one.summary.endswith(".")
    assert set(one.options) <= set(signature(hardy.train).parameters)
    known = {key: value for key, value in one.options.items() if key in HYPERPARAMETERS}
    own = {"ema"} if name == OWN else set()
    needless = {"drops"} if name == OWN else set()  # of a cosine
    assert {*HYPERPARAMETERS} - NONE_OF_THEM - needless | own == {*known}
    hyper = Hyperparameters(**known)
    assert all(drop < hyper.epochs for drop in hyper.drops)
    needed = {"corruption": "none"} if one.method in NEEDED else {}
    make_method(one.method, {**one.settings, **needed})


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("rusak2020", (70, 1e-3, 0.0, {0: 1e-3, 59: 1e-3, 60: 1e-4, 120: 1e-5})),
        ("augmix-imagenet", (256, 0.1, 1e-4, {0: 0.1, 60: 0.01, 179: 0.001})),
        ("patch-gaussian-imagenet", (256, 0.1, 1e-4, {29: 0.1, 30: 0.01, 60: 1e-3, 90: 1e-4})),
        ("noc-overlap", (256, 0.1, 1e-4, {39: 0.1, 40: 0.01, 60: 0.001})),
        ("plain-90", (256, 0.1, 1e-4, {29: 0.1, 30: 0.01, 60: 0.001})),
    ],
)
def test_figures_of_the_papers(name: str, figures: tuple) -> None:
    options = TRAININGS[name].options
    batch, lr, decay, rates = figures
    assert (options["batch"], options["lr"], options["weight_decay"]) == (batch, lr, decay)
    hyper = Hyperparameters(**{key: options[key] for key in HYPERPARAMETERS if key in options})
    assert not hyper.nesterov
    found = {epoch: learning_rate(hyper, 10 * epoch, 10 * hyper.epochs) for epoch in rates}
    assert found == pytest.approx(rates)


def test_what_is_said_comes_first() -> None:
    said = {"lr": 0.5, "epochs": 50, "batch": 256, "side": None}
    chosen = choose_training("patch-gaussian-imagenet", None, {"sigma": "0.3", "size": "250"}, said)
    assert chosen.method == "patch_gaussian"
    assert chosen.settings == {"size": "250", "smallest": 1, "sigma": "0.3"}
    assert chosen.options["lr"] == 0.5
    assert chosen.options["drops"] == [15, 30, 45]  # in proportion
    assert chosen.options["side"] == 224
    assert chosen.like == {
        "name": "patch-gaussian-imagenet",
        "said_otherwise": ["epochs", "lr", "sigma"],
    }
    assert told_like(chosen.like).endswith(", but for epochs, lr, sigma")


def test_the_method_of_its_name_follows_hardys_own_training() -> None:
    chosen = choose_training(None, OWN, {"share": "0.5"}, {"epochs": 20, "lr": None})
    assert (chosen.method, chosen.settings) == (OWN, {"share": "0.5"})
    assert chosen.options == {**TRAININGS[OWN].options, "epochs": 20}
    assert chosen.like == {"name": OWN, "said_otherwise": ["epochs", "share"]}
    assert choose_training("plain-90", OWN, None, {}).options["epochs"] == 90
    # Fine-tuning has a pace of its own, and other methods the usual recipe.
    for other in ((OWN, "zoo:resnet50"), ("augmix", None)):
        chosen = choose_training(None, other[0], {}, {"epochs": None}, init=other[1])
        assert (chosen.options, chosen.like) == ({}, None)


def test_another_method_has_its_own_settings() -> None:
    chosen = choose_training("rusak2020", "gauss_single", {}, {"lr": None}, init="file")
    assert chosen.settings == {}
    assert chosen.options["batch"] == 70
    assert chosen.like == {
        "name": "rusak2020",
        "said_otherwise": ["method"],
    }


@pytest.mark.parametrize("said", [{"recipe": "none@1"}, {"stream": False}])
def test_images_that_are_prepared_otherwise_are_not_cropped(said: dict) -> None:
    chosen = choose_training("plain-90", None, None, said)
    assert not {"side", "scale", "ratio"} & set(chosen.options)
    assert "drops" not in choose_training("plain-90", None, None, {"schedule": "cosine"}).options


def test_what_cannot_be() -> None:
    with pytest.raises(InputError, match="expected a method to train by, or a published training"):
        choose_training(None, None, None, {})
    with pytest.raises(InputError, match='unknown training "rusak"; did you mean "rusak2020"'):
        choose_training("rusak", None, None, {})
    with pytest.raises(InputError, match=r"begins with a ResNet-50 .* weights by `init`"):
        choose_training("rusak2020", None, None, {})


@pytest.mark.usefixtures("narrow")
def test_a_run_is_like_a_paper_and_says_so(tmp_path: Path, monkeypatch, run) -> None:
    monkeypatch.chdir(tmp_path)
    write_arrays(tmp_path)
    typed = [word for name, value in FEW.items() for word in (f"--{name}", str(value))]
    code, out, _ = run(
        *("train", "--as", "patch-gaussian-imagenet", "--data", "set.npz", "--out", "net"),
        *("--side", "12", "--drops", "1", "--set", "size=9", *typed),
    )
    assert code == 0
    assert "as patch-gaussian-imagenet, Lopes et al., 2019" in out
    assert "trained narrow by patch_gaussian" in out
    record = json.loads(Path("net/run.json").read_text())
    assert record["like"]["name"] == "patch-gaussian-imagenet"
    changed = ["net", "epochs", "batch", "drops", "side", "size"]
    assert record["like"]["said_otherwise"] == changed
    assert record["recipe"]["drops"] == [1.0]
    assert record["recipe"]["nesterov"] is False
    assert record["recipe"]["weight_decay"] == 1e-4
    assert record["method"] == {
        "name": "patch_gaussian",
        "size": 9,
        "sigma": 1.0,
        "smallest": 1,
    }
    assert record["data"]["streamed"]["crop"]["side"] == 12
    log = [json.loads(line)["lr"] for line in Path("net/log.jsonl").read_text().splitlines()]
    assert log == pytest.approx([0.1, 0.01])
    again = hardy.train(
        like="patch-gaussian-imagenet",
        data="set.npz",
        out="net",
        side=12,
        drops=[1],
        settings={"size": 9},
        **FEW,
    )
    assert again.epochs == 0  # the same run


@pytest.mark.usefixtures("narrow")
def test_noise_training_fine_tunes_from_a_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_arrays(tmp_path)
    hardy.train("standard", data="set.npz", out="plain", **FEW)
    made = hardy.train(
        like="rusak2020",
        data="set.npz",
        out="net",
        init="plain/model.safetensors",
        stream=False,
        settings={"restart_steps": 2},
        **FEW,
    )
    assert made.method == "ant"
    record = json.loads(Path("net/run.json").read_text())
    assert record["method"]["replayed"] == 0.1
    assert "streamed" not in record["data"]
    assert record["recipe"]["drops"] == pytest.approx([120 / 121, 240 / 121])


def test_plain_momentum_is_another_training(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("set.npz", images=random_images(24, 8, 8), labels=np.arange(24) % 3)
    losses = set()
    for nesterov in (True, False):
        made = hardy.train(
            "standard",
            data="set.npz",
            out=f"net{nesterov}",
            net="resnet_20",
            epochs=2,
            batch=12,
            nesterov=nesterov,
            device="cpu",
        )
        losses.add(made.log[-1]["loss"])
    assert len(losses) == 2
