"""Fractals to mix images with: attractors of iterated function systems, made here and cached.

A fractal is a function of its number. Two to eight affine maps, whose singular values are below 1,
are applied to points in turn, each map as often as its determinant is large; a pixel is as bright
as the logarithm of how often points came there, and has the mean of the colours of their maps.
"""

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hardy.engine.ops import cpu_ops
from hardy.engine.rng import Draws, derive_key
from hardy.errors import InputError
from hardy.files import write_file
from hardy.models.weight_files import packed, unpacked
from hardy.progress import Track, untracked

_VERSION = 1  # of the formula: another one makes other pictures
_FEWEST, _MOST = 2, 8  # maps
_WALKERS, _FIRST = 512, 20  # points at once; steps that are not drawn
_LEAST, _PER_PIXEL = 80, 4  # steps that are, at least; and points for each pixel
_FILLED = 0.2  # of the pixels: emptier ones are made anew
_TRIES = 8
_TOGETHER = 16  # made at once

_Floats = npt.NDArray[np.float64]


def cached_fractals(count: int, side: int, track: Track = untracked) -> Tensor:
    """uint8 (count, 3, side, side), made where the user's cache has none that is whole."""
    path = _folder() / f"{count}-of-{side}px-{_VERSION}.safetensors"
    try:
        kept, _ = unpacked(path, "")
        found = kept.get("fractals")
    except InputError:  # it is not there, or was cut off
        found = None
    if found is None or found.dtype != torch.uint8 or found.shape != (count, 3, side, side):
        found = _make_all(count, side, track)
        write_file(path, packed({"fractals": found}, {}, path))
    return found


def digest_of(fractals: Tensor) -> Tensor:
    digest = hashlib.sha256(fractals.numpy().tobytes()).digest()
    return torch.tensor(list(digest), dtype=torch.uint8)


def _folder() -> Path:
    """Where the user's cache keeps them."""
    from platformdirs import user_cache_path

    return user_cache_path("hardy") / "fractals"


def _make_all(count: int, side: int, track: Track) -> Tensor:
    starts = range(0, count, _TOGETHER)
    parts = [
        make_fractals(np.arange(start, min(start + _TOGETHER, count)), side)
        for start in track(starts, len(starts), f"times {_TOGETHER} fractals")
    ]
    return torch.from_numpy(np.concatenate(parts))


def make_fractals(numbers: npt.NDArray[np.int64], side: int) -> npt.NDArray[np.uint8]:
    """uint8 (N, 3, side, side). What fills too few pixels is made anew, up to eight times; the last
    one stays."""
    made = np.zeros((len(numbers), 3, side, side), np.uint8)
    todo = np.arange(len(numbers))
    for attempt in range(_TRIES):
        pictures, filled = _draw_some(numbers[todo], attempt, side)
        made[todo] = pictures
        todo = todo[filled < _FILLED]
        if not len(todo):
            break
    return made


def _draw_some(
    numbers: npt.NDArray[np.int64], attempt: int, side: int
) -> tuple[npt.NDArray[np.uint8], _Floats]:
    """The pictures, and which share of its pixels each fills."""
    key = derive_key(0, "fractals", f"attempt {attempt}", _VERSION)
    draws = Draws(cpu_ops(), key, numbers.astype(np.uint64))
    maps, shares = _systems(draws)
    colours = draws.uniform("colours", (_MOST, 3), 0.0, 1.0)
    back = draws.uniform("background", (3,), 0.0, 0.3)
    counts, tints = _walk(draws, maps, shares, colours, side)
    light = np.log1p(counts) / np.log1p(counts.max(1, keepdims=True))
    picture = back[:, :, None] * (1 - light[:, None]) + tints * light[:, None]
    filled = (counts > 0).mean(1)
    return (255 * picture).astype(np.uint8).reshape(-1, 3, side, side), filled


def _systems(draws: Draws) -> tuple[_Floats, _Floats]:
    """Maps (N, maps, 2, 3), and up to which share of the choices each is taken, (N, maps)."""
    angles = draws.uniform("angles", (_MOST, 2), 0.0, 2 * np.pi)
    stretch = draws.uniform("stretch", (_MOST, 2), 0.2, 0.95)
    moves = draws.uniform("moves", (_MOST, 2), -1.0, 1.0)
    turns = np.stack(
        [
            np.stack([np.cos(angles), -np.sin(angles)], -1),
            np.stack([np.sin(angles), np.cos(angles)], -1),
        ],
        -2,
    )
    linear = (turns[:, :, 0] * stretch[:, :, None]) @ turns[:, :, 1]
    used = np.arange(_MOST) < _FEWEST + draws.integers("maps", (), _MOST - _FEWEST + 1)[:, None]
    weights = np.where(used, stretch.prod(-1), 0.0)
    shares = np.cumsum(weights, 1) / weights.sum(1, keepdims=True)
    return np.concatenate([linear, moves[..., None]], -1), shares


def _walk(
    draws: Draws, maps: _Floats, shares: _Floats, colours: _Floats, side: int
) -> tuple[_Floats, _Floats]:
    """How often points came to a pixel, (N, pixels), and their mean colour, (N, 3, pixels)."""
    count = len(maps)
    points = np.zeros((count, _WALKERS, 2))
    tint = np.full((count, _WALKERS, 3), 0.5)
    rows = np.arange(count)[:, None]
    places, tints = [], []
    steps = max(_LEAST, -(-_PER_PIXEL * side**2 // _WALKERS))
    for step in range(_FIRST + steps):
        chance = draws.uniform(f"step {step}", (_WALKERS,), 0.0, 1.0)
        taken = (chance[..., None] > shares[:, None]).sum(-1).clip(0, _MOST - 1)
        chosen = maps[rows, taken]
        points = (chosen[..., :2] @ points[..., None])[..., 0] + chosen[..., 2]
        tint = (tint + colours[rows, taken]) / 2
        if step >= _FIRST:
            places.append(points)
            tints.append(tint)
    where, all_tints = np.concatenate(places, 1), np.concatenate(tints, 1)
    low, high = where.min(1, keepdims=True), where.max(1, keepdims=True)
    cells = ((where - low) / np.maximum(high - low, 1e-9) * (side - 1e-6)).astype(np.int64)
    flat = (rows * side + cells[..., 1]) * side + cells[..., 0]
    size = count * side * side
    counts = np.bincount(flat.ravel(), minlength=size).reshape(count, -1).astype(float)
    sums = [
        np.bincount(flat.ravel(), all_tints[..., channel].ravel(), size).reshape(count, -1)
        for channel in range(3)
    ]
    return counts, np.stack(sums, 1) / np.maximum(counts, 1)[:, None]
