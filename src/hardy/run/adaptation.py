"""Models that adapt to the images under test: what they say of one depends on those beside it.

So these are always the same. Images stand in an order of their own, and are shown in whole batches
at fixed places, one cell at a time; a run has just these images; what was stored of a batch is
never shown again in part. Of sequences each frame is shown by itself, to the same batches of
images: else an answer would change where nothing moves, since the images beside it do.
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
    """Where a model adapts: the images in the order of hashes of their ids, in every layout the
    same. Sources often come class by class, which it would take for the distribution. And whole
    batches of sequences."""
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
    """A hash of which images such a model sees together; None of a model that takes each by itself.

    The same on devices that take their blocks in other sizes, as long as the batches are the same.
    """
    size = facts_of(model).adapts_in
    if size is None:
        return None
    together = [rows.stop - rows.start for rows in _batches(subject, size)]
    text = json.dumps([list(subject.ids), together], default=int)
    return sha256(text.encode()).hexdigest()


def cut(rows: Rows, size: int, subject: Subject) -> list[slice]:
    """Those of some rows that are of one batch, by their places: an image that cannot be read
    moves no other."""
    starts = [batch.start for batch in _batches(subject, size)]
    number = np.searchsorted(starts, rows, side="right")
    edges = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(rows)]
    return [slice(*pair) for pair in pairwise(edges)]


def whole_batches(
    models: Sequence[Model], subject: Subject, have: Sequence[npt.NDArray[np.bool_]]
) -> dict[int, str]:
    """Takes what such models lack of a batch that they were shown for stored, and says which rows
    these are: images that could not be read then.

    `have` tells of each model which (row, cell) it has.
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
    """Rows that are seen together: the last of a block may be fewer."""
    for start in range(0, len(subject), subject.chunk_size):
        end = min(start + subject.chunk_size, len(subject))
        yield from (slice(first, min(first + size, end)) for first in range(start, end, size))
