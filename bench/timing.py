"""Process-CPU time of calls: hardy and the peers in turn, another photo and id for every call."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

import hardy
from bench.peer import Peer
from bench.photos import CIFAR, crops
from hardy.suites import edition

SEVERITIES = (1, 2, 3, 4, 5)
SLOW = "glass_blur"  # about a second per call in the peer at 224: it gets fewer repeats
BATCH = 8
CIFAR_BATCH = 64
Cell = tuple[str, int]
Images = NDArray[np.uint8]


@dataclass(frozen=True)
class Spread:
    """A median with its quartiles and the number of repeats behind it."""

    median: float
    q1: float
    q3: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        q1, median, q3 = (float(q) for q in np.percentile(values, (25, 50, 75)))
        return cls(median, q1, q3, len(values))

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True)
class Repeats:
    """How often each thing is measured."""

    single: int
    slow: int
    batch: int
    cifar: int
    processes: int
    fresh: int


FULL = Repeats(single=25, slow=3, batch=7, cifar=7, processes=9, fresh=5)
QUICK = Repeats(single=5, slow=1, batch=1, cifar=2, processes=3, fresh=1)


def cpu_ms(call: Callable[[], Images], shape: tuple[int, ...]) -> float:
    """CPU milliseconds of the whole process (every thread counts); refuses another output."""
    start = time.process_time()
    out = call()
    elapsed = time.process_time() - start
    if out.dtype != np.uint8 or out.shape != shape:
        raise TypeError(f"expected uint8 {shape}, got {out.dtype} {out.shape}")
    return 1e3 * elapsed


class Feed:
    """Hands out photo after photo with ever new ids."""

    def __init__(self, photos: Images) -> None:
        self._photos = photos
        self._ids = count()

    def one(self) -> tuple[Images, list[int]]:
        k = next(self._ids)
        return self._photos[k % len(self._photos)], [k]

    def batch(self, size: int) -> tuple[Images, list[int]]:
        ids = [next(self._ids) for _ in range(size)]
        return self._photos[np.array(ids) % len(self._photos)], ids


def ours(images: Images, ids: list[int], cell: Cell) -> float:
    name, severity = cell
    return cpu_ms(lambda: hardy.corrupt(images, name, severity, seed=0, ids=ids), images.shape)


def theirs(peer: Callable[..., Images], image: Images, cell: Cell) -> float:
    return cpu_ms(lambda: peer(image, *cell), image.shape)


def codec_alone(image: Images, quality: int) -> float:
    """A JPEG round trip by OpenCV and nothing else: libjpeg-turbo, and a pass over the colours."""
    swapped = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)

    def round_trip() -> Images:
        _, data = cv2.imencode(".jpg", swapped, [cv2.IMWRITE_JPEG_QUALITY, quality])
        decoded: Any = cv2.imdecode(data, cv2.IMREAD_COLOR)
        return decoded  # type: ignore[no-any-return]

    return cpu_ms(round_trip, image.shape)


def cells(names: Sequence[str]) -> list[Cell]:
    return [(name, severity) for name in names for severity in SEVERITIES]


def warm_up(peer: Peer, feeds: Sequence[Feed]) -> None:
    """Compile, fill caches and page in: every cell of hardy, every corruption of the peer."""
    for feed in feeds:
        for cell in cells(peer.names):
            ours(*feed.batch(2), cell)
            ours(*_as_batch(feed.one()), cell)
        for name in peer.names:
            theirs(peer, feed.one()[0], (name, 3))
            theirs(peer.newest, feeds[0].one()[0], (name, 3))


def _as_batch(pair: tuple[Images, list[int]]) -> tuple[Images, list[int]]:
    image, ids = pair
    return image[None], ids


def single(peer: Peer, feed: Feed, repeats: Repeats) -> dict[str, Any]:
    """Raw milliseconds per cell for calls with one photo, hardy and the peers in turn.

    They alternate per corruption (its five severities each) on the same photos; who goes first
    alternates per repeat, so that neither always meets the warm photo, and so does
    the severity that pays for the switch.
    """
    raw: dict[str, dict[Cell, list[float]]] = {
        side: {cell: [] for cell in cells(peer.names)} for side in ("hardy", "peer", "newest")
    }
    raw["codec"] = {cell: [] for cell in cells(("jpeg_compression",))}
    for repeat in range(repeats.single):
        for name in peer.names:
            turn = repeat % len(SEVERITIES)
            ordered = cells((name,))[turn:] + cells((name,))[:turn]
            block = [(cell, *feed.one()) for cell in ordered]
            slow = name == SLOW and repeat >= repeats.slow
            sides = ["hardy"] if slow else ["hardy", "peer", "newest"]
            for side in sides[:: -1 if repeat % 2 else 1]:
                for cell, image, ids in block:
                    if side == "hardy":
                        raw[side][cell].append(ours(image[None], ids, cell))
                    else:
                        call = peer if side == "peer" else peer.newest
                        raw[side][cell].append(theirs(call, image, cell))
            if name == "jpeg_compression":
                for cell, image, _ in block:
                    quality = int(edition("224").params(*cell)["quality"])
                    raw["codec"][cell].append(codec_alone(image, quality))
    return raw


def batches(peer: Peer, feed: Feed, repeats: Repeats) -> dict[Cell, list[float]]:
    """Raw milliseconds per image of hardy in batches of 8."""
    out: dict[Cell, list[float]] = {cell: [] for cell in cells(peer.names)}
    for _ in range(repeats.batch):
        for cell in out:
            out[cell].append(ours(*feed.batch(BATCH), cell) / BATCH)
    return out


def cifar(peer: Peer, feed: Feed, repeats: Repeats) -> dict[str, Spread]:
    """Images per CPU second at 32 x 32 over the 15 x 5: batches of 64, the peer on one each."""
    todo = cells(peer.counted)
    rates: dict[str, list[float]] = {"hardy": [], "peer": [], "peer_without_glass": []}
    for _ in range(repeats.cifar):
        mine, other, glass = 0.0, 0.0, 0.0
        for cell in todo:
            mine += ours(*feed.batch(CIFAR_BATCH), cell)
            spent = theirs(peer, feed.one()[0], cell)
            other += spent
            glass += spent if cell[0] == SLOW else 0.0
        rates["hardy"].append(1e3 * CIFAR_BATCH * len(todo) / mine)
        rates["peer"].append(1e3 * len(todo) / other)
        rates["peer_without_glass"].append(1e3 * (len(todo) - len(SEVERITIES)) / (other - glass))
    return {name: Spread.of(values) for name, values in rates.items()}


def measure(peer: Peer, repeats: Repeats) -> dict[str, Any]:
    """Everything that is timed inside this one process."""
    large, small = Feed(crops(512)), Feed(crops(1024, CIFAR))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer divides by zero in spatter at 32 x 32
        warm_up(peer, (large, small))
        began = time.perf_counter(), time.process_time()
        raw = single(peer, large, repeats)
        wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
        raw["batch"] = batches(peer, large, repeats)
        raw["cifar"] = cifar(peer, small, repeats)
    # Above 1 more than one thread ran; far below 1 the machine was busy with something else.
    raw["cpu_per_wall"] = cpu / wall
    return raw
