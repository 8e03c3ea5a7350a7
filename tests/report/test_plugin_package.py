"""A figure of another package, installed by pip, is listed, drawn on the page and in a file."""

from __future__ import annotations

import json
from pathlib import Path

from tests.plugins import install_plugin
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
    assert "noise, gaps." in " ".join(hardy("plot", "--help").replace("│", " ").split())

    hardy("report", "runs", "-o", "report.html")
    page = Parsed((tmp_path / "report.html").read_bytes())
    assert "bad is last." in page.text
    (data,) = (json.loads(text) for text in page.scripts if text.startswith('{"cifar10-c-'))
    assert [trace["name"] for trace in data["cifar10-c-gaps-0"]["data"]] == ["good", "bad"]

    assert "bad is last." in hardy("plot", "runs", "gaps", "-o", "gaps.svg")
    assert (tmp_path / "gaps.svg").read_bytes().startswith(b"<?xml")

    hardy("report", "alone", "-o", "alone.md")
    assert "Behind the best" not in (tmp_path / "alone.md").read_text()
