"""A figure of another package, installed by pip, is listed, drawn on the page and in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hardy as public
from hardy.report.figures import CORRUPTIONS, FIGURES, Figure, Form, Panel, Series, figure
from tests.plugins import install_plugin, pretend
from tests.report.pages import Parsed
from tests.report.stores import write_run

GAPS = '''
    from hardy.report.figures import CORRUPTIONS, Figure, Need, Panel, Series, figure

    SEVERAL = Need("several models", lambda section: len(section.entries) > 1)


    @figure(needs=(CORRUPTIONS, SEVERAL))
    def gaps(section):
        """How far each model is behind the best."""
        errors = [entry.scores["mean error"].value for entry in section.entries]
        series = tuple(
            Series(entry.label, (error - min(errors),), ("gap",), entry.style)
            for entry, error in zip(section.entries, errors)
        )
        return [
            Figure(
                name=f"{section.slug}-gaps",
                kind="bars",
                score="mean error",
                title="Behind the best",
                sees=f"{section.entries[-1].label} is last.",
                x_title="Points",
                y_title="",
                panels=(Panel("", series),),
            )
        ]
'''


def test_a_plugin_brings_a_figure(tmp_path: Path) -> None:
    hardy = install_plugin(tmp_path, "hardy.figures", "gaps", "gaps", GAPS)
    for model, skill in (("good", 4.0), ("bad", 0.5)):
        write_run(tmp_path / "runs", model, "cifar10_c", images=12, classes=10, skill=skill)
    write_run(tmp_path / "alone", "good", "cifar10_c", images=12, classes=10)

    lines = [line.split(maxsplit=1) for line in hardy("ls", "figures").splitlines()]
    assert ["gaps", "How far each model is behind the best."] in lines
    assert "training, gaps." in " ".join(hardy("plot", "--help").replace("│", " ").split())

    hardy("report", "runs", "-o", "report.html")
    page = Parsed((tmp_path / "report.html").read_bytes())
    assert "bad is last." in page.text
    (data,) = (json.loads(text) for text in page.scripts if text.startswith('{"cifar10-c-'))
    assert [trace["name"] for trace in data["cifar10-c-gaps-0"]["data"]] == ["good", "bad"]

    assert "bad is last." in hardy("plot", "runs", "gaps", "-o", "gaps.svg")
    assert (tmp_path / "gaps.svg").read_bytes().startswith(b"<?xml")

    hardy("report", "alone", "-o", "alone.md")
    assert "Behind the best" not in (tmp_path / "alone.md").read_text()


def on_page(panel: Panel) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    traces = [
        {"type": "scatterpolar", "r": one.x, "theta": one.y, "fill": "toself", "meta": one.key}
        for one in panel.series
    ]
    return traces, {"height": 512, "polar": {"radialaxis": {"range": [0, 100]}}}


def on_paper(axis: Any, panel: Panel) -> None:
    sheet, place = axis.figure, axis.get_subplotspec()
    axis.remove()
    polar = sheet.add_subplot(place, projection="polar")
    for one in panel.series:
        polar.plot(range(len(one.x)), one.x)
    polar.set_title("seen from above")


@figure(needs=(CORRUPTIONS,))
def radar(section: Any) -> list[Figure]:
    """The errors as a polygon."""
    found = [(entry, entry.scores.singles()["error"]) for entry in section.entries]
    series = tuple(
        Series(entry.label, tuple(one.value for one in errors.values()), tuple(errors), entry.style)
        for entry, errors in found
    )
    name, form = f"{section.slug}-radar", Form(on_page, on_paper)
    return [Figure(name, form, "error", "Around", "A polygon.", "", "", (Panel("", series),))]


def test_a_figure_brings_a_form_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, FIGURES, {"radar": f"{__name__}:radar"})
    write_run(tmp_path / "runs", "good", "cifar10_c", images=12, classes=10)
    public.report(tmp_path / "runs", tmp_path / "report.html")
    page = Parsed((tmp_path / "report.html").read_bytes())
    (data,) = (json.loads(text) for text in page.scripts if text.startswith('{"cifar10-c-'))
    drawn = data["cifar10-c-radar-0"]
    assert [trace["type"] for trace in drawn["data"]] == ["scatterpolar"]
    assert len(drawn["data"][0]["r"]) == 15
    assert drawn["layout"]["height"] == 512
    assert drawn["layout"]["polar"]["radialaxis"]["range"] == [0, 100]
    assert drawn["layout"]["showlegend"] is False, "what it leaves open is as elsewhere"

    public.plot(tmp_path / "runs", "radar", tmp_path / "radar.svg")
    assert "seen from above" in (tmp_path / "radar.svg").read_text()
    public.report(tmp_path / "runs", tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 0
