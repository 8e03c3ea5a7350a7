"""The images of block after block, read by threads while models are at work.

For a device a block is large, and threads that read hold up the one that keeps the device busy. So
it is read in pieces: all threads share the first block, which everything waits for, and pieces of
the next one are taken between cells. Each that is taken lets the threads begin one more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import chain

import numpy as np

from hardy.execute import Executor
from hardy.run.subject import (
    Loaded,
    Piece,
    Rows,
    Subject,
)

PIECES = 16  # of a block for a device


class Reading:
    def __init__(self, subject: Subject, blocks: Sequence[Rows], executor: Executor) -> None:
        self._subject = subject
        whole = subject.chunk_size
        size = whole if subject.device is None else max(1, whole // PIECES)
        cut = [np.split(rows, range(size, len(rows), size)) for rows in blocks]
        self._counts = deque(map(len, cut))  # pieces of the blocks that are still to come
        self._taken: list[Piece] = []  # of the next of them
        self._read = executor.run(lambda: subject.read, chain.from_iterable(cut))

    def block(self) -> Loaded:
        """The next one, whole."""
        self.take_ahead(1.0)
        self._counts.popleft()
        pieces, self._taken = self._taken, []
        return self._subject.join(pieces)

    def take_ahead(self, share: float) -> None:
        """That share of the pieces of the next block, if there is one; waits where it must."""
        wanted = int(share * self._counts[0]) if self._counts else 0
        while len(self._taken) < wanted:
            self._taken.append(next(self._read))

    def close(self) -> None:
        self._read.close()
