"""Files at a URL, read by ranges: in blocks, of which those that come next are fetched ahead.

A block that was read stays in memory for a while, for whoever opens the file again: the threads
that decode a tar, or a store's parts, of which several columns are wanted one after the other.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

BLOCK = 1 << 20
AHEAD = 8  # blocks that are fetched before they are asked for, once a file is read in order
KEPT = 128  # blocks

Key = tuple[Any, ...]  # a file in one of its states, and the number of a block


class RangeFile(io.RawIOBase):
    """One file, open for reading: its size, what tells it from all others and from itself in
    another state, and how to read so many bytes of it from a place on."""

    def __init__(
        self, size: int, state: tuple[Any, ...], fetch: Callable[[int, int], bytes]
    ) -> None:
        self._size = size
        self._state = state
        self._fetch = fetch
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError(f"expected a place from 0 in the file, got {start + offset}")
        self._at = start + offset
        return self._at

    def read_at(self, start: int, length: int) -> bytes:
        """So many bytes from a place on, fewer at the end; several threads may call it."""
        end, some = min(start + length, self._size), []
        while start < end:
            number, skip = divmod(start, BLOCK)
            some.append(self._block(number)[skip : skip + end - start])
            start += len(some[-1])
        return b"".join(some)

    def readinto(self, target: Any, /) -> int:
        some = self.read_at(self._at, min(len(target), BLOCK))
        target[: len(some)] = some
        self._at += len(some)
        return len(some)

    def _block(self, number: int) -> bytes:
        last = (self._size - 1) // BLOCK
        return _BLOCKS.get(self._state, number, last, self._fetch_block)

    def _fetch_block(self, number: int) -> bytes:
        return self._fetch(number * BLOCK, min(BLOCK, self._size - number * BLOCK))


class _Blocks:
    """The blocks that were read last, and those that are being read."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[Key, Future[bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, state: tuple[Any, ...], number: int, last: int, fetch: Callable[[int], bytes]
    ) -> bytes:
        with self._lock:
            in_order = (*state, number - 1) in self._blocks
            ahead = min(number + AHEAD, last) if in_order else number
            for wanted in range(number, ahead + 1):
                if (*state, wanted) not in self._blocks:
                    self._blocks[*state, wanted] = _fetchers().submit(fetch, wanted)
            block = self._blocks[*state, number]
            self._blocks.move_to_end((*state, number))
            while len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)
        try:
            return block.result()
        except BaseException:
            with self._lock:
                self._blocks.pop((*state, number), None)
            raise


_BLOCKS = _Blocks()


@cache
def _fetchers() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(AHEAD, "hardy_fetch")
