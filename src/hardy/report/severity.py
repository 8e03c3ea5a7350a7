"""What severity does: curves for each corruption, and all cells as a heat map."""

from hardy.metrics.classification import aude
from hardy.report.figures import SEVERITIES, SHOWN, Figure, Panel, Series, figure
from hardy.report.gathered import ErrorGrid, ModelEntry, Section
from hardy.report.words import count, listed, number, short, spoken

LISTED = 4  # with more models than this, a panel notes the range of their areas


@figure(needs=(SEVERITIES,))
def curves(section: Section) -> list[Figure]:
    """Error against severity, with a small panel for each corruption that notes the areas below."""
    grids = [(entry, entry.grid) for entry in section.entries if entry.grid]
    names = [
        name
        for name in section.suite.counted + section.suite.validation
        if any(name in grid.names for _, grid in grids)
    ]
    top = max(one.high for _, grid in grids for row in grid.intervals for one in row)
    panels = tuple(
        Panel(
            spoken(name),
            tuple(
                _curve(entry, grid, name, shown=place < SHOWN)
                for place, (entry, grid) in enumerate(grids)
                if name in grid.names
            ),
            note=_areas([entry for entry, _ in grids], name),
            y_range=(0.0, min(101.0, 1.05 * top)),
        )
        for name in names
    )
    return [
        Figure(
            name=f"{section.slug}-curves",
            kind="lines",
            score="AUDE",
            title="Error against severity",
            sees=_see_curves(grids),
            x_title="Severity (0: clean)",
            y_title="Error (%)",
            panels=panels,
            size="small",
        )
    ]


def _curve(entry: ModelEntry, grid: ErrorGrid, name: str, shown: bool) -> Series:
    row = grid.names.index(name)
    start = [(0, *grid.clean)] if grid.clean else []
    points = [*start, *zip(grid.levels, grid.errors[row], grid.intervals[row], strict=True)]
    return Series(
        short(entry.label),
        tuple(level for level, _, _ in points),
        tuple(value for _, value, _ in points),
        entry.style,
        low=tuple(interval.low for _, _, interval in points),
        high=tuple(interval.high for _, _, interval in points),
        shown=shown,
    )


def _areas(entries: list[ModelEntry], name: str) -> str:
    key = aude.single_label(name)
    found = [entry.scores[key].value for entry in entries if key in entry.scores]
    if len(found) > LISTED:
        return f"AUDE {number(min(found))} to {number(max(found))}"
    return f"AUDE {' · '.join(map(number, found))}" if found else ""


def _see_curves(grids: list[tuple[ModelEntry, ErrorGrid]]) -> str:
    best, grid = grids[0]
    rises = {
        name: errors[-1] - errors[0]
        for name, errors in zip(grid.names, grid.errors, strict=True)
        if len(errors) > 1
    }
    parts = []
    if rises:
        steep, flat = max(rises, key=lambda one: rises[one]), min(rises, key=lambda one: rises[one])
        levels = f"severity {grid.levels[0]} to {grid.levels[-1]}"
        most = f"{rises[steep]:+.1f} points under {spoken(steep)}"
        least = f"{rises[flat]:+.1f} under {spoken(flat)}"
        changes = most if steep == flat else f"most, {most}, and least, {least}"
        # "rises" would be wrong where an error falls with severity.
        verb = "rises" if rises[flat] >= 0 and steep != flat else "changes"
        if rises[flat] < 0 and steep != flat:
            changes = f"between {least} and {most}"
        parts.append(f"From {levels} the error of {best.label} {verb} {changes}.")
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
def heat(section: Section) -> list[Figure]:
    """The error in every cell, with a panel for each model, all on one scale."""
    grids = [(entry, entry.grid) for entry in section.entries if entry.grid]
    panels = tuple(
        Panel(
            entry.label,
            columns=(*(("clean",) if grid.clean else ()), *map(str, grid.levels)),
            rows=tuple(map(spoken, grid.names)),
            cells=tuple((*((grid.clean[0],) if grid.clean else ()), *row) for row in grid.errors),
        )
        for entry, grid in grids
    )
    best, grid = grids[0]
    cells = [
        (error, name, level)
        for name, row in zip(grid.names, grid.errors, strict=True)
        for level, error in zip(grid.levels, row, strict=True)
    ]
    error, name, level = max(cells)
    beyond = sum(error > 50 for error, _, _ in cells)
    sees = (
        f"The darkest cell of {best.label} is {spoken(name)} at severity {level}, where "
        f"{error:.1f} % of its answers are wrong; in {beyond} of {count(len(cells), 'cell')} it is "
        "wrong more often than right."
    )
    return [
        Figure(
            name=f"{section.slug}-heat",
            kind="heat",
            score="error",
            title="Corruption × severity",
            sees=sees,
            x_title="Severity",
            y_title="",
            panels=panels,
            size="medium",
        )
    ]
