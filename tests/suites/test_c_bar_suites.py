"""Both C-bar benchmarks from end to end: built, evaluated, scored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hardy
from hardy.suites import published
from tests.suites.helpers import built, write_photos, write_rows


def test_cifar_is_built_as_arrays(tmp_path: Path) -> None:
    built("cifar10_c_bar", write_rows(tmp_path, 5), tmp_path / "out", "counted")
    images = np.load(tmp_path / "rows.npz")["images"]
    for name in ("lines", "brownish_noise"):
        rows = np.load(tmp_path / "out" / f"{name}.npy")
        assert rows.shape == (25, 32, 32, 3)
        third = hardy.corrupt(images, name, 3, edition="c_bar_cifar")
        np.testing.assert_array_equal(rows[10:15], third)


def test_imagenet_is_built_as_folders(tmp_path: Path) -> None:
    write_photos(tmp_path / "photos", 2)
    names = ("blue_noise_sample", "perlin_noise")
    built("imagenet_c_bar", tmp_path / "photos", tmp_path / "out", *names, severities=(2,))
    files = sorted(tmp_path.glob("out/*/2/*/*.JPEG"))
    assert [file.relative_to(tmp_path / "out").parts[0] for file in files] == sorted(names * 2)


def test_the_score_is_the_plain_mean_error(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 12)
    run = hardy.evaluate("fake:10", suite="cifar10_c_bar", images=rows, store=tmp_path / "runs")
    scores = run.score()
    errors = [
        scores[f"error {name}"].value for name in published.load_table("cbar_cifar10").entries
    ]
    assert scores.headline[0].name == "mean error"
    assert scores["mean error"].value == pytest.approx(np.mean(errors), abs=1e-12)
    assert 80 < scores["mean error"].value < 100
    assert "mCE" not in scores


def test_published_points_beside_a_run() -> None:
    found = published.find("mean error", "imagenet_c_bar")
    assert {one.row: one.value.text for one in found} == {
        "baseline": "57.7±0.2",
        "AutoAugment": "55.7±0.3",
        "SIN": "55.8±0.3",
        "AugMix": "52.4±0.2",
        "PatchGaussian": "56.6±0.4",
        "ANT3x3": "53.9",
    }
    (delta,) = (one for one in published.find("delta", "cifar10_c_bar") if one.row == "AugMix")
    assert delta.notes == ("16.0 - 11.1 = 4.9, not the +5.9 printed.",)
