"""How far a suite's corruptions take images from where they were: MS-SSIM, cell by cell."""

import json
import os
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from hardy.errors import InputError
from hardy.execute import Threads, processors
from hardy.images import open_images
from hardy.metrics import stratified_subset
from hardy.metrics.classification import Floats
from hardy.metrics.ssim import ms_ssim
from hardy.progress import Track, watch
from hardy.scores.text_tables import Shown, TextTable, to_csv
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell, choose_cells
from hardy.suites.suite import Suite
from hardy.variants.generated import Generated

# The older paper chose its severities so that the similarity would go from the first to the last.
_AIM = (0.9, 0.5)


@dataclass(frozen=True, eq=False, repr=False)
class Description(Shown):
    """How similar a suite's images are to the clean ones, image by image and cell by cell."""

    suite: Suite
    cells: tuple[Cell, ...]
    similarity: Floats  # (images, cells)
    source: str  # in words

    def __repr__(self) -> str:
        images, cells = self.similarity.shape
        return f"Description({self.suite.name}, {images:,} images × {cells} cells)"

    def tables(self, *, brief: bool = False) -> list[TextTable]:
        levels = sorted({cell.level for cell in self.cells})
        means = dict(zip(self.cells, self.similarity.mean(axis=0), strict=True))
        names = list(dict.fromkeys(cell.name for cell in self.cells))
        rows = []
        for label, some in (*((name, [name]) for name in names), ("mean", names)):
            mean = [np.mean([means[Cell(name, level)] for name in some]) for level in levels]
            rows.append((label, *(f"{value:.3f}" for value in mean)))
        graded = self.suite.graded
        header = [f"severity {level}" for level in levels] if graded else ["all strengths"]
        title = f"{self.suite.name}: MS-SSIM to the clean image"
        notes = [f"mean over {len(self.similarity):,} of {self.source}; 1 is the clean image"]
        if graded:
            notes.append(f"the older paper aimed at {_AIM[0]} for severity 1 and {_AIM[1]} for 5")
        return [TextTable(title, ("", *header), rows, notes=tuple(notes))]

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

    def as_csv(self) -> str:
        return to_csv(self.rows())

    def as_json(self) -> str:
        return json.dumps(self.rows(), indent=1) + "\n"


def describe(
    suite: str,
    *,
    images: str | os.PathLike[str],
    labels: str | os.PathLike[str] | None = None,
    subset: int | None = None,
    own_classes: bool = False,
    track: Track = watch,
) -> Description:
    """Measure how similar a suite's images are to the clean ones: MS-SSIM, cell by cell.

    The images are as the suite's files have them, the storage step included. `subset` takes so many
    of them, the same each time, classes in proportion. With `own_classes` the classes are the
    images' own, and so files in two of them may have one name.

    ```python
    import hardy
    import numpy as np

    np.savez("set.npz", images=np.zeros((3, 32, 32, 3), np.uint8), labels=np.arange(3))
    found = hardy.describe("cifar10_c", images="set.npz", subset=2)
    print(found.similarity.mean(axis=0).round(2))
    ```
    """
    wanted = load(suite)
    if wanted.kind != "corruptions":
        raise InputError(
            f"expected a suite of corruptions to compare with clean images, got {suite}, "
            f"a suite of {wanted.kind}; name another"
        )
    rule = wanted.rule_of_ids(by_path=own_classes)
    source = open_images(images, labels=labels, id_rule=rule)
    chosen = np.arange(len(source))
    if subset is not None:
        classes = np.zeros(len(source)) if source.labels is None else source.labels
        chosen = stratified_subset(classes, source.ids, size=subset)
    cells = choose_cells(wanted, ["all"])
    variants = Generated(wanted, source)

    def one(place: int) -> Floats:
        chunk = variants.chunk([place])
        clean = chunk.make(CLEAN)
        return np.concatenate([ms_ssim(chunk.make(cell), clean) for cell in cells])

    with closing(Threads(processors()).run(lambda: one, chosen.tolist())) as results:
        similarity = np.array(list(track(results, len(chosen), "images")))
    return Description(wanted, cells, similarity, source.describe())
