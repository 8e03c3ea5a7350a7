"""CIFAR-100's superclasses and groceries, on small stand-ins that have the real names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import hardy
from hardy.errors import InputError, MissingResource
from hardy.images import subtypes
from hardy.images.training_parts import without_held_out
from hardy.run.selection import open_subject
from hardy.suites import load
from tests.run.subtype_sets import CIFAR, GROCERIES, add_folder, here, write_cifar
from tests.train.small import narrow

__all__ = ["here", "narrow"]


@pytest.mark.parametrize("form", ["python", "binary"])
def test_superclasses_of_cifar_100(form: str, tmp_path: Path, narrow: None) -> None:
    folder, net = write_cifar(tmp_path / f"cifar-100-{form}", form), tmp_path / "net"
    hardy.train(
        "standard",
        data=folder,
        hold_out="superclass",
        out=net,
        net="narrow",
        epochs=2,
        mixup=1.0,
        mixup_each=True,
    )
    record = json.loads((net / "run.json").read_text())["data"]
    assert record["held_out"] == CIFAR
    assert record["classes"] == 20
    assert record["images"].startswith("160 images of 20 classes, seen subtypes")
    run = hardy.evaluate(f"hardy:{net}", suite=CIFAR, files=folder, store=tmp_path / "runs")
    scores = run.score()
    counted, beside = scores["accuracy"], scores["clean accuracy"]
    assert (counted.circumstances.images, beside.circumstances.images) == (40, 160)
    assert counted.circumstances.total == 2000
    assert "over subtypes" in counted.resampling
    assert "accuracy trees" in scores
    plain = tmp_path / "plain"
    hardy.train("standard", data=f"{folder}:train", out=plain, net="narrow", epochs=1)
    with pytest.raises(InputError, match="trained on 100 classes, and these images have 20"):
        hardy.evaluate(f"hardy:{plain}", suite=CIFAR, files=folder, store=tmp_path / "runs")
    with pytest.raises(InputError, match="expected `files` alone for cifar100_superclass"):
        open_subject(load(CIFAR), images=folder, files=folder)


def test_labels_without_names_are_numbers(tmp_path: Path) -> None:
    folder = write_cifar(tmp_path / "cifar", "binary")
    (folder / "fine_label_names.txt").unlink()
    part, name = without_held_out(folder, CIFAR)
    assert (len(part), name) == (160, CIFAR)
    with pytest.raises(InputError, match=r"expected the classes of a suite of broad types.*cifar"):
        without_held_out(folder, "superclass")
    np.savez(tmp_path / "more.npz", images=np.zeros((3, 8, 8, 3), np.uint8), labels=[0, 1, 100])
    with pytest.raises(InputError, match=r"expected labels below 100, .* got 100"):
        without_held_out(tmp_path / "more.npz", CIFAR)
    with pytest.raises(InputError, match=r'unknown protocol "superclas".*superclass'):
        without_held_out(folder, "superclas")


def test_groceries_run_the_same_protocol(
    here: Path, narrow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subtypes, "grocery_folder", lambda: here / "cache")
    with pytest.raises(MissingResource, match="hardy fetch groceries"):
        without_held_out("groceries", "superclass")
    for number, one in enumerate(load(GROCERIES).shift.types.values()):
        for kind in (*one.seen, *one.unseen):
            for part in ("train", "test"):
                add_folder(here / "cache/fine" / part, kind, number, 4, part)
    found = hardy.probe("torch:net.py:make", suite=GROCERIES, data="groceries", out="g.safetensors")
    assert found.images + found.validation_images == 11 * 4
    model = "linear:g.safetensors"
    scores = hardy.evaluate(model, suite=GROCERIES, files="groceries", trust=True).score()
    assert scores["accuracy"].circumstances.images == 3 * 4
    assert scores["clean accuracy"].circumstances.images == 11 * 4
    assert "over images" in scores["accuracy"].resampling  # three subtypes tell too little
    assert "accuracy Orange" not in scores  # it has one kind, which is seen
    assert "top-5 accuracy" not in scores
    hardy.train(
        "standard",
        data="groceries",
        hold_out="superclass",
        recipe="resize64_exact@1",
        out="net",
        net="narrow",
        epochs=1,
    )
    shutil.rmtree("cache/fine/test/Kaiser")
    with pytest.raises(InputError, match=r"14 classes .* 1 are missing, such as Kaiser"):
        hardy.evaluate(model, suite=GROCERIES, files="groceries", trust=True)
