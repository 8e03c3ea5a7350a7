"""Which predictions a sample of a run is made of: a fixed order of all of them, of which any
beginning is a sample.

Images stand in a line. Within a class their order is random, and each class is spread evenly over
the line from a random start, so that every image is as likely as any other to be among the first
ones, and these have the classes in proportion. Along the line images are taken in blocks, one for
each cell: at every turn the images of a block are dealt all cells, each of them once. Which image
gets which is random from block to block, so any two cells meet in some image as often as others.

All of it follows from the suite, the seed, and the ids and labels of the images.
"""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.engine.keys import image_ids
from hardy.engine.ops import ops_for
from hardy.engine.rng import derive_key, stream_number
from hardy.images.source import Ids
from hardy.run.sample_plan import PILOT_TURNS, SamplePlan

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class SampleDesign:
    """The order of all predictions; `cells` are how many there are besides the clean images."""

    def __init__(
        self, ids: Ids, labels: npt.NDArray[Any], *, cells: int, suite: str, seed: int | None
    ) -> None:
        self.cells = cells
        self._key = derive_key(seed or 0, suite, "sample", 0)
        self._numbers = image_ids(ids, len(labels))
        self._labels = np.asarray(labels)

    def __len__(self) -> int:
        return len(self._numbers)

    def _words(self, numbers: npt.NDArray[np.uint64], name: str, count: int) -> npt.NDArray[Any]:
        words = ops_for(np.empty(0)).words(self._key, numbers, stream_number(name), count)
        return np.asarray(words, np.uint64)

    def _chance(self, numbers: npt.NDArray[np.uint64], name: str) -> npt.NDArray[np.uint64]:
        high, low = self._words(numbers, name, 2).T
        return np.asarray((high << np.uint64(32)) | low)

    @cached_property
    def line(self) -> Ints:
        """The images in the order in which they are taken, as places among the ids."""
        chance = self._chance(self._numbers, "image")
        order = np.lexsort((self._numbers, chance, self._labels))
        names, starts, sizes = np.unique(self._labels[order], return_index=True, return_counts=True)
        begin = self._chance((names + 1).astype(np.uint64), "class") / 2.0**64
        within = np.arange(len(order)) - np.repeat(starts, sizes)
        place = (within + np.repeat(begin, sizes)) / np.repeat(sizes, sizes)
        return np.asarray(order[np.lexsort((chance[order], place))])

    @cached_property
    def turns(self) -> npt.NDArray[np.int16]:
        """(images, cells) along the line: at which turn an image is shown under a cell."""
        cells, blocks = self.cells, -(-len(self) // self.cells)
        numbers = np.arange(blocks, dtype=np.uint64)
        dealt = np.argsort(self._words(numbers, "cells", cells), axis=1, kind="stable")
        step = np.argsort(self._words(numbers, "steps", cells), axis=1, kind="stable")
        # The image at j of a block has at turn t the cell dealt[(j + step[t]) mod cells].
        seat, when = np.argsort(dealt, axis=1), np.argsort(step, axis=1)
        apart = (seat[:, None, :] - np.arange(cells)[:, None]) % cells  # (blocks, images, cells)
        found = np.take_along_axis(when[:, None, :], apart, axis=2)
        return found.reshape(-1, cells)[: len(self)].astype(np.int16)

    def _turns_after(self, passes: int, plan: SamplePlan) -> int:
        """How many turns an image has had after so many passes over the line. Those after the first
        bring one each: images of unequal turns weigh unequally, which costs precision."""
        return min(self.cells, plan.per_image + passes - 1) if passes else 0

    def turns_taken(self, visits: int, plan: SamplePlan) -> Ints:
        """How many turns each image along the line has had after so many visits: all images are
        visited once, then all once more."""
        passes, rest = divmod(visits, len(self))
        taken = np.full(len(self), self._turns_after(passes, plan))
        taken[:rest] = self._turns_after(passes + 1, plan)
        for first, least in ((plan.pilot + plan.once, 1), (plan.pilot, PILOT_TURNS)):
            taken[:first] = np.maximum(taken[:first], least)
        return np.asarray(np.minimum(taken, self.cells))

    def wanted(self, visits: int, plan: SamplePlan) -> Bools:
        """(images, cells) along the line: which predictions that takes."""
        taken = self.turns_taken(visits, plan).astype(self.turns.dtype)
        return np.asarray(self.turns < taken[:, None])

    def visits_done(self, have: Bools, plan: SamplePlan, unreadable: int = 0) -> int:
        """How many visits are complete, in whole blocks, where so many predictions are there; that
        many images may be without any."""
        lacking = np.where(have, self.cells, self.turns).min(axis=1)  # the first turn that is not
        absent = np.flatnonzero(~have.any(axis=1))[:unreadable]
        lacking[absent] = self.cells
        if not plan.per_image or (lacking[: plan.pilot] < min(PILOT_TURNS, self.cells)).any():
            return 0
        passes = max(0, int(lacking.min()) - plan.per_image + 1)
        short = np.flatnonzero(lacking < self._turns_after(passes + 1, plan))
        if not len(short):
            return self.all_visits(plan)
        return passes * len(self) + self.in_blocks(int(short[0]))

    def in_blocks(self, images: int) -> int:
        return images // self.cells * self.cells

    def all_visits(self, plan: SamplePlan) -> int:
        return len(self) * (self.cells - plan.per_image + 1)
