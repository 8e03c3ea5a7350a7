"""One self-contained HTML file from a store; the same store gives the same bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hardy.errors import need
from hardy.progress import Track, untracked
from hardy.report import attack_section as attacks
from hardy.report import headline
from hardy.report import plotly_figures as plots
from hardy.report.beside_section import beside_section
from hardy.report.figures import Figure, figures, figures_across, notes
from hardy.report.gallery import Gallery
from hardy.report.gathered import ModelEntry, Section, StoreReport
from hardy.report.palette import SCALE, style
from hardy.report.training_curves import training_table
from hardy.report.words import describe_run, listed, section_name, section_title, short, spoken
from hardy.report.worst_section import Worst, read_worst_section

if TYPE_CHECKING:
    from jinja2 import Environment

# Thumbnails of all models together, in bytes: with them and Plotly a page stays below 8 MB.
FOR_WORST = 1_500_000


def render_report(
    report: StoreReport, galleries: Iterable[Gallery] = (), *, track: Track = untracked
) -> bytes:
    """The page; a gallery stands at the end of its suite's first section."""
    by_suite = {gallery.suite_hash: gallery for gallery in galleries}
    drawn: dict[str, Any] = {}
    sections = track(report.sections, len(report.sections), "sections drawn")
    parts = [
        _part(section, by_suite, drawn) | {"worst": worst}
        for section, worst in zip(sections, _worst(report), strict=True)
    ]
    every = [headline.higher_is_better(section) for section in report.sections]
    higher = dict.fromkeys(["accuracy", *(name for names in every for name in names)])
    return render_page(
        "report.html",
        title="Robustness report",
        parts=parts,
        beside=beside_section(report),
        across=[_figure(one, drawn) for one in figures_across(report)],
        training=training_table(report.trainings) if report.trainings else None,
        curves=[_figure(one, drawn) for one in figures_across(report, "training")],
        left_out=report.left_out,
        higher=listed(list(higher)),
        figures=drawn,
        plotly=_markup(plots.plotly_js()),
    )


def render_galleries(photo: str, galleries: Iterable[Gallery]) -> bytes:
    """A page of the galleries of one photograph alone."""
    return render_page("gallery.html", title=photo, galleries=list(galleries))


def _part(section: Section, galleries: dict[str, Gallery], drawn: dict[str, Any]) -> dict[str, Any]:
    return {
        "section": section,
        "title": section_title(section),
        "name": section_name(section),
        "summary": headline.headline_summary(section),
        "headline": headline.headline(section),
        "groups": headline.group_tables(section),
        "figures": [_figure(one, drawn) for one in figures(section, "scores")],
        "noise": [_figure(one, drawn) for one in figures(section, "attacks")],
        "notes": notes(section),
        "singles": _singles(section),
        "attacks": attacks.shown(section),
        "runs": [(entry, describe_run(entry)) for entry in section.entries],
        "gallery": galleries.pop(section.suite.content_hash(), None),
    }


def _worst(report: StoreReport) -> list[list[tuple[ModelEntry, tuple[Worst, ...]]]]:
    """The worst images of each section, the best models' first, as far as there is room."""
    found = []
    room = FOR_WORST
    for section in report.sections:
        shown = []
        for entry in section.entries:
            images = read_worst_section(entry.run) if room > 0 else ()
            room -= sum(len(one.clean or "") + len(one.corrupted) for one in images)
            if images and room >= 0:
                shown.append((entry, images))
        found.append(shown)
    return found


def _figure(figure: Figure, drawn: dict[str, Any]) -> dict[str, Any]:
    """Names its panels, and adds what Plotly needs for them to `drawn`."""
    ids = [f"{figure.name}-{place}" for place in range(len(figure.panels))]
    drawn |= {
        id: graph.to_plotly_json() for id, graph in zip(ids, plots.draw_plotly(figure), strict=True)
    }
    return {"figure": figure, "panels": list(zip(ids, figure.panels, strict=True))}


def _singles(section: Section) -> list[dict[str, Any]]:
    """The numbers of the bars as tables."""
    tables = []
    for metric in section.entries[0].scores.singles():
        columns = [entry.scores.singles().get(metric, {}) for entry in section.entries]
        names = list(dict.fromkeys(name for column in columns for name in column))
        rows = [(spoken(name), [column.get(name) for column in columns]) for name in names]
        tables.append({"metric": metric, "rows": rows})
    return tables


def render_page(template: str, **values: Any) -> bytes:
    """Fill the template; lone surrogates, which file names may hold, become question marks."""
    text: str = _environment().get_template(template).render(**values)
    return text.encode("utf-8", "replace")


@cache
def _environment() -> Environment:
    jinja2 = need("jinja2", "report", "a page")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hardy.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"spoken": spoken, "short": short, "key": _key_of}
    environment.filters |= {"script_json": _script_json, "told": _told}
    environment.globals |= {"include_raw": _raw, "style": style, "ramp": ", ".join(SCALE)}
    return environment


def _markup(text: str) -> Any:
    """Mark text that need not be escaped: it is our own, or made safe."""
    from markupsafe import Markup

    return Markup(text)


def _told(text: str) -> Any:
    """A message of Python, or one written for a terminal: the arguments that it names in backticks
    are code. Here too all else is text, as names of models and files are."""
    from markupsafe import escape

    return _markup(re.sub("`([a-z_]+(?:=[^`]*)?)`", r"<code>\1</code>", str(escape(text))))


def _raw(name: str) -> Any:
    """Our own style sheet or script, as it is."""
    return _markup(files("hardy.report").joinpath("templates", name).read_text("utf-8"))


def _script_json(value: Any) -> Any:
    """JSON for a script element, which would end at the first "</"."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return _markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _key_of(number: int | None, mark: int = 0) -> Any:
    """The line and marker of a model, as a small drawing."""
    look = style(number, mark)
    dash = {"-": "", "--": "5 3", ":": "1.5 2.5", "-.": "5 2.5 1.5 2.5"}[look.dash[1]]
    shape = {
        "o": '<circle cx="13" cy="6" r="4.5"/>',
        "s": '<path d="M9 2h8v8h-8z"/>',
        "D": '<path d="M13 .5 18.5 6 13 11.5 7.5 6z"/>',
        "^": '<path d="M13 1 18 10H8z"/>',
        "P": '<path d="M11 1h4v3h3v4h-3v3h-4V8H8V4h3z"/>',
        "x": '<path d="m9 2 8 8M17 2 9 10"/>',
        "*": '<path d="m13 0 2 4 4 .4-3 3 1 4-4-2-4 2 1-4-3-3 4-.4z"/>',
    }[look.marker[1]]
    hollow = ' fill="none" stroke-width="1.5"' if number is None else f' fill="{look.colour}"'
    line = f'<path d="M0 6h26" stroke-width="2" stroke-dasharray="{dash}"/>'
    line = "" if number is None else line
    return _markup(
        f'<svg class="key" viewBox="0 0 26 12" stroke="{look.colour}" aria-hidden="true">'
        f"{line}<g{hollow}>{shape}</g></svg>"
    )
