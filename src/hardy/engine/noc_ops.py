"""What the corruptions of ImageNet-NOC need besides: a strength of its own for every image.

Tables, windows and maps have a leading image axis here, where the other primitives take one number
for all.
"""

from __future__ import annotations

from typing import Any, Protocol

Array = Any


class StampOps(Protocol):
    def look_up(self, images: Array, tables: Array) -> Array:
        """Levels replaced by a table of bytes per image and channel, (N, 256, 3)."""

    def level_sums(self, images: Array) -> Array:
        """(N,) int64: the sum of all levels of each image."""

    def box_sums(self, images: Array, passes: int) -> Array:
        """Float64 (N, H, W, 3): 3 x 3 sums of levels, zeros outside, of sums of sums ..."""

    def blocks(self, images: Array, sides: Array) -> Array:
        """Means of squares of `sides` (N,) pixels, truncated; what is left over is the border.

        The squares begin at the corner and are laid out from half the remainder on; the border
        repeats the squares beside it.
        """

    def resample(
        self, images: Array, first: Array, length: Array, target: Array, shrink: float
    ) -> Array:
        """Pillow's BILINEAR: a window of each image to `target`, at its upper left corner.

        first, length, target are (N, 2) int64, rows and columns; no axis shrinks more than
        `shrink` times. The size of the arrays stays, and what is outside of `target` is not said.
        """

    def nearest(self, images: Array, maps: Array) -> Array:
        """Pillow's NEAREST under affine maps (N, 6) in 16-bit fixed point; black outside."""

    def last_stamp(
        self, rows: Array, columns: Array, used: Array, stamp: Any, size: tuple[int, int]
    ) -> Array:
        """Int64 (N, H, W): the number, from 1, of the last used stamp on a pixel; 0 is none.

        rows, columns, used are (N, stamps); stamp is a host table of offsets, cut at the edge.
        """

    def stamp_counts(
        self, rows: Array, columns: Array, used: Array, stamp: Any, size: tuple[int, int]
    ) -> Array:
        """Int64 (N, H, W): how many used stamps are on a pixel."""
