"""A picture of a page, for the README: python -m tests.report.screenshot PAGE.html OUT.png."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.report.browser import chromium


def main(source: str, target: str, width: str = "1280", height: str = "900") -> None:
    with chromium() as page:
        page.open(Path(source).resolve().as_uri(), int(width), height=int(height))
        page.wait("!document.querySelector('.plot') || document.documentElement.dataset.plots")
        page.wait("document.documentElement.dataset.plots !== 'drawing'")
        page.picture(Path(target))


if __name__ == "__main__":
    main(*sys.argv[1:])
