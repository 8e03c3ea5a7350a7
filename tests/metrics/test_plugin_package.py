"""A metric that another package brings: listed, scored with an interval, compared, reported."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from tests.plugins import install_plugin
from tests.scores.helpers import errors, write_run

CODE = '''
    from hardy.metrics import metric

    @metric("confidence", title="Confidence", unit="%", lower_is_better=False)
    def confidence(confidence):
        """The probability of the best class, in the mean."""
        return confidence
'''
WRONG = errors(names=("fog", "snow"), images=40)


@pytest.fixture(scope="module")
def hardy(tmp_path_factory: pytest.TempPathFactory):
    """`hardy` beside the plug-in, in a folder with a store of a sure and an unsure model."""
    folder = tmp_path_factory.mktemp("plugin")
    command = install_plugin(folder, "hardy.metrics", "confidence", "confidence", CODE)
    write_run(folder / "runs", WRONG, model="unsure")
    write_run(folder / "runs", WRONG, model="sure", top=0.9)
    return command


def test_it_is_listed_and_in_help(hardy) -> None:
    (line,) = [one for one in hardy("ls", "metrics").splitlines() if one.startswith("confidence")]
    assert "The probability of the best class" in line
    assert "confidence" in hardy("score", "--help")


def test_it_is_scored_with_an_interval(hardy) -> None:
    rows = csv.DictReader(io.StringIO(hardy("score", "runs", "--format", "csv")))
    found = {(row["model"], row["name"]): row for row in rows}
    for name in ("confidence", "clean confidence", "confidence fog"):
        row = found["sure", name]
        assert float(row["value"]) == pytest.approx(90, abs=1e-4)
        assert float(row["low"]) < 90 < float(row["high"]), "of few images"
        assert row["unit"] == "%"
    markdown = hardy("score", "runs", "--format", "md")
    (sure,) = [line for line in markdown.splitlines() if line.startswith("| sure |")]
    (unsure,) = [line for line in markdown.splitlines() if line.startswith("| unsure |")]
    assert "**90." in sure, "higher is better"
    assert "**70." not in unsure
    assert "### imagenet_c: confidence, corruption by corruption" in markdown


def test_it_is_in_result_files_that_others_can_read(hardy, tmp_path: Path) -> None:
    """Also where the plug-in is not installed: here."""
    from hardy.scores.result_files import read_results

    path = tmp_path / "results.json"
    path.write_text(hardy("score", "runs", "--format", "json"))
    (result, _) = read_results(path)
    assert result.headline[-1] == "clean confidence"
    assert not result.scores["confidence"].lower_is_better
    assert result.scores["mCE"].lower_is_better
    data = json.loads(path.read_text())
    for entry in data[0]["scores"]:
        assert ("lower_is_better" in entry) == ("confidence" in entry["name"])


def test_it_is_compared(hardy) -> None:
    out = hardy("compare", "runs", "unsure", "sure")
    assert "sure is significantly better in confidence, clean confidence than unsure" in out
    (row,) = [line for line in out.splitlines() if line.startswith("confidence fog")]
    assert "+20." in row
    out = hardy("compare", "runs", "sure", "unsure")
    assert "significantly worse in confidence" in out
    assert "no significant regression in mCE and clean error" in out, "unless it decides"


def test_it_is_in_the_report(hardy, tmp_path: Path) -> None:
    hardy("report", "runs", "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "clean confidence" in page
    assert "Confidence by corruption" in page
    hardy("plot", "runs", "bars", "--score", "confidence", "-o", tmp_path / "bars.svg")
    assert np.char.find((tmp_path / "bars.svg").read_text(), "fog") > 0
