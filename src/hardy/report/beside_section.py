"""The page's first section: all suites side by side, and effective robustness, per model."""

from collections.abc import Sequence
from typing import NamedTuple

from hardy.report.gathered import ModelEntry, Section, StoreReport
from hardy.report.headline import TableCell, cells_of
from hardy.report.words import section_name
from hardy.scores.effective_robustness import WHAT_VARIES
from hardy.scores.score import Score
from hardy.scores.side_by_side import Beside, SuiteColumn, clean_note, side_by_side, ways_note

LOWER, HIGHER = "lower is better", "higher is better"


class Heading(NamedTuple):
    """What stands over a column."""

    title: str
    lines: tuple[str, ...]  # the score, which way is better, and what the column is a part of


class BesideTable(NamedTuple):
    """A row per model; a model keeps its colour and marker."""

    title: str
    columns: tuple[Heading, ...]
    rows: tuple[tuple[ModelEntry, tuple[TableCell | None, ...]], ...]
    notes: tuple[str, ...]


def beside_section(report: StoreReport) -> list[BesideTable]:
    """The tables of a report; none where it has one suite and no natural shift."""
    entries = {id(entry.scores): entry for section in report.sections for entry in section.entries}
    found = side_by_side([entry.scores for entry in entries.values()])
    tables = [_suites(one, entries, len(found) > 1) for one in found]
    return tables + _effective(report)


def _suites(beside: Beside, entries: dict[int, ModelEntry], several: bool) -> BesideTable:
    main = [[None if run is None else run.headline[0] for run in row.runs] for row in beside.rows]
    columns: list[Sequence[Score | None]] = list(zip(*main, strict=True))
    headings = [_heading(column) for column in beside.columns]
    clean = [row.clean for row in beside.rows]
    if any(clean):
        columns, headings = [clean, *columns], [Heading("Clean accuracy", (HIGHER,)), *headings]
    title = f"Suites of {beside.classes:,} classes" if several else "All suites"
    told = [clean_note(beside.rows), ways_note(beside.columns)]
    notes = [note.capitalize() + "." for note in told if note]
    return BesideTable(
        title,
        tuple(headings),
        _rows([entries[id(row.first)] for row in beside.rows], columns),
        ("The bars under the numbers are the intervals; each column has one scale.", *notes),
    )


def _heading(column: SuiteColumn) -> Heading:
    better = LOWER if column.score.lower_is_better else HIGHER
    return Heading(column.suite.title, (column.score.name, better, *column.marks))


def _effective(report: StoreReport) -> list[BesideTable]:
    """Shifts as columns; a model that several have is one row."""
    sections = [section for section in report.sections if any(section.effective())]
    if not sections:
        return []
    entries: dict[tuple[int, int], ModelEntry] = {}
    columns: list[dict[tuple[int, int], Score]] = []
    for section in sections:
        made: dict[tuple[int, int], Score] = {}
        for entry, one in zip(section.entries, section.effective(), strict=True):
            if one is not None:
                place = (entry.style, sum(style == entry.style for style, _ in made))
                entries.setdefault(place, entry)
                made[place] = one.as_score()
        columns.append(made)
    filled = [[made.get(place) for place in entries] for made in columns]
    rows = _rows(list(entries.values()), filled)
    signed = tuple((entry, tuple(map(_with_sign, cells))) for entry, cells in rows)
    headings = tuple(
        Heading(section_name(one), ("points", HIGHER, *_drawn_out(one))) for one in sections
    )
    notes = tuple(f"{section_name(one)}: {_describe(one)}." for one in sections)
    told = "Accuracy beyond what clean accuracy over the same classes predicts."
    return [BesideTable("Effective robustness", headings, signed, (told, *notes, WHAT_VARIES))]


def _rows(
    entries: Sequence[ModelEntry], columns: Sequence[Sequence[Score | None]]
) -> tuple[tuple[ModelEntry, tuple[TableCell | None, ...]], ...]:
    lines = zip(*map(cells_of, columns), strict=True)
    return tuple(zip(entries, lines, strict=True))


def _with_sign(cell: TableCell | None) -> TableCell | None:
    if cell is None or cell.score.value <= 0:
        return cell
    return cell._replace(digits=f"+{cell.digits}")


def _drawn_out(section: Section) -> tuple[str, ...]:
    outside = sum(one.beyond for one in section.effective() if one)
    return (f"{outside} drawn out",) if outside else ()


def _describe(section: Section) -> str:
    assert section.baseline is not None
    return section.baseline.describe()
