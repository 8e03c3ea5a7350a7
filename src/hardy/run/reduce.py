"""Logits to what the store keeps: all that any metric asks about a prediction, in few bytes."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.frame_distance import zipf_columns
from hardy.store.parts import Columns

TOP = 5
# Logits that are gone through together: the passes over them find them in the processor's cache.
BLOCK = 1 << 16


def reduce(
    logits: npt.NDArray[Any], labels: npt.NDArray[Any], *, frames: int | None = None
) -> Columns:
    """Logits (N, K) and labels (N,) to columns of N rows each; the label -1 means none.

    Softmax in float64: log p_k = z_k − max z − log Σ exp(z − max z). Equal logits rank by class
    number, so that `rank` and `top5` agree. With `frames`, N is images × frames, the frames of an
    image one after the other, and `zipf` has their distances.
    """
    scores = np.asarray(logits)
    if scores.ndim != 2 or not scores.size:
        raise InputError(f"expected logits of shape (images, classes), got {scores.shape}")
    if not np.isfinite(scores).all():
        raise InputError("expected finite logits, got a NaN or an infinite one")
    wanted = _checked_labels(labels, *scores.shape)
    step = max(1, BLOCK // scores.shape[1])
    blocks = [slice(start, start + step) for start in range(0, len(scores), step)]
    parts = [_reduce(scores[block].astype(np.float64), wanted[block]) for block in blocks]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if frames is not None:
        columns["zipf"] = _zipf(scores, frames)
    return columns


def _checked_labels(labels: npt.NDArray[Any], rows: int, classes: int) -> npt.NDArray[np.int64]:
    wanted = np.asarray(labels)
    if wanted.shape != (rows,) or not np.issubdtype(wanted.dtype, np.integer):
        raise InputError(
            f"expected {rows} labels as whole numbers, got {wanted.dtype} of shape {wanted.shape}"
        )
    if wanted.min() < -1 or wanted.max() >= classes:
        worst = wanted.max() if wanted.max() >= classes else wanted.min()
        raise InputError(
            f"expected labels from 0 to {classes - 1} for a model of {classes} classes, got {worst}"
        )
    return wanted.astype(np.int64)


def _reduce(exact: npt.NDArray[np.float64], labels: npt.NDArray[np.int64]) -> Columns:
    best = _best(exact)
    top = np.take_along_axis(exact, best[:, :1], axis=1)
    with np.errstate(over="ignore"):  # a difference of -inf has the probability 0 all the same
        likely = np.exp(exact - top)
        total = likely.sum(axis=1, keepdims=True)
        log_prob, rank = _of_labels(exact, labels, top, np.log(total))
    padding = ((0, 0), (0, TOP - best.shape[1]))
    shares = np.take_along_axis(likely, best, axis=1) / total
    return {
        "log_prob": log_prob,
        "rank": rank,
        "square_sum": (np.square(likely).sum(axis=1) / np.square(total[:, 0])).astype(np.float32),
        "top5": np.pad(best, padding, constant_values=-1).astype(np.int32),
        "top5_prob": np.pad(shares, padding).astype(np.float32),
    }


def _best(exact: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The best classes, best first. `argmax` takes the first of equals, and is ten times faster
    than partitioning 1,000 classes."""
    rest, rows = exact.copy(), np.arange(len(exact))
    best = np.empty((len(exact), min(TOP, exact.shape[1])), np.int64)
    for place in range(best.shape[1]):
        best[:, place] = rest.argmax(axis=1)
        rest[rows, best[:, place]] = -np.inf
    return best


def _of_labels(
    exact: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int64],
    top: npt.NDArray[np.float64],
    log_total: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    own = np.take_along_axis(exact, np.maximum(labels, 0)[:, None], axis=1)
    # Not below what float32 can say: metrics want a number, however bad.
    log_prob = np.maximum(own - top - log_total, np.finfo(np.float32).min)[:, 0]
    better = np.count_nonzero(exact > own, axis=1)
    equal = exact == own
    if np.count_nonzero(equal) > len(exact):
        lower = np.arange(exact.shape[1]) < labels[:, None]
        better += np.count_nonzero(equal & lower, axis=1)
    there = labels >= 0
    return (
        np.where(there, log_prob, np.nan).astype(np.float32),
        np.where(there, better, -1).astype(np.int32),
    )


def _zipf(scores: npt.NDArray[Any], frames: int) -> npt.NDArray[np.float32]:
    """Zipf distances, some images at a time: the ranks of all would fill the memory."""
    if frames < 1 or len(scores) % frames:
        raise InputError(f"expected whole sequences of {frames} frames, got {len(scores)} frames")
    sequences = scores.reshape(-1, frames, scores.shape[1])
    step = max(1, BLOCK // (frames * scores.shape[1]))
    blocks = range(0, len(sequences), step)
    distances = [zipf_columns(sequences[start : start + step]) for start in blocks]
    return np.concatenate(distances).reshape(len(scores), -1).astype(np.float32)
