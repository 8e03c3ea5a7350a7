"""Half of the images under one corruption of a suite: what an overlap is measured with."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hardy.corrupt import CORRUPTIONS
from hardy.corrupt import passes as engine
from hardy.engine.door import SMALLEST_SIDE
from hardy.engine.ops import cpu_ops
from hardy.engine.rng import Draws, derive_key
from hardy.errors import InputError, sides
from hardy.registry import unknown
from hardy.suites import load
from hardy.suites.cells import NONE, levels
from hardy.train.method import Draw, Method


@dataclass
class Corrupted(Method):
    """Half of the images, drawn anew in each epoch, are under one corruption of a suite.

    `corruption` is its name; "none" leaves all images clean. Each image's severity is drawn from
    those of `suite`.

    The published experiment trains on a set of twice the size, in which every image stands once
    corrupted and once clean. Two epochs here show on average what one shows there, the same half
    of each kind; where it counts 40 epochs, that is 80 here. It flips before it corrupts and does
    not crop; here the corrupted images are cropped and flipped like all others, of images that are
    read while the net trains before they are corrupted.

    The bytes are those of the engine, keyed by the seed of the run, epoch, severity and the image's
    number, apart from those of every evaluation. It alone counts as seen, also where another suite
    has one of its kind.
    """

    corruption: str = ""  # to be said: also that there is to be none
    suite: str = "cifar10_c"

    def __post_init__(self) -> None:
        self._suite = suite = load(self.suite)
        if not self.corruption:
            raise InputError(
                f"corrupted: expected a corruption of {suite.name} to train with, got nothing; "
                f"name one by `settings`, corruption=NAME ({', '.join(suite.corruptions)}), or "
                f"corruption={NONE} for clean images"
            )
        if self.corruption not in (NONE, *suite.corruptions):
            known = (NONE, *suite.corruptions)
            raise unknown(f"corruption of {suite.name}", self.corruption, known)
        self.seen = () if self.corruption == NONE else (self.corruption,)
        self._drawn: tuple[tuple[int, int], npt.NDArray[np.int8]] | None = None  # of an epoch

    def described(self) -> dict[str, Any]:
        """A user's suite is known by what is in it, not by where it lies."""
        suite = self._suite
        return super().described() | {"suite": suite.name, "suite_hash": suite.content_hash()}

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        if self.corruption != NONE and min(shape[1:]) < SMALLEST_SIDE:
            raise InputError(
                f"corrupted: expected images of at least {SMALLEST_SIDE} pixels per side, got "
                f"{sides(*shape[1:3])}; enlarge them first"
            )

    def epoch_images(self, epoch: int, images: Tensor) -> Tensor:
        return self.batch_images(epoch, images, np.arange(len(images)), len(images))

    def batch_images(
        self, epoch: int, images: Tensor, rows: npt.NDArray[np.int64], count: int
    ) -> Tensor:
        if self.corruption == NONE:
            return images
        suite, made = self._suite, images.clone()
        places = self._places(epoch, count)[rows]
        for place, level in enumerate(levels(suite, self.corruption)):
            chosen = np.flatnonzero(places == place)
            if not len(chosen):
                continue
            where = torch.from_numpy(chosen).to(images.device)
            made[where] = engine.run_pass(
                CORRUPTIONS[self.corruption],
                images[where],
                suite.edition.params(self.corruption, level),
                key=self._key(epoch, suite.edition.name, level),
                ids=rows[chosen].astype(np.uint64),
            )
        return made

    def _places(self, epoch: int, count: int) -> npt.NDArray[np.int8]:
        """The place of each image's severity among those of the suite; −1: it stays clean, as half
        of them do."""
        if self._drawn is None or self._drawn[0] != (epoch, count):
            numbers = np.arange(count, dtype=np.uint64)
            draws = Draws(cpu_ops(), self._key(epoch, "half", 0), numbers)
            order = np.argsort(draws.words("chosen", ()), kind="stable")
            severities = len(levels(self._suite, self.corruption))
            places = draws.integers("severity", (), severities).astype(np.int8)
            places[order[count // 2 :]] = -1
            self._drawn = (epoch, count), places
        return self._drawn[1]

    def _key(self, epoch: int, edition: str, level: int) -> int:
        return derive_key(
            self.draw.seed, f"training epoch {epoch}/{edition}", self.corruption, level
        )
