from __future__ import annotations

import numpy as np

from hardy.images.display import GREY, batch_html
from hardy.report import palette
from hardy.report.gathered import StoreReport
from hardy.scores import text_tables
from hardy.scores.text_tables import scores_html
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


def test_one_palette() -> None:
    assert (
        palette.COLOURS[0],
        palette.GREY,
        palette.GREY,
    ) == (text_tables.BLUE, text_tables.GREY, GREY)
