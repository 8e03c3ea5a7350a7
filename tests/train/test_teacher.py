"""Knowledge distillation: the loss, whom it fits, what is recorded, and that it resumes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from hardy import train
from hardy.errors import InputError
from hardy.models import load_model
from hardy.models.model import ModelFacts, Preprocessing
from hardy.progress import untracked
from hardy.train.loop import run_training
from hardy.train.method import Draw, make_method
from hardy.train.softening import Softening
from hardy.train.teacher import Teacher
from hardy.train.trained_model import trained_as
from tests.train.small import CPU, NARROW, narrow, small_data, write_arrays
from tests.train.test_loop import killed_in, same, weights
from tests.train.tiny import bytes_of, linear_net

__all__ = ["narrow"]


class Bright:
    """A model that is sure of the class that the mean brightness tells; it takes arrays."""

    name, identity, preprocessing = "bright", "b" * 64, None
    facts = ModelFacts(class_names=None, seen_corruptions=("fog",))
    device, precision = "cpu", "float32"

    def logits(self, images: Any, preprocessing: Preprocessing | None = None) -> np.ndarray:
        assert images.dtype == np.uint8
        assert images.shape[3] == 3
        mean = images.reshape(len(images), -1).mean(1, keepdims=True)
        return np.concatenate([-mean, mean - 128, np.zeros_like(mean)], 1).astype(np.float32) / 16


def test_the_sum_of_both_losses_is_one_cross_entropy() -> None:
    images, labels = bytes_of(6), torch.tensor([0, 1, 2, 0, 1, 2])
    teacher = Teacher(Bright(), 0.7)
    softened = Softening(replace(NARROW, label_smoothing=0.1), 3, Draw(0, CPU), teacher)
    shown, targets = softened(images, labels, 0)
    assert shown is images
    net = linear_net()
    loss = make_method("standard").loss(net, shown, targets)
    logits = net(images.float() / 255)
    taught = torch.from_numpy(Bright().logits(images.permute(0, 2, 3, 1).numpy())).softmax(1)
    wanted = functional.cross_entropy(logits, labels, label_smoothing=0.1)
    wanted = wanted - 0.7 * (taught * logits.log_softmax(1)).sum(1).mean()
    torch.testing.assert_close(loss, wanted)


def test_answers_are_mixed_with_the_images_and_are_of_those_before_autoaugment() -> None:
    images, labels = bytes_of(4), torch.tensor([0, 1, 2, 0])
    recipe = replace(NARROW, mixup=0.5, autoaugment="cifar", batch=4)
    part = Draw(0, CPU).beta(0.5, 3)
    _, targets = Softening(recipe, 3, Draw(0, CPU), Teacher(Bright()))(images, labels, 3)
    alone = functional.one_hot(labels, 3) + Teacher(Bright()).answers(images)
    torch.testing.assert_close(targets, part * alone + (1 - part) * alone.roll(1, 0))
    assert targets.sum(1).tolist() == pytest.approx([2.0] * 4)


def test_a_module_is_asked_where_its_images_are(narrow, tmp_path: Path) -> None:
    run_training("standard", small_data(tmp_path), tmp_path / "net", replace(NARROW, epochs=1))
    model = load_model(f"hardy:{tmp_path / 'net'}", device="cpu")
    images = bytes_of(5, 16)
    found = Teacher(model).answers(images)
    wanted = torch.from_numpy(model.logits(images.permute(0, 2, 3, 1).contiguous().numpy()))
    torch.testing.assert_close(found, wanted.softmax(1))
    assert not found.requires_grad


@pytest.mark.parametrize("method", ["standard", "augmix", "noisy_mix", "ant"])
def test_it_resumes_to_the_same_weights(method: str, narrow, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("hardy.train.loop.SAVE_SECONDS", 0.0)
    data, recipe = small_data(tmp_path), replace(NARROW, deterministic=True)
    given: dict[str, Any] = {"settings": {"restart_steps": 1} if method == "ant" else {}}
    run_training(method, data, tmp_path / "plain", recipe, **given)
    given["teacher"] = Teacher(Bright())
    run_training(method, data, tmp_path / "whole", recipe, **given)
    with pytest.raises(KeyboardInterrupt):
        run_training(method, data, tmp_path / "cut", recipe, **given, track=killed_in(2))
    run_training(method, data, tmp_path / "cut", recipe, **given)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert not same(weights(tmp_path / "whole"), weights(tmp_path / "plain"))


def test_a_run_names_its_teacher_and_resumes_with_that_only(narrow, tmp_path) -> None:
    data, recipe, out = small_data(tmp_path), replace(NARROW, epochs=1), tmp_path / "out"
    result = run_training("standard", data, out, recipe, teacher=Teacher(Bright(), 0.5))
    assert result.seen == ["fog"]
    run = json.loads((out / "run.json").read_text())
    assert run["teacher"] == {"model": "bright", "sha256": "b" * 64, "weight": 0.5}
    assert trained_as(run).methods == ("standard", "a teacher")
    moved = Bright()
    moved.name = "elsewhere"  # type: ignore[misc]
    assert run_training("standard", data, out, recipe, teacher=Teacher(moved, 0.5)).epochs == 0
    with pytest.raises(InputError, match=r"teacher\.weight is 1\.0 and was 0\.5"):
        run_training("standard", data, out, recipe, teacher=Teacher(Bright()))
    with pytest.raises(InputError, match=r"teacher\.sha256 is None and was 'bbbb"):
        run_training("standard", data, out, recipe)
    plain = tmp_path / "plain"
    run_training("standard", data, plain, recipe)
    assert "teacher" not in json.loads((plain / "run.json").read_text())


def test_teachers_that_do_not_fit(narrow, tmp_path) -> None:
    data = small_data(tmp_path)
    for weight in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="expected `teacher_weight` above 0"):
            Teacher(Bright(), weight)
    with pytest.raises(InputError, match=r"`teacher` of the 4 classes .* tells 3 apart"):
        Teacher(Bright()).check_fits(replace(data, classes=4), CPU)
    named = Bright()
    named.facts = ModelFacts(class_names=("a", "b", "c"))  # type: ignore[misc]
    with pytest.raises(InputError, match="class 1 is 'x', got 'b' of bright"):
        Teacher(named).check_fits(replace(data, names=("a", "x", "c")), CPU)
    Teacher(named).check_fits(replace(data, names=("a", "b", "c")), CPU)
    other = replace(data, classes=4)
    with pytest.raises(InputError, match="tells 3 apart"):
        run_training("standard", other, tmp_path / "out", NARROW, teacher=Teacher(Bright()))
    assert not (tmp_path / "out").exists()


def test_one_net_teaches_another(narrow, tmp_path: Path) -> None:
    data = write_arrays(tmp_path)
    given: dict[str, Any] = {"net": "narrow", "epochs": 1, "device": "cpu", "track": untracked}
    train("gauss_single", data=data, out=tmp_path / "teacher", **given)
    taught = train(
        "standard",
        data=data,
        out=tmp_path / "net",
        teacher=f"hardy:{tmp_path / 'teacher'}",
        teacher_weight=2.0,
        autoaugment="cifar",
        **given,
    )
    assert {"gaussian_noise", "contrast"} <= {*taught.seen}
    run = json.loads((tmp_path / "net/run.json").read_text())
    assert run["teacher"]["weight"] == 2.0
