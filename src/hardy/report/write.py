"""A store's report as a file: a page, the numbers alone, or one figure for a paper."""

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from hardy.errors import InputError
from hardy.files import check_target, write_output
from hardy.places import locate
from hardy.progress import Track, untracked, watch
from hardy.registry import unknown
from hardy.report import REPORT_FORMATS
from hardy.report.figures import Figure, choose_figure, figures, figures_across
from hardy.report.gallery import make_gallery, sample_photo
from hardy.report.gathered import StoreReport, gather
from hardy.report.headline import headline_summary
from hardy.report.matplotlib_figures import OverviewPart, Print, overview, save_figure
from hardy.report.page import render_galleries, render_report
from hardy.report.training_curves import training_table
from hardy.report.trainings import stored_runs, training_folders
from hardy.report.words import describe_run, section_title
from hardy.scores.drops import Correlation
from hardy.scores.effective_robustness import effective_tables
from hardy.scores.listing import score_tables
from hardy.scores.scored_cells import suite_of
from hardy.scores.scoring import ScoredStore, Tell
from hardy.scores.side_by_side import beside_tables
from hardy.scores.text_tables import TextTable, to_markdown
from hardy.store.reader import StoredRun
from hardy.suites import load
from hardy.suites.suite import Suite

PathName = str | os.PathLike[str]


def write_report(
    store: PathName,
    output: PathName,
    *,
    format: str | None = None,
    photo: PathName | None = None,
    points: PathName | None = None,
    trained: PathName | Sequence[PathName] = (),
    track: Track = watch,
    tell: Tell = warnings.warn,
) -> Path:
    """Write a report of all runs in a store: one file that opens offline.

    The suffix of `output` picks the format unless it is named: html is the page, md, csv and json
    have the numbers, png the figures. The page also shows what the suites do to a `photo`, by
    default to one that scikit-learn ships, if that is there. `points` is a CSV of further models of
    standard training, by which accuracy on natural shifts is predicted from clean accuracy: model,
    suite, clean and accuracy, in shares of 1. Folders of `hardy.train`, in the store or named by
    `trained`, are drawn epoch by epoch; a store may be such a folder. `tell` hears of runs that are
    left out. The same store gives the same bytes.

    ```python
    import hardy
    import numpy as np

    images = np.zeros((20, 32, 32, 3), np.uint8)
    hardy.evaluate("fake:10", suite="cifar10_c", images=images, labels=[0] * 20, only=["fog"])
    print(hardy.report("runs", "report.html"))
    ```
    """
    target = locate(output)
    if format is not None and format not in REPORT_FORMATS:
        raise unknown("format of a report", format, REPORT_FORMATS)
    form = format or _suffix(target)
    if form not in REPORT_FORMATS:
        known = ", .".join(REPORT_FORMATS)
        raise InputError(f"expected a file ending in .{known}, got {target}; or name the format")
    if photo is not None and form != "html":
        raise InputError(f"expected `photo` with html, which has a gallery, got it with {form}")
    check_target(target)
    shown = sample_photo() if photo is None else Path(photo)
    brought = None if points is None else Path(points)
    folders = _folders(trained)
    write_output(target, _content(form, locate(store), shown, brought, folders, track, tell))
    return target


def plot(
    store: PathName,
    figure: str,
    output: PathName,
    *,
    suite: str | None = None,
    score: str | None = None,
    width: float = 6.5,
    height: float | None = None,
    font: str = "sans-serif",
    font_size: float = 8.0,
    points: PathName | None = None,
    trained: PathName | Sequence[PathName] = (),
    track: Track = watch,
) -> Figure:
    """Draw one figure of a report for a paper, as a .pdf, .svg or .png.

    `hardy.names("figures")` lists the figures. Name the `suite` where the store has several, and
    the `score` where there is a plot for each. Sizes are in inches, the font's in points. A CSV as
    for `hardy.report` brings `points` of further models, `trained` folders of `hardy.train`. What
    is returned is the figure's data; its `sees` is a sentence for the caption.

    ```python
    import hardy
    import numpy as np

    images = np.zeros((20, 32, 32, 3), np.uint8)
    hardy.evaluate("fake:10", suite="cifar10_c", images=images, labels=[0] * 20, only=["fog"])
    print(hardy.plot("runs", "heat", "heat.pdf", width=3.3, font="serif").sees)
    ```
    """
    target = locate(output)
    check_target(target)
    brought = None if points is None else Path(points)
    report = gather(locate(store), points=brought, trained=_folders(trained), track=track)
    chosen = choose_figure(report, figure, suite=suite, score=score)
    how = Print(width, height, font, font_size)
    write_output(target, save_figure(chosen, _suffix(target), how))
    return chosen


def write_gallery(
    photo: PathName,
    output: PathName,
    *,
    suites: Iterable[str] = ("imagenet_c", "imagenet_p"),
    side: int | None = None,
    track: Track = untracked,
) -> Path:
    """Write a page that shows what suites do to one photograph: `hardy show --html`."""
    source, target = Path(photo), locate(output)
    check_target(target)
    made = [make_gallery(load(name), source, side=side, track=track) for name in suites]
    write_output(target, render_galleries(source.name, made))
    return target


def _suffix(target: Path) -> str:
    return target.suffix.lower().lstrip(".")


def _folders(trained: PathName | Sequence[PathName]) -> list[Path]:
    some = [trained] if isinstance(trained, str | os.PathLike) else trained
    return [locate(one) for one in some]


def _content(
    form: str,
    store: Path,
    photo: Path | None,
    points: Path | None,
    trained: list[Path],
    track: Track,
    tell: Tell,
) -> bytes:
    if form == "html":
        return render_store(store, photo, points=points, trained=trained, track=track, tell=tell)
    report = gather(store, points=points, trained=trained, track=track)
    for reason in report.left_out:
        tell(reason)
    if form == "md":
        return as_markdown(report).encode("utf-8", "replace")
    if form == "png":
        parts = [
            OverviewPart(section_title(part), headline_summary(part), figures(part))
            for part in report.sections
        ]
        if report.trainings:
            parts.append(OverviewPart("Training", "", figures_across(report, "training")))
        return overview(parts)
    if not report.sections:
        raise InputError(
            f"expected runs of `hardy eval` for {form}, got trainings alone: the log.csv in each "
            "of their folders has the numbers; write html, md or png"
        )
    return scored(report, tell).render(form).encode("utf-8", "replace")


def render_store(
    store: Path,
    photo: Path | None = None,
    *,
    points: Path | None = None,
    trained: Sequence[Path] = (),
    track: Track = untracked,
    tell: Tell = lambda reason: None,
) -> bytes:
    """The page; galleries are made while scores are computed."""
    with ThreadPoolExecutor(1) as aside:
        folders = training_folders(store, trained)
        shown = _suites(stored_runs(store, folders, [])) if photo else []
        begun = [aside.submit(make_gallery, suite, photo) for suite in shown if photo]
        report = gather(store, points=points, trained=trained, track=track)
        for reason in report.left_out:
            tell(reason)
        made = [one.result() for one in track(begun, len(begun), "galleries")]
        galleries = [one for one in made if one.strips]  # those of plug-ins may be absent
        return render_report(report, galleries, track=track)


def _suites(runs: list[StoredRun]) -> list[Suite]:
    suites: dict[str, Suite] = {}
    for run in runs:
        with suppress(InputError):  # a suite that cannot be scored is not shown
            suites.setdefault(run.details["suite_hash"], suite_of(run))
    return [suite for suite in suites.values() if suite.shift is None]


def as_markdown(report: StoreReport) -> str:
    """What the page says in words and tables, in its order."""
    return "# Robustness report\n\n" + to_markdown(_tables(report))


def _tables(report: StoreReport) -> Iterator[TextTable]:
    every = [entry.scores for section in report.sections for entry in section.entries]
    yield from beside_tables(every)
    known = {one.suite.name: one.baseline for one in report.sections if one.baseline}
    yield from effective_tables(every, known)
    if report.correlations:
        told = tuple(figure.sees for figure in figures_across(report))
        yield Correlation.table(report.correlations)._replace(notes=told)
    for section in report.sections:
        first, *others = score_tables([entry.scores for entry in section.entries])
        seen = [f"{figure.title}: {figure.sees}" for figure in figures(section)]
        yield first._replace(
            title=section_title(section), notes=(headline_summary(section), *first.notes, *seen)
        )
        yield from others
    if report.trainings:
        told = tuple(figure.sees for figure in figures_across(report, "training"))
        yield training_table(report.trainings)._replace(notes=told)
    for section in report.sections:
        for entry in section.entries:
            title = f"Circumstances: {entry.label} on {section_title(section)}"
            yield TextTable(title, ("what", "which"), describe_run(entry).facts)
    if report.left_out:
        yield TextTable("Left out", ("why",), [(reason,) for reason in report.left_out])


def scored(report: StoreReport, tell: Tell) -> ScoredStore:
    """The scores of a report, to be written as `hardy score` does."""
    entries = [entry for section in report.sections for entry in section.entries]
    return ScoredStore(tuple(entry.scores for entry in entries), tell=tell)
