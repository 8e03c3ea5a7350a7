"""What severity does: curves for each corruption, and all cells as a heat map."""

from collections.abc import Iterator

from hardy.metrics.classification import aude
from hardy.report.figures import SEVERITIES, SHOWN, Figure, Panel, Series, figure
from hardy.report.gathered import ErrorGrid, ModelEntry, Section
from hardy.report.words import count, listed, number, short, spoken

LISTED = 4  # with more models than this, a panel notes the range of their areas

_Grids = list[tuple[ModelEntry, ErrorGrid]]


@figure(needs=(SEVERITIES,))
def curves(section: Section) -> Iterator[Figure]:
    """The error against severity, in a small panel for each corruption."""
    grids = [(entry, entry.grid) for entry in section.entries if entry.grid]
    top = max(one.high for _, grid in grids for row in grid.intervals for one in row)
    yield Figure(
        name=f"{section.slug}-curves",
        kind="lines",
        score="AUDE",
        title="Error against severity",
        sees=_see_curves(grids),
        x_title="Severity (0: clean)",
        y_title="Error (%)",
        panels=tuple(
            Panel(
                spoken(name),
                tuple(_curves(grids, name)),
                note=_areas(grids, name),
                y_range=(0.0, min(101.0, 1.05 * top)),
            )
            for name in section.ordered(name for _, grid in grids for name in grid.names)
        ),
        size="small",
    )


def _curves(grids: _Grids, name: str) -> Iterator[Series]:
    for place, (entry, grid) in enumerate(grids):
        if name in grid.names:
            levels, errors, intervals = zip(*grid.curve(name), strict=True)
            low, high = zip(*intervals, strict=True)
            label, shown = short(entry.label), place < SHOWN
            yield Series(label, levels, errors, entry.style, low, high, shown=shown)


def _areas(grids: _Grids, name: str) -> str:
    key = aude.single_label(name)
    found = [entry.scores[key].value for entry, _ in grids if key in entry.scores]
    if len(found) > LISTED:
        return f"AUDE {number(min(found))} to {number(max(found))}"
    return f"AUDE {' · '.join(map(number, found))}" if found else ""


def _see_curves(grids: _Grids) -> str:
    best, grid = grids[0]
    parts = []
    if len(grid.levels) > 1:
        rises = {name: row[-1] - row[0] for name, row in zip(grid.names, grid.errors, strict=True)}
        steep, flat = (end(rises, key=lambda name: rises[name]) for end in (max, min))
        most = f"{rises[steep]:+.1f} points under {spoken(steep)}"
        least = f"{rises[flat]:+.1f} under {spoken(flat)}"
        if steep == flat:
            changes = f"changes {most}"
        elif rises[flat] < 0:
            changes = f"changes between {least} and {most}"
        else:
            changes = f"rises most, {most}, and least, {least}"
        levels = f"severity {grid.levels[0]} to {grid.levels[-1]}"
        parts.append(f"From {levels} the error of {best.label} {changes}.")
    areas = [entry for entry, _ in grids if aude.mean in entry.scores]
    if areas:
        shown = [f"{entry.label} {entry.scores[aude.mean].figure()}" for entry in areas[:SHOWN]]
        if len(areas) > SHOWN:
            shown.append(f"{count(len(areas) - SHOWN, 'model')} more in the table")
        parts.append(
            "The area under a curve, clean images included, is its AUDE; the mean over corruptions "
            f"(mAUDE): {listed(shown)}."
        )
    return " ".join(parts)


@figure(needs=(SEVERITIES,))
def heat(section: Section) -> Iterator[Figure]:
    """The error in every cell as a heat map, with a panel for each model, all on one scale."""
    grids = [(entry, entry.grid) for entry in section.entries if entry.grid]
    best, grid = grids[0]
    cells = [
        (error, name, level)
        for name, row in zip(grid.names, grid.errors, strict=True)
        for level, error in zip(grid.levels, row, strict=True)
    ]
    error, name, level = max(cells)
    beyond = sum(error > 50 for error, _, _ in cells)
    yield Figure(
        name=f"{section.slug}-heat",
        kind="heat",
        score="error",
        title="Corruption × severity",
        sees=f"The darkest cell of {best.label} is {spoken(name)} at severity {level}, where "
        f"{error:.1f} % of its answers are wrong; in {beyond} of {count(len(cells), 'cell')} it is "
        "wrong more often than right.",
        x_title="Severity",
        y_title="",
        panels=tuple(_heat_map(entry, grid) for entry, grid in grids),
        size="medium",
    )


def _heat_map(entry: ModelEntry, grid: ErrorGrid) -> Panel:
    columns, rows = (*map(str, grid.levels),), grid.errors
    if grid.clean:
        columns, rows = ("clean", *columns), tuple((grid.clean[0], *row) for row in rows)
    return Panel(entry.label, columns=columns, rows=tuple(map(spoken, grid.names)), cells=rows)
