"""The demo, with a few of its images; `make demo` runs all of it."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from hardy import cli
from hardy import demonstration as demo
from hardy.store.reader import find_runs


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    images, labels = demo.digits()
    few = demo.TRAINED_ON + 40
    monkeypatch.setattr(demo, "digits", lambda: (images[:few], labels[:few]))
    monkeypatch.chdir(tmp_path)


def test_digits_are_real_and_of_cifars_size() -> None:
    images, labels = demo.digits()
    assert images.shape == (1797, 32, 32, 3)
    assert images.dtype == np.uint8
    assert (images[..., 0] == images[..., 2]).all()
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    # A zero has its hole, and ink around it.
    assert images[0, 16, 16, 0] < 20 < 120 < images[0, 16, 8:13, 0].max()


def test_classifiers_learn(few: None) -> None:
    images, labels = demo.digits()
    for model in demo.classifiers(images[: demo.TRAINED_ON], labels[: demo.TRAINED_ON]):
        right = model.logits(images[-40:]).argmax(axis=1) == labels[-40:]
        assert right.mean() > 0.8, model.name


def test_demo(
    few: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["hardy", "demo"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    out = capsys.readouterr().out
    names = ("logistic regression", "support vectors", "random forest")
    for word in ("logistic", "support vectors", "random forest", "zoom_blur", "translate"):
        assert word in out
    for word in ("mean error", "flip probability"):
        assert word in out
    assert f"open {Path('hardy-demo/report.html').resolve().as_uri()}" in out
    assert Path("hardy-demo/report.html").stat().st_size < 8_000_000
    runs = find_runs(Path("hardy-demo/runs"))
    assert sorted((run.suite, len(run.ids)) for run in runs) == sorted(
        (suite, 40) for suite in demo.SUITES for _ in names
    )
    assert all(len(run.cells) == (76 if run.suite == "cifar10_c" else 14) for run in runs)
    with open("hardy-demo/scores.csv", newline="") as file:
        rows = {(row["model"], row["name"]): row for row in csv.DictReader(file)}
    results = json.loads(Path("hardy-demo/scores.json").read_text())
    assert len(results) == 6
    row = rows["support vectors (demo)", "mean error"]
    assert 0 < float(row["low"]) < float(row["value"]) < float(row["high"]) < 40
    assert Path("hardy-demo/sheet.png").stat().st_size > 1_000_000
