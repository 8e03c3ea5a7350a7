"""The plug-in of pytest, in runs of pytest of its own."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.scores import score_run
from hardy.scores.result_files import result_of, write_results
from tests.pages import ROOT
from tests.scores.helpers import errors, write_run

pytest_plugins = ["pytester"]

BEFORE = errors(images=60, names=("fog", "snow"), rate=0.4, clean=0.1)
WORSE = {cell: flags | (np.arange(60) < 25) for cell, flags in BEFORE.items()}


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Pytest with this plug-in alone, whether Hardy is installed or on Python's path; and a
    baseline of two models, as a store and as a file."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "hardy.share.pytest_plugin")
    runs = [write_run(pytester.path / "old", BEFORE, model=name) for name in ("net", "other")]
    text = write_results([result_of(score_run(run)) for run in runs])
    (pytester.path / "baseline.json").write_text(text, encoding="utf-8")
    return pytester


def evaluate(pytester: pytest.Pytester, model: str, wrong: Any, **changes: Any) -> Path:
    """A run of a later day."""
    new = f"{model} trained again"
    write_run(pytester.path / "runs", wrong, model=model, model_identity=new, **changes)
    return pytester.path / "runs"


@pytest.mark.parametrize("baseline", ["old", "baseline.json"])
def test_a_regression_fails_with_its_figures(pytester: pytest.Pytester, baseline: str) -> None:
    evaluate(pytester, "net", WORSE)
    evaluate(pytester, "other", BEFORE)
    done = pytester.runpytest("--hardy-baseline", baseline, "--hardy-runs", "runs", "-v")
    done.assert_outcomes(passed=1, failed=1)
    assert done.ret == 1
    done.stdout.fnmatch_lines(
        [
            "hardy::net on imagenet_c FAILED*",
            "hardy::other on imagenet_c PASSED*",
            "net on imagenet_c: a significant regression, *",
            "mCE: * in the baseline, * now, +* (worse)",
        ]
    )
    assert "Traceback" not in done.stdout.str()
    assert "def " not in done.stdout.str()


def test_what_cannot_be_compared_is_an_error_and_what_is_new_is_skipped(
    pytester: pytest.Pytester,
) -> None:
    evaluate(pytester, "net", BEFORE, ids=range(100, 160))
    evaluate(pytester, "fresh", BEFORE)
    done = pytester.runpytest("--hardy-baseline", "baseline.json", "--hardy-runs", "runs", "-rs")
    done.assert_outcomes(errors=2, skipped=1)
    text = done.stdout.str()
    assert "expected two scores made alike, got different image sets" in text
    assert "expected a run of other on imagenet_c, as the baseline has, got none; eval" in text
    assert "baseline.json has no run of fresh on imagenet_c" in text
    assert "def " not in text


def test_what_cannot_be_compared_is_told_once(pytester: pytest.Pytester) -> None:
    evaluate(pytester, "net", BEFORE)
    done = pytester.runpytest("--hardy-baseline", "runs", "--hardy-runs", "runs", "-rN")
    done.assert_outcomes(errors=1)
    assert done.stdout.str().count("got that run itself") == 1


def test_other_tests_run_beside_it_and_are_chosen_as_usual(pytester: pytest.Pytester) -> None:
    evaluate(pytester, "net", WORSE)
    evaluate(pytester, "other", BEFORE)
    pytester.makepyfile("def test_mine(): pass")
    options = ("--hardy-baseline", "baseline.json", "--hardy-runs", "runs")
    pytester.runpytest(*options).assert_outcomes(passed=2, failed=1)
    pytester.runpytest(*options, "-k", "mine or other").assert_outcomes(passed=2, deselected=1)
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_run_in_a_test_of_ones_own(pytester: pytest.Pytester) -> None:
    evaluate(pytester, "net", WORSE)
    evaluate(pytester, "other", BEFORE)
    pytester.makepyfile(
        """
        import hardy

        def test_net(hardy_baseline):
            hardy_baseline.check(hardy.runs("runs")[0])

        def test_other(hardy_baseline):
            judged = hardy_baseline.check(hardy.runs("runs")[1].score())
            assert "no significant regression" in str(judged)
        """
    )
    done = pytester.runpytest("--hardy-baseline", "baseline.json")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["net on imagenet_c: a significant regression, *"])
    done = pytester.runpytest("-rs")
    done.assert_outcomes(skipped=2)
    done.stdout.fnmatch_lines(["*no baseline is named: pytest --hardy-baseline PATH"])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ["--hardy-runs", "old"],
            "expected pytest --hardy-baseline PATH --hardy-runs STORE, got the latter",
        ),
        (
            ["--hardy-baseline", "old"],
            "expected pytest --hardy-baseline PATH --hardy-runs STORE, got the former alone and no "
            "test that takes the fixture hardy_baseline; name the store",
        ),
        (
            ["--hardy-runs", "old", "--hardy-baseline", "no.json"],
            "no.json: expected a result file in JSON, but",
        ),
        (
            ["--hardy-runs", "nowhere", "--hardy-baseline", "old"],
            "expected a folder with predictions, got nowhere, which is not there",
        ),
    ],
)
def test_wrong_options(pytester: pytest.Pytester, options: list[str], reason: str) -> None:
    done = pytester.runpytest(*options)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {reason}" in done.stderr.str()


def test_a_baseline_in_a_project_s_settings_waits_for_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_mine(): pass")
    pytester.makeini("[pytest]\naddopts = --hardy-baseline old")
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_file_that_cannot_be_imported_is_told_rather_than_a_gate_that_lacks(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("import nothing_of_the_kind")
    done = pytester.runpytest("--hardy-baseline", "old")
    done.assert_outcomes(errors=1)
    assert "nothing_of_the_kind" in done.stdout.str()


def test_pytest_of_others_imports_nothing_of_it() -> None:
    """It is loaded whenever pytest starts where Hardy is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    ((name, value),) = project["project"]["entry-points"]["pytest11"].items()
    loaded = EntryPoint(name, value, "pytest11").load()
    assert loaded.pytest_addoption
    code = (
        "import sys, pytest, _pytest.config; before = {*sys.modules}; "
        f"import {value}; print(*sorted({{*sys.modules}} - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "src"
    )
    mine = [one for one in done.stdout.split() if one.startswith("hardy")]
    assert mine == ["hardy", "hardy.errors", "hardy.share", value]
    assert "numpy" not in done.stdout.split()
