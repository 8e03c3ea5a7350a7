"""The numbers of a report without the pictures: Markdown, CSV, JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hardy.report.circumstances import describe_run, section_title
from hardy.report.figures import figures
from hardy.report.gathered import Report
from hardy.report.headline import summary
from hardy.scores.listing import score_tables
from hardy.scores.result_files import write_scores
from hardy.scores.text_tables import Table, to_csv, to_markdown


def as_markdown(report: Report) -> str:
    """What the page says in words and tables, in its order."""
    return "# Robustness report\n\n" + to_markdown(_tables(report))


def _tables(report: Report) -> Iterator[Table]:
    for section in report.sections:
        first, *others = score_tables([entry.scores for entry in section.entries])
        seen = [f"{figure.title}: {figure.sees}" for figure in figures(section)]
        yield first._replace(
            title=section_title(section), notes=(summary(section), *first.notes, *seen)
        )
        yield from others
    for section in report.sections:
        for entry in section.entries:
            title = f"Circumstances: {entry.label} on {section_title(section)}"
            yield Table(title, ("what", "which"), describe_run(entry).facts)
    if report.left_out:
        yield Table("Left out", ("why",), [(reason,) for reason in report.left_out])


def as_csv(report: Report) -> str:
    """A line per model, suite and score."""
    entries = [entry for section in report.sections for entry in section.entries]
    return to_csv([row for entry in entries for row in entry.scores.as_dicts()])


def as_json(report: Report, tell: Callable[[str], None]) -> str:
    """A result file, as `hardy score` writes it and `hardy leaderboard` reads it."""
    entries = [entry for section in report.sections for entry in section.entries]
    return write_scores((entry.scores for entry in entries), tell)
