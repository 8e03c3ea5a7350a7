"""Models that adapt to the images under test: what they say of one depends on those beside it.

So these are always the same. Images stand in an order of their own, a block of them is shown whole,
one cell at a time, in batches at fixed places; a run has just these images; what was stored of a
block is never shown again in part. Of sequences each frame is shown by itself, to the same batches
of images: else an answer would change where nothing moves, since the images beside it do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from math import lcm

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.models import Model
from hardy.predictions.labels import Classes
from hardy.predictions.subject import Subject


def mixed(models: Sequence[Model], subject: Subject) -> Subject:
    """Where a model adapts: the images in the order of hashes of their ids, in every layout the
    same. Sources often come class by class, which it would take for the distribution. And whole
    batches of sequences."""
    sizes = [size for model in models if (size := seen_together(model)) is not None]
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
    size = seen_together(model)
    if size is None:
        return None
    blocks = (len(subject) - start for start in _starts(subject))
    sizes = (min(left, subject.chunk_size) for left in blocks)
    together = [min(size, block - start) for block in sizes for start in range(0, block, size)]
    text = json.dumps([list(subject.ids), together], default=int)
    return sha256(text.encode()).hexdigest()


def whole_blocks(
    models: Sequence[Model], subject: Subject, have: Sequence[npt.NDArray[np.bool_]]
) -> dict[int, str]:
    """Takes what such models lack of a block that they were shown for stored, and says which rows
    these are: images that could not be read then.

    `have` tells of each model which (row, cell) it has.
    """
    left_out: dict[int, str] = {}
    adapting = [place for place, model in enumerate(models) if seen_together(model) is not None]
    for start in _starts(subject):
        rows = slice(start, start + subject.chunk_size)
        for place in adapting:
            block = have[place][rows]
            begun = block.any(axis=0)
            for row in np.flatnonzero((begun & ~block).any(axis=1)).tolist():
                left_out[start + row] = (
                    f"{models[place].name} was shown the images beside it already, and adapts to "
                    "what it sees together; to have this one too, name another store"
                )
            block |= begun
        lacking = [place for place in adapting if not have[place][rows].all()]
        for place, other in enumerate(models):
            if lacking and (have[place][rows] != have[place][start]).any():
                raise InputError(
                    f"{models[lacking[0]].name} adapts to the images it sees together, but "
                    f"{other.name} has only some of them; evaluate the two one by one"
                )
    return left_out


def seen_together(model: Model) -> int | None:
    """Of one that adapts: how many images it sees together."""
    return getattr(model, "adapts_in", None)


def _starts(subject: Subject) -> range:
    return range(0, len(subject), subject.chunk_size)
