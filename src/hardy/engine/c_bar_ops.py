"""What the corruptions of ImageNet-C-bar need besides."""

from __future__ import annotations

from typing import Any, Protocol

Array = Any


class BarOps(Protocol):
    def sqrt(self, array: Array) -> Array: ...

    def power(self, base: Array, exponent: float) -> Array:
        """base**exponent of normal numbers above 0, in plain steps: the same bits everywhere."""

    def order(self, words: Array) -> Array:
        """The places of the words of the last axis from small to large; equal ones as they come.

        Of random words it is a random permutation.
        """

    def shifted(self, fields: Array, down: int, right: int) -> Array:
        """Fields (N, H, W) moved by whole pixels, zeros entering."""

    def wave_noise(self, phases: Array, plan: Any, width: int) -> Array:
        """Noise (N, C, H, W): waves with these phases (N, C, H, half) over their deviation.

        `plan` is a WavePlan; the mean is not taken away. On torch tensors the last bits are those
        of its FFT library; a byte hangs on them once in 10**13.
        """
