"""A fixed part of the images with every class in its proportion."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError


def stratified_subset(
    labels: npt.ArrayLike,
    ids: Sequence[str | int],
    *,
    size: int | None = None,
    per_class: int | None = None,
) -> npt.NDArray[np.int64]:
    """Indices, ascending, of `size` images in all or of `per_class` images of each class.

    The order within a class is that of a hash of the id, so the choice does not depend on how the
    images are listed, and a smaller subset is part of a larger one: growing it wastes nothing.
    """
    classes = np.asarray(labels)
    if classes.shape != (len(ids),):
        raise InputError(f"expected a label per image, {len(ids)}, got shape {classes.shape}")
    if (size is None) == (per_class is None):
        got = "neither" if size is None else "both"
        raise InputError(
            "expected either `subset`, a number of images, or `images_per_class`, how many of each "
            f"class, got {got}"
        )
    digests = (sha256(f"subset\0{key}".encode("utf-8", "surrogatepass")).digest() for key in ids)
    chance = np.array([int.from_bytes(digest[:8], "big") for digest in digests], np.uint64)
    order = np.lexsort((chance, classes))
    _, starts, sizes = np.unique(classes[order], return_index=True, return_counts=True)
    place = np.empty(len(ids), np.int64)
    place[order] = np.arange(len(ids)) - np.repeat(starts, sizes)
    if per_class is not None:
        if not 1 <= per_class <= sizes.min():
            raise InputError(
                f"expected `images_per_class` from 1 to {sizes.min()}, since the smallest class "
                f"has no more, got {per_class}"
            )
        return np.flatnonzero(place < per_class)
    if not (size is not None and 1 <= size <= len(ids)):
        raise InputError(
            f"expected `subset` from 1 to {len(ids)}, the number of images, got {size}"
        )
    # Spread each class evenly over [0, 1]: every first part of that line has all in proportion.
    members = np.empty(len(ids), np.int64)
    members[order] = np.repeat(sizes, sizes)
    line = np.lexsort((chance, (place + 0.5) / members))
    return np.sort(line[:size])
