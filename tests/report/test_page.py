from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hardy.report import attack_section as attacks
from hardy.report import page as page_module
from hardy.report import plotly_figures as plots
from hardy.report.gallery import make_gallery
from hardy.report.gathered import ModelEntry, StoreReport, gather
from hardy.report.page import render_report
from hardy.report.worst_section import read_worst_section
from hardy.suites import load
from tests.photos import paths
from tests.report.conftest import LONG, MARKUP, QUOTES
from tests.report.pages import Parsed, check_safe


@pytest.fixture(scope="module")
def page(report: StoreReport) -> bytes:
    return render_report(report, [make_gallery(load("imagenet_c"), paths()[0], side=32)])


@pytest.fixture(scope="module")
def parsed(page: bytes) -> Parsed:
    return Parsed(page)


def test_is_whole_and_takes_nothing_from_elsewhere(page: bytes, parsed: Parsed) -> None:
    check_safe(parsed)
    own = page.decode().replace(plots.plotly_js(), "")
    assert not re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}|@import|url\(", own)
    assert len(page) < 8_000_000


def test_names_are_text_wherever_they_stand(parsed: Parsed) -> None:
    text = "".join(parsed.text)
    for name in (MARKUP, QUOTES, LONG):
        assert name in text
    assert parsed.all("script") == [{}, {"type": "application/json", "id": "figures"}, {}, {}]
    assert {"src": "x", "onerror": "alert(2)"} not in parsed.all("img")


def test_plots_are_escaped_for_plotly_which_reads_markup(parsed: Parsed) -> None:
    figures = json.loads(next(text for text in parsed.scripts if text.startswith('{"imagenet')))
    names = {trace.get("name", "") for one in figures.values() for trace in one["data"]}
    assert not any("<" in text for text in parsed.scripts if text.startswith('{"imagenet'))
    texts = {text for one in figures.values() for t in one["data"] for text in t.get("text", ())}
    assert any(name.startswith("&lt;/script &gt;") for name in names)
    assert not any("<" in name for name in names | texts)
    assert any(name.startswith('"🥶&gt;') for name in names), "quotes are shown as they are"


def test_every_figure_has_a_place_a_sentence_and_words_for_those_who_do_not_see(
    parsed: Parsed,
) -> None:
    figures = json.loads(next(text for text in parsed.scripts if text.startswith('{"imagenet')))
    plots_there = [one for one in parsed.all("div") if one.get("class") == "plot"]
    assert {one["id"] for one in plots_there} == set(figures)
    assert all(one["role"] == "img" and len(one["aria-label"]) > 60 for one in plots_there)
    kinds = {id.removeprefix("imagenet-").split("-", 1)[1].rsplit("-", 1)[0] for id in figures}
    assert kinds == {
        *("bars-ce", "curves", "heat", "scatter-mce", "scatter-relative-mce"),
        *("calibration", "reliability", "bars-fr", "bars-t5d", "scatter-mfr", "scatter-mt5d"),
        "noise",
    }


def test_same_store_same_bytes_wherever_it_lies(
    store: Path, report: StoreReport, tmp_path: Path
) -> None:
    moved = shutil.copytree(store, tmp_path / "elsewhere")
    assert render_report(gather(moved)) == render_report(report)


def test_gallery_has_a_strip_for_every_corruption(parsed: Parsed) -> None:
    strips = [image for image in parsed.all("img") if "data-count" in image]
    assert len(strips) == 19
    assert {strip["data-count"] for strip in strips} == {"5"}


def test_worst_images_show_what_was_taken_for_what(parsed: Parsed) -> None:
    alts = [image["alt"] for image in parsed.all("img")]
    assert any(
        re.fullmatch(r"0 under gaussian noise, severity 5: taken for .+", alt) for alt in alts
    )


def test_circumstances_are_complete(parsed: Parsed, report: StoreReport) -> None:
    text = "".join(parsed.text)
    around = report.sections[0].circumstances
    for part in (around.suite_hash, around.images_hash, around.recipe, "2026-01-02T03:04:05+00:00"):
        assert part in text
    assert "1,000 bootstrap replicates over images, seed 0" in text


def test_what_is_in_backticks_is_code_and_markup_is_still_text(report: StoreReport) -> None:
    """Doubts about models name arguments of Python so."""
    doubt = f"are its weights loaded (`checkpoint`), {MARKUP}?"
    first, *others = report.sections
    entry = first.entries[0]
    doubted = replace(entry, scores=replace(entry.scores, notes=(doubt,)))
    sections = [replace(first, entries=[doubted, *first.entries[1:]]), *others]
    page = render_report(replace(report, sections=sections, left_out=[doubt]))
    parsed = Parsed(page)
    check_safe(parsed)
    assert page.decode().count("loaded (<code>checkpoint</code>), ") == 2
    assert MARKUP in "".join(parsed.text)
    assert "`checkpoint`" not in "".join(parsed.text)


def test_thumbnails_have_a_budget(report: StoreReport, monkeypatch: pytest.MonkeyPatch) -> None:
    def shown() -> int:
        page = Parsed(render_report(report))
        return sum(one.get("class") == "worst" for one in page.all("ul"))

    assert shown() == 3
    one = sum(len(w.clean or "") + len(w.corrupted) for w in read_worst_section(_first(report).run))
    monkeypatch.setattr(page_module, "FOR_WORST", int(1.5 * one))
    assert shown() == 1


def test_noise_is_pictured_for_the_best_models_only(
    report: StoreReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> list[int]:
        page = Parsed(render_report(report))
        pictures = sum(one.get("class") == "worst noise" for one in page.all("ul"))
        return [pictures, " ".join(page.text).count("-19.0 [-23.0 to -15.2]")]

    assert shown() == [2, 4]  # each number in the table, and in a sentence
    monkeypatch.setattr(attacks, "PICTURED", 1)
    assert shown() == [1, 4]


def _first(report: StoreReport) -> ModelEntry:
    return report.sections[0].entries[0]
