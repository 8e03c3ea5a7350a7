"""What MkDocs is told: pages that lie outside docs/, where links lead, the gallery's pictures."""

from __future__ import annotations

import html
import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.gallery import FOLDER, Strip, strips
from docs.tables import PLACE

ROOT = Path(__file__).parent.parent
OUTSIDE = ("[CS]*.md", "results/**/*.md", "results/**/*.png", "bench/results/*.md")
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
AT_FIRST = 3  # of the stops, the one that is shown
SLIDER = (
    '<div class="all-strips"><label>All severities <input id="all-severities" type="range" '
    f'min="0" max="5" value="{AT_FIRST}"> <output id="all-said">{AT_FIRST}</output></label></div>'
)


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages outside docs/ under their own paths, and the gallery's pictures."""
    for path in (path for pattern in OUTSIDE for path in sorted(ROOT.glob(pattern))):
        uri = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    for path in sorted(FOLDER.glob("*.webp")):
        files.append(File.generated(config, f"gallery/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """The page with links as they are on the site, where docs/ is the root, and with pictures."""
    here = page.file.src_uri
    from_root = here if page.file.generated_by else f"docs/{here}"

    def on_site(link: re.Match[str]) -> str:
        mark, text, path, anchor = link.groups(default="")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(from_root), path))
        uri = target.removeprefix("docs/")
        if files.get_file_from_path(uri):
            return f"{mark}[{text}]({posixpath.relpath(uri, posixpath.dirname(here))}{anchor})"
        # A file of the repository that has no page is named only; any other is left to be found.
        return text if (ROOT / target).exists() else link[0]

    linked = LINK.sub(on_site, markdown).replace("<!-- slider -->", SLIDER)
    return PLACE.sub(with_pictures, linked)


def with_pictures(place: re.Match[str]) -> str:
    """Cards, where the page in the repository has a table of the gallery."""
    kind, _, group = place[2].partition(" ")
    if kind != "gallery":
        return place[0]
    return f'<div class="strips">{"".join(map(card, strips(group)))}</div>\n'


def card(strip: Strip) -> str:
    last, name = len(strip.stops) - 1, html.escape(strip.name)
    if not (FOLDER / strip.file).is_file():
        raise FileNotFoundError(f"{FOLDER / strip.file}: run `python -m docs.gallery` first")
    summary = re.sub(r"`(.*?)`", r"<code>\1</code>", html.escape(strip.summary))
    play = '<button type="button">Play</button>' if strip.kind == "frame" else ""
    drawn = f" It draws {strip.constants}." if strip.kind == "draw" else ""
    return (
        f'<figure class="strip" data-stops="{html.escape(json.dumps(strip.stops))}">'
        f'<img src="gallery/{strip.file}" alt="A cat under {name}" loading="lazy" '
        f'style="--at: {100 * AT_FIRST / last:g}%">'
        f"<figcaption><strong>{name}</strong> {summary}{drawn}"
        f'<input type="range" min="0" max="{last}" value="{AT_FIRST}" '
        f'aria-label="{name}, {strip.kind}">{play}'
        f"<output>{html.escape(strip.stops[AT_FIRST])}</output></figcaption></figure>"
    )
