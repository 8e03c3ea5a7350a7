"""The site in a real browser: quiet, at most as wide as a phone, and its sliders slide."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from docs import gallery
from hardy.corrupt.corruption import CORRUPTIONS
from tests.pages import ROOT
from tests.report.browser import CHROMIUM, Page, chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium"),
]

FIGURE = "[...document.querySelectorAll('.strip')]"
FOG = f"{FIGURE}.find(one => one.querySelector('strong').textContent === 'fog')"
PLACE = "getComputedStyle(one.querySelector('img')).objectPosition.split(' ')[0]"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it, in a folder of its own."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gallery, "FOLDER", folder / "gallery")
        gallery.main()
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder / "site"))
        build(config)
    return folder / "site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served; its search needs a server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as one:
        yield one


@pytest.fixture
def open_gallery(page: Page, address: str) -> Page:
    page.open(f"{address}/gallery.html", 390)
    page.wait(f"{FIGURE}.every(one => one.querySelector('input').ariaValueText)")
    return page


@pytest.mark.parametrize("width", [390, 1280])
def test_pages_are_quiet_and_not_too_wide(page: Page, site: Path, address: str, width: int) -> None:
    faults = {}
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if name == "404.html":  # its links are those of a site at the root of a host
            continue
        page.problems.clear()
        page.open(f"{address}/{name}", width)
        wide = page.run("document.documentElement.scrollWidth")
        if page.problems or wide != width:
            faults[name] = (wide, page.problems.copy())
    assert faults == {}


def test_every_corruption_has_its_pictures(open_gallery: Page) -> None:
    open_gallery.run(f"{FIGURE}.forEach(one => one.querySelector('img').loading = 'eager')")
    open_gallery.wait(f"{FIGURE}.every(one => one.querySelector('img').complete)")
    shown = open_gallery.run(
        f"{FIGURE}.map(one => [one.querySelector('strong').textContent, "
        "one.querySelector('img').naturalWidth, JSON.parse(one.dataset.stops).length])"
    )
    assert {name for name, _, stops in shown if stops == 6} == set(CORRUPTIONS)
    assert len(shown) == len(CORRUPTIONS) + len(list(gallery.strips(gallery.SEQUENCES)))
    assert all(width == gallery.SIDE * stops for _, width, stops in shown)


def test_a_slider_is_moved_by_keys(open_gallery: Page) -> None:
    said = f"{FOG}.querySelector('output').textContent"
    place = f"(one => {PLACE})({FOG})"
    assert open_gallery.run(said).startswith("severity 3: ")
    assert open_gallery.run(place) == "60%"
    open_gallery.run(f"{FOG}.querySelector('input').focus()")
    open_gallery.press("ArrowRight")
    assert open_gallery.run(said).startswith("severity 4: ")
    assert open_gallery.run(place) == "80%"
    assert open_gallery.run(f"{FOG}.querySelector('input').ariaValueText === {said}")


def test_one_slider_moves_all_but_the_sequences(open_gallery: Page) -> None:
    open_gallery.run("document.querySelector('#all-severities').focus()")
    for _ in range(2):
        open_gallery.press("ArrowRight")
    assert open_gallery.run("document.querySelector('#all-said').textContent") == "5"
    places = open_gallery.run(f"{FIGURE}.map(one => {PLACE})")
    sequences = [len(strip.stops) - 1 for strip in gallery.strips(gallery.SEQUENCES)]
    assert places[: len(CORRUPTIONS)] == ["100%"] * len(CORRUPTIONS)
    assert places[len(CORRUPTIONS) :] == [f"{300 / last:g}%" for last in sequences]


def test_a_sequence_plays_until_it_is_stopped(open_gallery: Page) -> None:
    button = "document.querySelector('.strip button')"
    slider = f"{button}.closest('.strip').querySelector('input')"
    assert open_gallery.run(f"{slider}.value") == "3"
    open_gallery.run(f"{button}.focus()")
    open_gallery.press("Enter")
    open_gallery.wait(f"{slider}.value !== '3' && {button}.textContent === 'Stop'")
    open_gallery.press("Enter")
    assert open_gallery.run(f"{button}.textContent") == "Play"
    assert not open_gallery.run(f"{button}.closest('.strip').timer")
