"""The primitives that formulas may use, and the image convention.

Images are uint8 RGB (N, H, W, 3), in and out; conversion to bytes truncates. Fields are float64
with a leading image axis. A backend brings every primitive below on its own arrays, plus ordinary
arithmetic, comparison, indexing and `reshape`; formulas in `hardy.corrupt` see nothing else.

Host tables (weights, kernels, look-up tables) are NumPy arrays from `tables`; a backend
 moves them to where it works.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

from hardy.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

Array = Any
# A part of an image: top, left, height, width.
Window = tuple[int, int, int, int]


class SequenceOps(Protocol):
    """More primitives, for perturbation sequences: warps of one image, many times."""

    def canvas(self, images: Array) -> Array:
        """Images in the form the two warps read: made once, warped for every frame."""

    def affine(self, canvas: Array, inverse: Sequence[float], window: Window) -> Array:
        """Exact bilinear, truncated; inverse (6) takes pixel centres to their places.

        Places outside the image are black, neighbours beyond its edge are the edge pixel.
        """

    def perspective(self, canvas: Array, inverse: Sequence[float], window: Window) -> Array:
        """Exact bilinear, rounded; inverse (9) takes pixel indices; black beyond the edge."""

    def slide(self, images: Array, right: int, window: Window) -> Array:
        """Columns moved right, black entering; with 0 it is a plain crop."""

    def affines(self, canvas: Array, inverses: Sequence[Any], window: Window) -> Iterable[Array]:
        """`affine` by one map after the other: a device may take many of them at a time."""

    def perspectives(
        self, canvas: Array, inverses: Sequence[Any], window: Window
    ) -> Iterable[Array]: ...

    def slides(self, images: Array, right: Sequence[int], window: Window) -> Iterable[Array]: ...

    def run_down(self, fields: Array, taps: Sequence[float], first: int) -> Array:
        """Columns of (N, H, W) correlated: tap k reads row y + first - k, zero outside."""

    def running_mean(self, images: Array, total: Array, count: int) -> tuple[Array, Array]:
        """255 total / count, truncated, and total: a float32 sum of level / 255, images included.

        The total that was given is used up.
        """


class NocOps(Protocol):
    """More primitives, for ImageNet-NOC, where every image has a strength of its own.

    Tables, windows and maps have a leading image axis here, where the other primitives take one
    number for all.
    """

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


class CBarOps(Protocol):
    """More primitives, for ImageNet-C-bar."""

    def sqrt(self, array: Array) -> Array: ...

    def power(self, base: Array, exponent: float) -> Array:
        """base**exponent of normal numbers above 0, in plain steps: the same bits everywhere."""

    def order(self, words: Array) -> Array:
        """The places of the words of the last axis from small to large; equal ones as they come.

        For random words it is a random permutation.
        """

    def shifted(self, fields: Array, down: int, right: int) -> Array:
        """Fields (N, H, W) moved by whole pixels, zeros entering."""

    def wave_noise(self, phases: Array, plan: Any, width: int) -> Array:
        """Noise (N, C, H, W): waves with these phases (N, C, H, half) over their deviation.

        `plan` is a WavePlan; the mean is not taken away. On torch tensors the last bits are those
        of its FFT library; a byte hangs on them once in 10**13.
        """


class Ops(SequenceOps, NocOps, CBarOps, Protocol):
    name: str
    # Formulas this backend brings as one fused pass, by name; same bytes as the formula itself.
    fused: Mapping[str, Callable[..., Array]]
    # Primitives and formulas, by name, of which one kernel makes whole images in little memory.
    kernels: frozenset[str]
    # How many pixels are worth drawing for and corrupting in one go.
    pixels_at_once: int

    # Random words and what is made of them.
    def words(self, key: int, ids: Array, stream: int, count: int) -> Array:
        """(N, count) uint32 Philox words."""

    def uniform(self, words: Array, low: float, high: float) -> Array: ...

    def normal(self, words: Array) -> Array: ...

    def scaled(self, words: Array, below: Array) -> Array:
        """Whole numbers 0 .. below - 1, of a type that can index; `below` is a number or array."""

    # Arrays.
    def host(self, table: Any) -> Array:
        """A host array or list, moved to this backend."""

    def cast(self, array: Array, dtype: str) -> Array: ...

    def float32(self, number: float) -> Any:
        """A scalar that keeps float32 arithmetic in float32."""

    def float64(self, number: float) -> Any:
        """A scalar to divide by: with a plain one, GPUs multiply by its rounded reciprocal."""

    def join(self, batches: Sequence[Array]) -> Array:
        """Batches one after the other."""

    def where(self, condition: Array, yes: Array, no: Array) -> Array: ...

    def maximum(self, a: Array, b: Array | float) -> Array: ...

    def minimum(self, a: Array, b: Array | float) -> Array: ...

    def floor(self, array: Array) -> Array: ...

    def ceil(self, array: Array) -> Array: ...

    def stack(self, arrays: Sequence[Array]) -> Array:
        """Along a new last axis."""

    def largest(self, array: Array) -> Array:
        """(N, 1, 1, ...): the maximum of each image or field."""

    def half_turn(self, array: Array) -> Array:
        """Each field (N, H, W) rotated by 180 degrees."""

    # Between bytes and numbers.
    def unit(self, images: Array, dtype: str) -> Array:
        """level / 255, divided in that dtype."""

    def to_bytes(self, unit: Array) -> Array:
        """clip to 0..1, times 255, truncate."""

    def to_levels(self, levels: Array) -> Array:
        """clip to 0..255, truncate."""

    # Images to images.
    def table_noise(self, images: Array, words: Array, table: Any) -> Array:
        """Walker's alias look-up of every value with its own word."""

    def blur(self, images: Array, sigma: float, truncate: float = 4.0) -> Array:
        """Gaussian, edges replicated, cut at `truncate` sigma; float64 in SciPy's order."""

    def disk(self, images: Array, radius: float, alias: float) -> Array:
        """Correlation with the antialiased disk kernel, reflect-101 border."""

    def trail(self, images: Array, weights: Any, rows: Array, columns: Array) -> Array:
        """Motion blur (N, H, W, C): taps at integer offsets (N, taps), nearest rounding."""

    def shuffle(self, images: Array, moves: Array, reach: int) -> Array:
        """Glass: each pass (N, passes, targets) of moves copies sources in a descending scan."""

    def zoom_mean(self, images: Array, factors: Sequence[float]) -> Array:
        """Mean of the image and its zooms, the first of which is the image itself."""

    def elastic(self, images: Array, inverses: Array, down: Array, along: Array) -> Array:
        """Affine warp by inverse maps (N, 2, 3), then displacement; exact bilinear."""

    def channel_means(self, images: Array) -> Array:
        """(N, 3) float64 in 0..1, summed pixel by pixel in row order: flat areas hang on it."""

    def crops(
        self,
        sources: Sequence[Any],
        which: Array,
        rows: Array,
        columns: Array,
        size: tuple[int, int],
    ) -> Array:
        """Image i is the window of `size` in sources[which[i]] at (rows[i], columns[i])."""

    def pixelate(self, images: Array, small: tuple[int, int]) -> Array:
        """Pillow's BOX resize to `small` (H, W) and back."""

    def jpeg(self, images: Array, quality: int) -> Array:
        """libjpeg's round trip at 4:2:0, as Pillow saves and opens."""

    # Fields.
    def smooth(self, fields: Array, sigma: float, truncate: float, border: str) -> Array:
        """Gaussian of (N, H, W); border "nearest" or "reflect"."""

    def zoom(self, fields: Array, factor: float, size: tuple[int, int]) -> Array:
        """Order-1 zoom to `size` (H, W) of fields that hold just the crop the zoom reads."""

    def plasma(self, steps: Array, decay: float, side: int) -> Array:
        """Diamond-square clouds (N, side, side) in 0..1 from uniform steps (N, side**2 - 1)."""

    def relief(self, liquid: Array) -> Array:
        """Spatter's embossed distance map of a byte layer (N, H, W), as bytes."""


def one_by_one(
    primitive: Callable[[Array, Any, Window], Array],
) -> Callable[[Array, Sequence[Any], Window], Iterable[Array]]:
    """A primitive of many maps out of that of one: each is applied when it is asked for."""
    return lambda source, maps, window: (primitive(source, one, window) for one in maps)


def ops_for(images: Array) -> Ops:
    """The backend of an array, recognised without importing frameworks."""
    if isinstance(images, np.ndarray):
        return cpu_ops()
    if is_tensor(images):
        from hardy.engine.torch.ops import torch_ops

        return torch_ops(images.device)
    raise InputError(
        f"expected a NumPy array or a torch tensor, got {type(images).__name__}; convert it, "
        "e.g. np.asarray(images)"
    )


def to_device(array: Any, device: str) -> Array:
    """A host array as a tensor on a device, on its way there while the host goes on."""
    import torch

    from hardy.engine.torch.constants import moved

    return moved(array, torch.device(device))


def engine_name(device: str | None) -> str:
    """The name of the back end that makes images on a device; None is the host."""
    if device is None:
        return cpu_ops().name
    import torch

    from hardy.engine.torch.ops import torch_ops

    return torch_ops(torch.device(device)).name


def is_tensor(thing: object) -> TypeGuard[Tensor]:
    """Whether it is a tensor. Torch is not imported to ask: without it nobody can have made one."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)


def out_of_memory(error: BaseException) -> bool:
    """Whether torch found no memory, in any of its words for it. Torch is not imported to ask."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(error, torch.OutOfMemoryError):
        return True
    signs = ("DefaultCPUAllocator", "CUDA out of memory", "CUBLAS_STATUS_ALLOC_FAILED")
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in signs)


def cpu_ops() -> Ops:
    # Imported here: numba takes longer to load than the rest of Hardy together.
    from hardy.engine.cpu.ops import OPS

    return OPS
