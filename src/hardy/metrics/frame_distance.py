"""Which frames of a sequence are compared, and how far the ranks of classes move between two.

In a noise sequence every frame is compared with the first, which is clean; in the others every
frame with the one `difficulty` frames later.
"""

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.classification import Floats

Ints = npt.NDArray[np.int64]

DIFFICULTIES = (1, 2, 3)
TOP = 5


def pairs(frames: int, *, noise: bool, difficulty: int = 1) -> tuple[Ints, Ints]:
    """The frames compared: indices of the earlier and of the later ones.

    The difficulty of noise is another stored sequence, so it does not change the pairs.
    """
    if difficulty not in DIFFICULTIES:
        raise InputError(f"expected difficulty 1, 2 or 3, got {difficulty!r}")
    step = 1 if noise else difficulty
    if frames <= step:
        raise InputError(f"expected more than {step} frames to compare, got {frames}")
    later = np.arange(step, frames)
    return np.zeros_like(later) if noise else later - step, later


def ranks_after(earlier: npt.ArrayLike, later: npt.ArrayLike) -> Ints:
    """σ: the later rank (1 = best) of the class that was ranked i, from two lists (..., 5).

    A class that is not in the later list has rank 6, which is all the top-5 distance asks.
    """
    before, after = np.asarray(earlier), np.asarray(later)
    if before.shape != after.shape or before.shape[-1] > TOP:
        raise InputError(
            f"expected two lists of the same, at most {TOP} best classes, got shapes "
            f"{before.shape} and {after.shape}"
        )
    same = before[..., :, None] == after[..., None, :]
    return np.where(same.any(axis=-1), same.argmax(axis=-1) + 1, TOP + 1).astype(np.int64)


def top5_distance(sigma: npt.ArrayLike) -> Ints:
    """d = Σ_{i=1..5} |i − min(σ(i), 6)|; σ(1), σ(2), ... along the last axis.

    Equal to the paper's double sum. Not symmetric: it follows the earlier frame's five classes.
    """
    ranks = np.minimum(np.asarray(sigma, np.int64)[..., :TOP], TOP + 1)
    return np.asarray(np.abs(np.arange(1, ranks.shape[-1] + 1) - ranks).sum(axis=-1))


def ranks(scores: npt.ArrayLike) -> Ints:
    """Rank of every class (1 = best) along the last axis; of equal scores the lower class leads."""
    order = _best_first(scores)
    ranked = np.empty(order.shape, np.int64)
    places = np.broadcast_to(np.arange(1, order.shape[-1] + 1), order.shape)
    np.put_along_axis(ranked, order, places, axis=-1)
    return ranked


def _best_first(scores: npt.ArrayLike) -> Ints:
    """A stable sort is five times slower, so only rows with ties get one."""
    values = np.asarray(scores)
    values = np.negative(values, dtype=np.float32 if values.dtype == np.float32 else np.float64)
    order = np.argsort(values, axis=-1)
    best = np.take_along_axis(values, order, axis=-1)
    tied = (best[..., 1:] == best[..., :-1]).any(axis=-1)
    if tied.any():
        order[tied] = np.argsort(values[tied], axis=-1, kind="stable")
    return order


def _weight_distance(before: Floats, after: Floats) -> Floats:
    """d_Z = Σ_k w(τ(k)) |w(τ(k)) − w(τ'(k))| with w(r) = 1/r, over ranks of all classes."""
    return np.asarray((before * np.abs(before - after)).sum(axis=-1))


def zipf_columns(scores: npt.ArrayLike) -> Floats:
    """What the store keeps per frame: (..., frames, classes) -> (..., frames, 4).

    The distances to the first frame and to 1, 2 and 3 frames back; NaN where there is none.
    """
    weights = 1.0 / ranks(scores)
    frames = weights.shape[-2]
    kept = np.full((*weights.shape[:-1], 1 + len(DIFFICULTIES)), np.nan)
    kept[..., 1:, 0] = _weight_distance(weights[..., :1, :], weights[..., 1:, :])
    for step in DIFFICULTIES:
        if step < frames:
            earlier, later = weights[..., :-step, :], weights[..., step:, :]
            kept[..., step:, step] = _weight_distance(earlier, later)
    return kept
