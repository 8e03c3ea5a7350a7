"""Randomness as a pure function: Philox4x32-10 over (key, image id, stream, element).

Key = hash(seed, edition, corruption, severity). Counter = (element // 4, stream, id low, id high);
element e takes word e % 4 of its block. A draw has a name, its stream, so a new draw never shifts
an old one, and nothing depends on batch size, order or thread.

Philox: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from functools import lru_cache
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardy.engine import portable

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
LOW_32 = 0xFFFFFFFF

# The 31-bit tail probability is cut by its floating-point form: 32 octaves of 32 segments each.
SEGMENT_BITS = 5


def _hash(text: str, size: int) -> int:
    # Names of files need not be valid text; what is encodes as ever.
    data = text.encode(errors="surrogateescape")
    return int.from_bytes(blake2b(data, digest_size=size).digest(), "little")


@lru_cache(maxsize=1024, typed=True)  # True is not 1 here: the key is that of the text
def derive_key(seed: int, edition: str, corruption: str, severity: int) -> int:
    """The 64-bit Philox key of one cell of one edition."""
    return _hash(f"hardy/1/{seed}/{edition}/{corruption}/{severity}", 8)


def image_id(value: int | str) -> int:
    """An id as 64 bits: whole numbers are themselves, names are hashed."""
    return value if isinstance(value, int) else _hash(value, 8)


@lru_cache(maxsize=256)
def stream_number(name: str) -> int:
    return _hash(name, 4)


@lru_cache(maxsize=1)
def normal_segments() -> NDArray[np.float64]:
    """Cubic pieces (1024, 4) of the normal quantile over the tail probability p = m / 2**33.

    m is odd and below 2**32; its exponent and leading five mantissa bits choose the piece, the
    remaining bits, as t in [0, 1), the place in it. Off the true quantile by less than 2e-7.
    """
    pieces = 1 << SEGMENT_BITS
    octave, part = np.divmod(np.arange(32 * pieces), pieces)
    width = np.ldexp(1.0 / pieces, octave - 33)
    start = np.ldexp(1.0, octave - 33) + part * width
    y0, y1, y2, y3 = (
        portable.normal_quantile_of_tail(np.minimum(start + width * (node / 3.0), 0.5))
        for node in range(4)
    )
    # Newton's form through t = 0, 1/3, 2/3, 1, expanded into powers of t.
    d1, d2, d3 = y1 - y0, y2 - y1, y3 - y2
    e1, e2 = d2 - d1, d3 - d2
    f1 = e2 - e1
    return np.stack([y0, 3.0 * d1 - 1.5 * e1 + f1, 4.5 * e1 - 4.5 * f1, 4.5 * f1], axis=-1)


class Draws:
    """Named random fields of a batch: one leading axis for the images, in the backend's arrays."""

    def __init__(self, ops: Any, key: int, ids: Any) -> None:
        self._ops, self._key, self._ids = ops, key, ids

    def host(self, table: Any) -> Any:
        """A host table in the backend's arrays, to look draws up in."""
        return self._ops.host(table)

    def words(self, name: str, shape: tuple[int, ...]) -> Any:
        """Raw 32-bit words, (N, *shape)."""
        flat = self._ops.words(self._key, self._ids, stream_number(name), prod(shape))
        return flat.reshape((flat.shape[0], *shape))

    def uniform(self, name: str, shape: tuple[int, ...], low: float, high: float) -> Any:
        """Float64 in (low, high): the middles of 2**32 equal steps."""
        return self._ops.uniform(self.words(name, shape), low, high)

    def normal(self, name: str, shape: tuple[int, ...]) -> Any:
        """Standard normal float64, by the inverse distribution function."""
        return self._ops.normal(self.words(name, shape))

    def integers(self, name: str, shape: tuple[int, ...], below: Any) -> Any:
        """Whole numbers 0 .. below-1; `below` may be an array that broadcasts."""
        return self._ops.scaled(self.words(name, shape), below)

    def permutation(self, name: str, shape: tuple[int, ...]) -> Any:
        """The numbers 0, 1, ... of the last axis in random order."""
        return self._ops.order(self.words(name, shape))
