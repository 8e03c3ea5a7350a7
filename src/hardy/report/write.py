"""The report of a store as a file, in any of its formats."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from hardy.errors import InputError
from hardy.report.export import as_csv, as_json, as_markdown
from hardy.report.figures import figures
from hardy.report.gallery import Gallery, make_gallery
from hardy.report.gathered import Track, gather
from hardy.report.matplotlib_figures import overview
from hardy.report.page import render_report
from hardy.report.targets import check_target, write_whole
from hardy.scores.selection import suite_of
from hardy.store.reader import StoredRun, find_runs
from hardy.suites.suite import Suite

FORMATS = ("html", "md", "csv", "json", "png")
TEXTS = {"md": as_markdown, "csv": as_csv}


def write_report(
    store: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    format: str | None = None,
    photo: str | os.PathLike[str] | None = None,
    track: Track = iter,
    tell: Callable[[str], None] = warnings.warn,
) -> Path:
    """All runs of a store as one file; its suffix picks the format unless that is named.

    With a photograph, a page also shows what the suites do to it. `tell` hears of runs that the
    file does not name.
    """
    target = Path(output)
    form = format or target.suffix.lower().lstrip(".")
    if form not in FORMATS:
        raise InputError(
            f"expected a file ending in .{', .'.join(FORMATS)}, got {target}; or name the format"
        )
    check_target(target)
    shown = None if photo is None else Path(photo)
    write_whole(target, _content(form, Path(store), shown, track, tell))
    return target


def _content(
    form: str, store: Path, photo: Path | None, track: Track, tell: Callable[[str], None]
) -> bytes:
    if form == "html":
        return render_store(store, photo, track=track)
    report = gather(store, track=track)
    for reason in report.left_out if form != "md" else ():  # which lists them
        tell(reason)
    if form == "png":
        return overview(figure for part in report.sections for figure in figures(part))
    text = as_json(report, tell) if form == "json" else TEXTS[form](report)
    return text.encode("utf-8", "replace")


def render_store(store: Path, photo: Path | None = None, *, track: Track = iter) -> bytes:
    """The page; pictures are made while scores are computed."""
    with ThreadPoolExecutor(1) as aside:
        made = aside.submit(_galleries, find_runs(store, []), photo)
        report = gather(store, track=track)
        return render_report(report, made.result())


def _galleries(runs: list[StoredRun], photo: Path | None) -> list[Gallery]:
    suites: dict[str, Suite] = {}
    for run in runs if photo else ():
        with suppress(InputError):  # one that cannot be scored is not shown
            suites.setdefault(run.details["suite_hash"], suite_of(run))
    return [make_gallery(suite, photo) for suite in suites.values() if photo]
