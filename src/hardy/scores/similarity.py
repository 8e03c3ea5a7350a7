"""How far a suite's corruptions take images from where they were: MS-SSIM, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.execute import Executor
from hardy.images.source import Source
from hardy.metrics import ms_ssim
from hardy.scores.text_tables import TextTable
from hardy.suites.cells import CLEAN, Cell
from hardy.suites.suite import Suite
from hardy.variants.generated import Generated

# The older paper chose its severities so that the similarity would go from the first to the last.
AIM = (0.9, 0.5)

Floats = npt.NDArray[np.float64]
Track = Callable[[Iterator[Floats], int], Iterable[Floats]]


class Description(NamedTuple):
    suite: Suite
    cells: tuple[Cell, ...]
    similarity: Floats  # (images, cells)
    source: str  # in words

    def table(self) -> TextTable:
        levels = sorted({cell.level for cell in self.cells})
        means = dict(zip(self.cells, self.similarity.mean(axis=0), strict=True))
        rows = [
            (name, *(f"{means[Cell(name, level)]:.3f}" for level in levels))
            for name in dict.fromkeys(cell.name for cell in self.cells)
        ]
        rows.append(
            (
                "mean",
                *(
                    f"{np.mean([m for cell, m in means.items() if cell.level == level]):.3f}"
                    for level in levels
                ),
            )
        )
        graded = self.suite.graded
        header = [f"severity {level}" for level in levels] if graded else ["all strengths"]
        title = f"{self.suite.name}: MS-SSIM to the clean image"
        notes = [f"mean over {len(self.similarity):,} of {self.source}; 1 is the clean image"]
        if graded:
            notes.append(f"the older paper aimed at {AIM[0]} for severity 1 and {AIM[1]} for 5")
        return TextTable(title, ("", *header), rows, notes=tuple(notes))

    def rows(self) -> list[dict[str, object]]:
        """Plain values: the mean over images, and its standard error."""
        number = len(self.similarity)
        means = self.similarity.mean(axis=0)
        spread = self.similarity.std(axis=0, ddof=1) / np.sqrt(number) if number > 1 else None
        return [
            {
                "suite": self.suite.name,
                "version": self.suite.version,
                "corruption": cell.name,
                "severity": cell.level,
                "ms_ssim": float(means[place]),
                "standard_error": None if spread is None else float(spread[place]),
                "images": number,
            }
            for place, cell in enumerate(self.cells)
        ]


def describe(
    suite: Suite,
    source: Source,
    cells: Sequence[Cell],
    *,
    images: Sequence[int],
    executor: Executor,
    seed: int = 0,
    track: Track = lambda done, total: done,
) -> Description:
    """Of `images`, places in the source, as the suite's files have them: the storage step too."""
    if suite.kind != "corruptions":
        raise InputError(
            f"expected a suite of corruptions to compare with clean images, got {suite.name}, "
            f"whose {suite.kind} are sequences; name another suite"
        )
    variants = Generated(suite, source, seed)

    def one(place: int) -> Floats:
        chunk = variants.chunk([place])
        clean = chunk.make(CLEAN)
        return np.concatenate([ms_ssim(chunk.make(cell), clean) for cell in cells])

    with closing(executor.run(lambda: one, images)) as results:
        similarity = np.array(list(track(results, len(images))))
    return Description(suite, tuple(cells), similarity, source.describe())
