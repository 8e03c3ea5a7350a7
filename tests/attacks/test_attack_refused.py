"""Attacks that cannot be, and files of them that are damaged: said in words."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.attacks.attack import AttackImages
from hardy.attacks.measurement import check_differentiable
from hardy.errors import HardyError, InputError
from hardy.images.datasets import CLASSES
from hardy.models import load_model
from hardy.models.defences.input_filters import trained_behind
from hardy.report.gathered import gather
from hardy.report.page import render_report
from hardy.store.attack_files import read_attacks
from tests.attacks.coloured import IMAGES, LABELS, QUICK, ByColour, coloured, stored
from tests.records import read_unsealed


def test_images_to_fit_on_have_the_size_of_those_to_measure() -> None:
    """Also where they differ among themselves."""
    for place, name in enumerate(CLASSES):
        side = 32 if place < 9 else 16
        Path(f"more/{name}").mkdir(parents=True)
        image = coloured(1, seed=3 + place)[0, :side]
        Image.fromarray(image).save(f"more/{name}/a.png")
    np.savez("small.npz", images=coloured(12, seed=3)[:, :16, :16], labels=LABELS[:12])
    for images, shape in (("small.npz", "16, 16, 3"), ("more", "16, 32, 3")):
        with pytest.raises(InputError, match=rf"\(32, 32, 3\), got \({shape}\) of .*; resize"):
            hardy.attack(ByColour(), images=IMAGES, labels=LABELS, attack_images=images, **QUICK)
    assert not list(Path().glob("runs/**/attack-*"))


def test_a_file_of_models_alone_is_refused() -> None:
    """There would be one result for several models."""
    with pytest.raises(InputError, match=r'file of models in a list, \["models.toml"\], got it al'):
        hardy.attack("models.toml", images=IMAGES, labels=LABELS, **QUICK)


def test_images_to_fit_on_have_the_classes_of_those_to_measure() -> None:
    np.savez("more.npz", images=coloured(12, seed=3), labels=np.arange(12))
    with pytest.raises(InputError, match="of the 10 classes of those to measure, got 12"):
        hardy.attack(
            ByColour(),
            images=IMAGES,
            labels=np.arange(40) % 10,
            attack_images="more.npz",
            own_classes=True,
            **QUICK,
        )
    assert not Path("runs").exists()


def test_an_image_to_fit_on_that_is_measured_too_is_refused() -> None:
    """Also under another id, and when it is one of many."""
    shown = np.concatenate([coloured(11, seed=3), IMAGES[7:8]])
    np.savez("more.npz", images=shown, labels=LABELS[:12])
    with pytest.raises(InputError, match=r'got 1 in both, the first of them "7"; name others'):
        hardy.attack(ByColour(), images=IMAGES, labels=LABELS, attack_images="more.npz", **QUICK)
    assert not list(Path().glob("runs/**/attack-*"))


def test_a_full_disk_is_told_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    from hardy.store import attack_files as attacked

    def full(path: Path) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(attacked, "whole_file", full)
    words = r"attack-ant-\w+\.json could not be written \(No space .*%.* Gaussian .* attacks again"
    with pytest.raises(HardyError, match=words):
        hardy.attack(ByColour(), images=IMAGES, labels=LABELS, **QUICK)


def test_what_has_no_clean_images_is_refused() -> None:
    class Without:
        classes = SimpleNamespace(labels=np.zeros(3, np.int64))

        def clean_images(self, rows: Any) -> None:
            return None

    with pytest.raises(InputError, match="expected clean images"):
        AttackImages(Without(), np.arange(3)).images(slice(0, 2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "fake:10"}, "that torch can differentiate .* got fake:10"),
        ({"model": []}, "expected at least one model"),
        ({"noise": "ant4x4"}, 'did you mean "ant3x3"'),
        ({"steps": 0}, "expected at least 1 step to fit the noise in, got 0"),
        ({"epsilon": 0.0}, "expected epsilon from 0.001 to 55.43 at 32 px, got 0"),
        ({"epsilon": 1e-300}, "expected epsilon from 0.001 to 55.43 at 32 px, got 1e-300"),
        ({"epsilon": float("nan")}, "expected epsilon from 0.001 to 55.43 at 32 px, got nan"),
        ({"epsilon": 55.5}, "at most 55.43, the distance from black to white at 32 px, got 55.5"),
        ({"epsilon": 1e300}, r"at most 55.43, .* got 1e\+300, which no noise reaches"),
        ({"suite": "cifar10_p"}, "expected a suite of corruptions"),
        ({"labels": None}, "label"),
        ({"images": IMAGES[:3], "labels": LABELS[:3]}, "at least 4 images to attack, got 3"),
        ({"defend": "clahe"}, r"got ByColour\+clahe, .* \(clahe: .*; attack ByColour without it"),
    ],
)
def test_refusals(changes: dict[str, Any], message: str) -> None:
    options = {"model": ByColour(), "images": IMAGES, "labels": LABELS, **QUICK, **changes}
    with pytest.raises(InputError, match=message):
        hardy.attack(options.pop("model"), **options)
    assert not list(Path().glob("runs/*/attack-*"))
    if len(options["images"]) == 40:  # all else is known before the first prediction
        assert not Path("runs").exists()


def test_a_net_trained_on_filtered_images_is_refused() -> None:
    model = trained_behind(load_model(ByColour()), "clahe")
    with pytest.raises(
        InputError, match=r"\(clahe: .*, as it was trained\); it cannot be attacked"
    ):
        check_differentiable(model)


def test_a_damaged_file_is_named() -> None:
    hardy.attack(ByColour(), images=IMAGES, labels=LABELS, **QUICK)
    (path,) = stored().folder.glob("attack-ant-*.json")
    content = read_unsealed(path)
    for field, wrong in (
        ("hardy_attack", 1),
        ("measured_hash", None),
        ("clean", [1, 2]),
        ("samples", [["?", "?"]]),
        ("edges", [0.0]),
        ("epsilon", None),
        ("epsilon", 10**400),
    ):
        path.write_text(json.dumps(content | {field: wrong}))
        with pytest.raises(InputError, match=r"attack-ant-\w+\.json: .*expected .*delete it"):
            read_attacks(stored())
    path.write_text(json.dumps(content | {"patches": ["AAAA"]}))
    with pytest.raises(InputError, match="expected pictures in its attacks"):
        render_report(gather(Path("runs")))


def test_all_models_are_looked_at_before_the_first_is_attacked(run, tmp_path: Path) -> None:
    np.savez("set.npz", images=IMAGES, labels=LABELS)
    (tmp_path / "colours.py").write_text("from tests.attacks.coloured import made\n")
    few = ("--suite", "cifar10_c", "--images", "set.npz")
    code, _, err = run("eval", "torch:colours:made", "fake:10", "--attack", "ant", *few)
    assert code == 2
    assert "torch can differentiate" in err
    assert not Path("runs").exists()
