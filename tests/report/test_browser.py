"""The pages in a real browser: drawn, quiet, sorted, readable at both widths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardy.report.gallery import make_gallery
from hardy.report.gathered import StoreReport
from hardy.report.leaderboard import leaderboard
from hardy.report.page import render_report
from hardy.scores.result_files import result_of, write_results
from hardy.suites import load
from tests.photos import paths
from tests.report.browser import CHROMIUM, Page, chromium
from tests.report.conftest import LONG

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium"),
]

WIDTHS = (1280, 390)
WIDEST = "W" * 300
DRAWN = "document.documentElement.dataset.plots === 'drawn'"
COLUMN = """[...document.querySelector('table.sortable').tBodies[0].rows]
    .map(row => Number(row.cells[1].dataset.value ?? row.cells[1].textContent))"""
WIDE = "document.documentElement.scrollWidth"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def report_url(report: StoreReport, tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("report") / "report.html"
    gallery = make_gallery(load("imagenet_c"), paths()[0], side=48)
    target.write_bytes(render_report(report, [gallery]))
    return target.as_uri()


@pytest.fixture(scope="module")
def board_url(report: StoreReport, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("board")
    stated = {
        "backbone": WIDEST,
        "extra_data": WIDEST,
        "standalone": True,
        "seen_corruptions": ["fog"],
    }
    entries = report.sections[0].entries
    results = [result_of(entries[0].scores, stated), *(result_of(e.scores) for e in entries[1:])]
    (folder / "results.json").write_text(write_results(results))
    return leaderboard([folder], folder / "site").as_uri()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_report_is_drawn_without_a_complaint(
    page: Page, report_url: str, width: int, dark: bool
) -> None:
    page.problems.clear()
    page.open(report_url, width, dark=dark)
    page.wait(DRAWN)
    assert page.problems == []
    plots = page.run("document.querySelectorAll('.plot').length")
    drawn = page.run(
        "[...document.querySelectorAll('.plot')].filter(p => p.querySelector("
        "'.scatterlayer .point, .barlayer .point, .heatmaplayer image')).length"
    )
    assert drawn == plots > 20
    assert page.run(WIDE) == width  # nothing sticks out sideways
    low = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)[0]"
    assert (page.run(low) < 60) == dark
    text = "document.querySelector('.plot .xtick text').style.fill.match(/[0-9]+/g).map(Number)[0]"
    assert (page.run(text) > 120) == dark


@pytest.mark.parametrize("width", WIDTHS)
def test_names_do_not_run_and_text_is_readable(page: Page, report_url: str, width: int) -> None:
    page.open(report_url, width)
    page.wait(DRAWN)
    assert page.run("document.querySelectorAll('img[src=\"x\"], .plot a').length") == 0
    assert page.run(f"document.body.textContent.includes({json.dumps(LONG)})")
    sizes = page.run(
        "[...document.querySelectorAll('p, td, th, figcaption, .plot text')]"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 10


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("which", ["report_url", "board_url"])
def test_tables_sort_by_click_and_by_key(
    page: Page, request: pytest.FixtureRequest, which: str, width: int
) -> None:
    page.open(request.getfixturevalue(which), width)
    button = "document.querySelectorAll('table.sortable thead button')[1]"
    page.run(f"{button}.click()")
    first = page.run(COLUMN)
    page.run(f"{button}.focus()")
    page.press("Enter")
    second = page.run(COLUMN)
    assert len(first) == 3
    assert first == second[::-1] == sorted(first, reverse=first[0] > first[-1])
    order = page.run("document.querySelectorAll('table.sortable thead th')[1].ariaSort")
    assert order == ("descending" if second[0] > second[-1] else "ascending")


@pytest.mark.parametrize(
    ("figure", "layer"), [("curves", ".scatterlayer .trace"), ("bars-ce", ".barlayer .trace")]
)
def test_legend_hides_and_shows_in_all_panels(
    page: Page, report_url: str, figure: str, layer: str
) -> None:
    page.open(report_url, 1280)
    page.wait(DRAWN)
    there = f"#imagenet-c-{figure} + figure"
    chip = f"document.querySelector('{there} .chip')"
    traces = f"document.querySelectorAll('{there} {layer}').length"
    before = page.run(traces)
    page.run(f"{chip}.click()")
    assert page.run(f"{chip}.ariaPressed") == "false"
    page.wait(f"{traces} === {before} * 2 / 3")
    page.run("document.querySelector('#theme').click()")  # drawn again, still hidden
    page.wait(DRAWN)
    assert page.run(traces) == before * 2 / 3


def test_names_of_points_come_and_go_with_the_width(page: Page, report_url: str) -> None:
    page.open(report_url, 390)
    page.wait(DRAWN)
    labels = "document.querySelectorAll('#imagenet-c-scatter-mce-0 .textpoint').length"
    few = page.run(labels)
    page.resize(1280)
    page.wait(f"{labels} > {few}")


def test_gallery_follows_the_choice_and_the_slider(page: Page, report_url: str) -> None:
    page.open(report_url, 390)
    shown = "document.querySelector('.gallery img[data-count]:not([hidden])')"
    assert page.run(f"{shown}.alt") == "gaussian noise, severity 3"
    page.run("document.querySelector('.gallery input').focus()")
    page.press("ArrowRight")
    assert page.run(f"{shown}.alt") == "gaussian noise, severity 4"
    assert page.run(f"{shown}.style.objectPosition").startswith("75%")
    page.run(
        "{const s = document.querySelector('.gallery select'); s.selectedIndex = 9;"
        "s.dispatchEvent(new Event('input'))}"
    )
    assert page.run(f"{shown}.alt") == "fog, severity 4"
    box = page.run(f"(r => [r.width, r.height])({shown}.getBoundingClientRect())")
    assert box[0] == pytest.approx(box[1], abs=1)


@pytest.mark.parametrize("width", WIDTHS)
def test_leaderboard_is_quiet_fits_and_filters(page: Page, board_url: str, width: int) -> None:
    page.problems.clear()
    page.open(board_url, width)
    assert page.problems == []
    assert page.run(WIDE) == width
    rows = "[...document.querySelectorAll('tr[data-backbone]')].filter(r => !r.hidden).length"
    assert page.run(rows) == 3
    for control, value, left in (
        ("select[data-filter=standalone]", "standalone", 1),
        ("select[data-filter=standalone]", "", 3),
        ("select[data-filter=seen]", "some", 1),
        ("select[data-filter=seen]", "", 3),
        ("input[type=search]", "LONG-xxx", 1),
    ):
        page.run(
            f"{{const c = document.querySelector({json.dumps(control)});"
            f"c.value = {json.dumps(value)};"
            "c.dispatchEvent(new Event('input', {bubbles: true}))}"
        )
        assert page.run(rows) == left
    assert page.run("document.querySelector('form output').textContent") == "1 of 3"
    parts = "[...document.querySelectorAll('.part')].map(part => part.hidden)"
    assert page.run(parts) == [False, True], "nothing published is called so"
    search = "document.querySelector('input[type=search]')"
    page.run(
        f"{search}.value = 'augmix'; {search}.dispatchEvent(new Event('input', {{bubbles: true}}))"
    )
    assert page.run(parts) == [True, False]


def test_a_leaderboard_of_usual_names_needs_no_scrolling(
    page: Page, report: StoreReport, tmp_path: Path
) -> None:
    """Ranked, adapted and made differently, with all that can be stated of a model."""
    stated = {
        "backbone": "WideResNet-28-10",
        "extra_data": "none",
        "standalone": True,
        "seen_corruptions": ["gaussian_noise", "shot_noise"],
    }
    results = [
        json.loads(json.dumps(result_of(report.sections[0].entries[0].scores, stated)))
        for _ in range(3)
    ]
    methods = [{"trained_as": {"net": "wrn_28_10", "methods": ["augmix", "deepaugment", "ant"]}}]
    for number, result in enumerate(results):
        result["model"] |= {"name": f"hardy:model_{number}+median:3+bn_adapt:16"}
        result["model"] |= {"defence": "median:3: a filter; bn_adapt:16: batch norm"}
        result["model"] |= {"adapted": number == 1}
        result["provenance"]["sessions"] = methods
    for score in results[2]["scores"]:
        score["images_hash"] = "of others"
    (tmp_path / "results.json").write_text(json.dumps(results))
    page.open(leaderboard([tmp_path], tmp_path / "site").as_uri(), 1280)
    hidden = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"
    assert page.run(hidden) == [0, 0, 0, 0]
    heads = "[...document.querySelectorAll('thead button')].map(e => e.getClientRects().length)"
    assert max(page.run(heads)) <= 2, "headings break between words"


def test_screenshot_shows_something(page: Page, report_url: str, tmp_path: Path) -> None:
    page.open(report_url, 1280)
    page.wait(DRAWN)
    page.picture(tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 20_000
