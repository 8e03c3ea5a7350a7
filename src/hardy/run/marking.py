"""Which logits of an answer count, and which class is held against it.

Of most suites all logits count, and an image has one right class. Of natural shifts only the logits
of some classes may count, as their authors compute it, and an image may have several right classes.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.run.subject import Rows, Subject
from hardy.variants.shifted import Shifted

# Below any logit: a class that does not count has the probability 0, and the last ranks.
_NEVER = -1e300


def mark(
    logits: npt.NDArray[Any], subject: Subject, rows: Rows, frames: int | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """The logits of these rows as far as they count, and the label of each, −1 for none.

    Of several right classes the label is the one that the model thinks likeliest: its rank is below
    k just where one of the right classes is among the k best.
    """
    variants = subject.variants
    if not isinstance(variants, Shifted):
        return logits, np.repeat(subject.classes.labels[rows], frames or 1).astype(np.int64)
    counted = keep_classes(logits, variants.kept)
    return counted, likeliest(counted, [variants.right[index] for index in subject.indices[rows]])


def keep_classes(logits: npt.NDArray[Any], kept: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Logits (N, K) in which only the classes `kept` can be predicted; all if there are none."""
    exact = np.asarray(logits, np.float64)
    if not kept:
        return exact
    counts = np.zeros(exact.shape[1], np.bool_)
    counts[list(kept)] = True
    return np.where(counts, exact, _NEVER)


def likeliest(
    logits: npt.NDArray[np.float64], right: list[tuple[int, ...]]
) -> npt.NDArray[np.int64]:
    """The right class of each row that has the largest logit; −1 where there is none."""
    best = [
        some[int(row[list(some)].argmax())] if some else -1
        for row, some in zip(logits, right, strict=True)
    ]
    return np.array(best, np.int64)
