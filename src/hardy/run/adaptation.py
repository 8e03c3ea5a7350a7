"""Models that adapt to the images under test: their answer to an image depends on those beside it.

So the images beside it are always the same. Images stand in an order of their own, and are shown in
whole batches at fixed places, one cell at a time; a run has just these images; a batch that was
shown is never shown again in part. Frames of sequences are shown one by one, in the same batches of
images: else an answer would change where nothing moves, because the images beside it do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from math import lcm

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.models import Model, facts_of
from hardy.run.labels import Classes
from hardy.run.subject import Rows, Subject


def mixed(models: Sequence[Model], subject: Subject) -> Subject:
    """The subject in a mixed order, and in whole batches of sequences, where a model adapts.

    The order is that of hashes of the ids, the same in every layout. Sources often come class by
    class, which the model would take for the distribution.
    """
    sizes = [size for model in models if (size := facts_of(model).adapts_in) is not None]
    if not sizes:
        return subject
    hashes = [sha256(str(id).encode(errors="backslashreplace")).digest() for id in subject.ids]
    order = np.array(sorted(range(len(subject)), key=hashes.__getitem__), np.int64)
    known = subject.classes
    classes = Classes(known.labels[order], known.names, known.width)
    return replace(
        subject, indices=subject.indices[order], classes=classes, sequences_of=lcm(*sizes)
    )


def batches_of(model: Model, subject: Subject) -> str | None:
    """A hash of which images an adapting model sees together; None if it takes each by itself.

    It is the same on devices that take blocks of other sizes, as long as the batches are the same.
    """
    size = facts_of(model).adapts_in
    if size is None:
        return None
    together = [rows.stop - rows.start for rows in _batches(subject, size)]
    text = json.dumps([list(subject.ids), together], default=int)
    return sha256(text.encode()).hexdigest()


def cut(rows: Rows, size: int, subject: Subject) -> list[slice]:
    """Slices of the rows, one for each batch. Batches go by place, so that an image that cannot be
    read moves no other."""
    starts = [batch.start for batch in _batches(subject, size)]
    number = np.searchsorted(starts, rows, side="right")
    edges = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(rows)]
    return [slice(*pair) for pair in pairwise(edges)]


def whole_batches(
    models: Sequence[Model], subject: Subject, have: Sequence[npt.NDArray[np.bool_]]
) -> dict[int, str]:
    """Mark the whole of each batch that was begun as stored, and say which rows it lacks: images
    that could not be read at that time.

    `have` tells for each model which (row, cell) it has; it is changed in place.
    """
    left_out: dict[int, str] = {}
    adapting = [
        (place, model, list(_batches(subject, size)))
        for place, model in enumerate(models)
        if (size := facts_of(model).adapts_in) is not None
    ]
    for place, model, batches in adapting:
        for rows in batches:
            batch = have[place][rows]
            begun = batch.any(axis=0)
            for row in np.flatnonzero((begun & ~batch).any(axis=1)).tolist():
                left_out[rows.start + row] = (
                    f"{model.name} was shown the images beside it already, and adapts to what it "
                    "sees together; to have this one too, name another store"
                )
            batch |= begun
    for place, model, batches in adapting:
        for rows in batches:
            lacks = not have[place][rows].all()
            for other, its in zip(models, have, strict=True):
                if lacks and (its[rows] != its[rows.start]).any():
                    raise InputError(
                        f"{model.name} adapts to the images it sees together, but {other.name} has "
                        "only some of them; evaluate the two one by one"
                    )
    return left_out


def _batches(subject: Subject, size: int) -> Iterator[slice]:
    """The rows that are seen together; the last batch of a block may be smaller."""
    for start in range(0, len(subject), subject.chunk_size):
        end = min(start + subject.chunk_size, len(subject))
        yield from (slice(first, min(first + size, end)) for first in range(start, end, size))
