from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardy
from hardy.images.display import batch_html
from hardy.notebook import GREY, table_html
from hardy.report import palette
from hardy.report.gathered import StoreReport
from hardy.scores import text_tables
from hardy.scores.text_tables import scores_html
from hardy.suites import load
from tests.report.conftest import MARKUP, QUOTES
from tests.report.pages import Parsed, check_safe


def test_scores_show_number_interval_and_circumstances(report: StoreReport) -> None:
    scores = report.sections[0].entries[0].scores
    html = scores_html(scores.headline, [str(scores["mCE"].circumstances), QUOTES], title=MARKUP)
    parsed = Parsed(html.encode())
    check_safe(parsed)
    text = "".join(parsed.text)
    assert MARKUP in text
    assert QUOTES in text
    assert scores["mCE"].figure() in text
    assert str(scores["mCE"].circumstances) in text
    assert len(parsed.all("svg")) == len(scores.headline)


def test_a_score_shows_itself(report: StoreReport) -> None:
    score = report.sections[0].entries[0].scores["mCE"]
    assert score.figure() in "".join(Parsed(score._repr_html_().encode()).text)


def test_a_batch_shows_its_first_images() -> None:
    images = np.zeros((20, 16, 24, 3), np.uint8)
    parsed = Parsed(batch_html(images, [MARKUP]).encode())
    check_safe(parsed)
    assert len(parsed.all("img")) == 12
    assert "and 8 more" in "".join(parsed.text)
    assert parsed.all("img")[0]["alt"] == MARKUP


def shown(thing: Any) -> Parsed:
    """What a notebook shows of it, which may load nothing and have no colours but the grey."""
    html = thing._repr_html_()
    parsed = Parsed(html.encode())
    check_safe(parsed)
    assert not parsed.scripts
    styles = [attributes.get("style", "") for _, attributes in parsed.elements]
    colours = [style for style in styles if "color" in style or "background" in style]
    assert {*colours} <= {f"color: {GREY}"}
    return parsed


def test_a_comparison_shows_its_table(store: Path) -> None:
    compared = hardy.compare(MARKUP, QUOTES, store=store, suite="imagenet_c")
    parsed = shown(compared)
    text = "".join(parsed.text)
    (table,) = compared.tables(brief=True)
    for part in (table.title, *table.header, *table.notes):
        assert part in text
    assert len(parsed.all("tr")) == 1 + len(table.rows)
    assert len(parsed.all("b")) == 1 + len(table.best)  # the title, and what is significant
    assert compared.headline[0].figure() in text


def test_scores_of_a_store_show_a_row_for_each_model(store: Path) -> None:
    scored = hardy.score(store, suite="imagenet_c")
    text = "".join(shown(scored).text)
    for scores in scored:
        assert scores.model in text
        assert scores["mCE"].bare() in text


def test_runs_show_what_there_is(store: Path) -> None:
    runs = hardy.runs(store)
    parsed = shown(runs)
    text = "".join(parsed.text)
    assert "5 runs" in text
    assert len(parsed.all("tr")) == 6
    for run in runs:
        assert run.model in text
        assert run.folder.name in text
    assert "1 run" in shown(hardy.runs(runs[0].folder)).text[0]


@pytest.mark.parametrize("name", ["imagenet_c", "cifar10_p", "imagenet_a", "imagenet_c_bar"])
def test_a_suite_shows_what_it_is(name: str) -> None:
    suite = load(name)
    text = "".join(shown(suite).text)
    assert f"{suite.title} ({name}, version {suite.version})" in text
    assert suite.source in text
    assert suite.recipe_description in text
    assert all(one in text for one in (*suite.corruptions, *suite.perturbations))
    assert ("1 to 5" in text) == (name in ("imagenet_c", "imagenet_c_bar"))


def test_a_suite_of_a_stranger_is_text() -> None:
    suite = replace(load("imagenet_c"), title=MARKUP, source=QUOTES)
    text = "".join(shown(suite).text)
    assert MARKUP in text
    assert QUOTES in text


def test_a_name_cannot_break_the_line() -> None:
    assert "a\\n\\x1b[2Jb" in table_html("", ("model",), [("a\n\x1b[2Jb",)])


def test_one_palette() -> None:
    assert (palette.COLOURS[0], palette.GREY) == (text_tables.BLUE, GREY)
