"""A suite without severities, whose names have a prefix: the page of ImageNet-NOC's."""

from __future__ import annotations

from pathlib import Path

from hardy import evaluate
from hardy.report.bars import bars
from hardy.report.figures import figures
from hardy.report.gathered import gather
from hardy.report.page import render_report
from hardy.report.words import spoken
from hardy.suites import load
from tests.suites.helpers import write_rows


def test_names_are_spoken_without_the_prefix_and_nothing_rises(tmp_path: Path) -> None:
    evaluate(
        "fake:10",
        suite="cifar10_noc_23",
        images=write_rows(tmp_path, 20),
        store=tmp_path / "runs",
        only=["noc_rain", "noc_salt_pepper"],
    )
    report = gather(tmp_path / "runs")
    (section,) = report.sections
    assert not section.suite.graded
    assert {one for series in bars(section)[0].panels[0].series for one in series.y} == {
        "rain",
        "salt pepper",
    }
    assert not [figure for figure in figures(section) if "severity" in figure.title]
    page = render_report(report).decode()
    assert "salt pepper" in page
    assert "noc rain" not in page


def test_spoken_names_of_a_suite_stay_apart() -> None:
    for name in ("noc_23", "imagenet_noc", "imagenet_c", "imagenet_c_bar"):
        names = load(name).corruptions
        assert len(set(map(spoken, names))) == len(names)
