"""Tables and rankings follow the facts of the metrics, also of those that others bring."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardy.metrics import METRICS
from hardy.metrics.metric import HEADLINE, Metric
from hardy.report.gathered import gather
from hardy.report.headline import group_tables, headline, headline_summary
from hardy.report.leaderboard import boards, render_leaderboard
from hardy.report.page import render_report
from hardy.report.submitted import find_results
from hardy.report.write import scored
from tests.report.stores import write_run


def sureness(confidence: np.ndarray) -> np.ndarray:
    """How sure the model is of its best class."""
    return confidence


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Metric:
    """A metric of another group, or of the headline alone; more of it is better."""
    group = request.param
    metric = Metric("sureness", sureness, unit="%", lower_is_better=False, group=group)
    # Clean accuracy is made of the error, so that one stays.
    others = {"error": METRICS["error"]} if group == HEADLINE else METRICS._objects
    monkeypatch.setattr(METRICS, "_objects", {metric.name: metric, **others})
    return metric


def write_two(folder: Path) -> None:
    for model, skill in (("sure", 6.0), ("unsure", 0.5)):
        write_run(folder, model, "cifar10_c", images=30, classes=10, skill=skill, worst=False)


@pytest.mark.parametrize("known", ["habits"], indirect=True)
def test_a_metric_has_a_place_in_the_table_of_its_group(known: Metric, tmp_path: Path) -> None:
    write_two(tmp_path)
    report = gather(tmp_path)
    tables = {table.title: table for table in group_tables(report.sections[0])}
    assert list(tables) == ["Habits", "Calibration"]
    assert tables["Habits"].columns == ("clean sureness", "sureness")
    assert tables["Habits"].captions == ("sureness: How sure the model is of its best class.",)
    assert headline(report.sections[0]).columns[-2:] == ("mAUDE", "ECE")
    page = render_report(report).decode()
    assert "<h3>Habits in numbers</h3>" in page
    assert "everywhere except in accuracy, clean sureness and sureness." in page


@pytest.mark.parametrize("known", [HEADLINE], indirect=True)
def test_where_higher_is_better_the_highest_leads(known: Metric, tmp_path: Path) -> None:
    write_two(tmp_path / "runs")
    report = gather(tmp_path / "runs")
    section = report.sections[0]
    assert section.entries[0].main.name == "sureness"
    values = [entry.main.value for entry in section.entries]
    assert values == sorted(values, reverse=True)
    assert headline_summary(section).startswith(
        f"{section.entries[0].label} holds up best: sureness "
    )
    assert " is -" not in headline_summary(section)
    (tmp_path / "result.json").write_text(scored(report, pytest.fail).as_json())
    (board,) = boards(find_results([tmp_path / "result.json"]))
    assert [row.rank for row in board.rankings[0].rows] == [1, 2]
    assert board.rankings[0].rows[0].name == section.entries[0].label
    page = render_leaderboard(find_results([tmp_path / "result.json"])).decode()
    assert "Ranked by sureness, higher is better</h3>" in page
    assert "Lower is better, unless a heading says otherwise." in page
