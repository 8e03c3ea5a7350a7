"""What a build still has to do: units that lack cells, and those whose images are only compared."""

from collections.abc import Sequence

import numpy as np

from hardy.suites.cells import Cell
from hardy.variants.disk.build_worker import ImageFaults, Load, UnitGroup, try_images
from hardy.variants.disk.layout import Layout
from hardy.variants.disk.manifest import ManifestContents
from hardy.variants.generated import Generated

# Files that are made together: fewer calls, and at 224 x 224 all that two need at a time still fits
# the processor's cache (36 ms of corruptions per photograph; alone 37, with four or more 44).
TOGETHER = 2
# Files that a worker elsewhere makes before it waits for its disk: one or two seconds' work.
ELSEWHERE = 800


def list_units(
    contents: ManifestContents,
    layout: Layout,
    units: list[range],
    made_by: Generated,
    cells: Sequence[Cell],
) -> tuple[list[UnitGroup], list[UnitGroup], ImageFaults]:
    """What is to be done, in the images' order; what is done, and only compared with its images;
    and images that were bad, and still are."""
    missing = ~np.stack([contents.listed(cell) for cell in cells], axis=1)
    faults: ImageFaults = {}
    readable: set[int] = set()
    for column, cell in enumerate(cells):
        for unit, bad in contents.bad(cell).items():
            for index in set(bad) - readable - faults.keys():
                _, fault = try_images(made_by, [index])
                faults |= fault
                readable |= {index} - fault.keys()
            missing[unit, column] |= not readable.isdisjoint(bad)
        for unit in np.flatnonzero(~missing[:, column]).tolist():
            if contents.hash(unit, cell) and not layout.there(units[unit], cell):
                missing[unit, column] = True
    groups: list[UnitGroup] = []
    for unit in np.flatnonzero(missing.any(axis=1)).tolist():
        rest = tuple(cell for cell, lacks in zip(cells, missing[unit], strict=True) if lacks)
        last = groups[-1] if groups else None
        if last and last.cells == rest and (len(last.units) + 1) * layout.size <= TOGETHER:
            both = (*last.sources, contents.sources(unit))
            groups[-1] = UnitGroup((*last.units, unit), rest, both)
        else:
            groups.append(UnitGroup((unit,), rest, (contents.sources(unit),)))
    done = np.flatnonzero(~missing.any(axis=1)).tolist()
    kept = [UnitGroup((unit,), (), (known,)) for unit in done if (known := contents.sources(unit))]
    # The worker reports these again.
    again = {index for group in groups for unit in group.units for index in units[unit]}
    return groups, kept, {index: fault for index, fault in faults.items() if index not in again}


def loads(groups: Sequence[UnitGroup], layout: Layout, outputs: int = 1) -> list[Load]:
    """As many groups at a time as make so many files or rows, one at least."""
    every: list[Load] = []
    made = outputs
    for group in groups:
        if made >= outputs:
            every.append(())
            made = 0
        every[-1] += (group,)
        made += len(group.units) * layout.size * max(1, len(group.cells))
    return every
