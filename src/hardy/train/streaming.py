"""Training images that are read while the net trains: decoded and cut by threads, some batches
ahead, and moved to the device ahead of use; or a share of them decoded and cut there.

The order of an epoch hangs on seed and epoch, a crop on seed, epoch and the image's id: so threads,
processes and restarts change nothing in what is shown, and any step can be the first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hardy.engine.door import UInt8
from hardy.engine.ops import cpu_ops
from hardy.engine.rng import Draws, derive_key, image_id
from hardy.errors import HardyError, InputError, sides
from hardy.execute import Threads
from hardy.images.damaged import Unreadable
from hardy.images.image_files import decoder_versions
from hardy.images.loading import load_images
from hardy.images.packs import packed_facts
from hardy.images.source import Source, listing_hash
from hardy.train.crops import Crop, Drawn
from hardy.train.gpu_decoding import File, GpuDecoder, file_or
from hardy.train.method import Draw, Method

Rows = npt.NDArray[np.int64]
_Batch = tuple[Tensor, Tensor, Rows]  # images, labels, and which of the source's images they are


@dataclass(frozen=True)
class Stream:
    """Images that are read when they are needed; beside them all that `Data` says."""

    source: Source
    crop: Crop
    device: torch.device
    workers: int
    unreadable: Unreadable
    labels: Tensor  # on the host
    classes: int
    described: str
    sha256: str  # of names and labels
    decoder: GpuDecoder | None = None  # for training; in tests threads decode all
    names: tuple[str, ...] | None = None
    input: str | None = None
    held_out: str | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> tuple[int, int, int]:
        return 3, *self.crop.shape

    @property
    def said(self) -> str:
        threads = f"{self.workers} thread{'s' if self.workers > 1 else ''}"
        if self.decoder is not None:
            threads += (
                f" and nvJPEG, which decodes {100 * self.decoder.share:.0f} % of the JPEG files"
            )
        how = f"read while the net trains by {threads}, cut to {sides(*self.crop.shape)}"
        return f"{self.described}, {how}"

    def feed(self, batch: int, draw: Draw) -> "StreamFeed":
        return StreamFeed(self, batch, draw)

    def shown(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Images uint8 (N, H, W, 3) as they are in a test, and their labels; but those that cannot
        be read."""
        batches = list(self._prepared(rows.tolist(), len(rows)))
        if not batches:
            return torch.zeros(0, *self.shape[1:], 3, dtype=torch.uint8), self.labels[:0]
        return batches[0]

    def in_order(self, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
        return self._prepared(range(len(self)), batch)

    def _prepared(self, rows: Any, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
        faults: Any = []
        size = {"batch": batch, "workers": self.workers, "indices": rows, "faults": faults}
        for found in load_images(self.source, self.crop.tested, **size):
            yield torch.from_numpy(found.images), self.labels[found.indices]
        for fault in faults:
            self.unreadable.add(fault.index, fault.reason)

    @property
    def packed(self) -> dict[str, Any] | None:
        """What was done to the images before, if they come from a pack."""
        return packed_facts(self.source)

    def record(self) -> dict[str, Any]:
        """What `run.json` says beside the names and labels."""
        there = self.decoder
        return {
            "crop": self.crop.described(),
            "decoder": decoder_versions() | ({} if there is None else there.versions),
            **({} if there is None else {"decoded_on_gpu": there.share}),
            "sha256_of": "names and labels",
        }


def open_stream(
    source: Source,
    crop: Crop,
    device: torch.device,
    classes: int,
    *,
    workers: int,
    most_unreadable: float,
    decoder: GpuDecoder | None = None,
) -> Stream:
    """A source with labels, listed and not yet read."""
    assert source.labels is not None
    names = tuple(source.classes) if source.classes else None
    return Stream(
        source,
        crop,
        device,
        workers,
        Unreadable(len(source), most_unreadable),
        torch.from_numpy(source.labels.copy()),
        classes,
        source.describe(),
        listing_hash(source),
        decoder,
        names,
    )


class _Chunk(NamedTuple):
    """Some images of a batch, for one thread."""

    into: Tensor  # uint8 (N, H, W, 3) of the batch
    first: int  # their first place in it
    rows: Rows
    drawn: Drawn
    on_gpu: npt.NDArray[np.bool_]  # which of them are to be decoded there
    ends: Rows | None  # the rows of the batch, if these are its last


class _Read(NamedTuple):
    """A batch on the host: pixels, or files that are to be decoded on the GPU."""

    images: Tensor  # uint8 (N, H, W, 3)
    rows: Rows
    bad: list[tuple[int, str]]  # places of images that cannot be read, and why
    files: list[File]


class StreamFeed:
    """Streamed images as the loop takes them."""

    def __init__(self, stream: Stream, batch: int, draw: Draw) -> None:
        self.stream, self.size, self.draw = stream, batch, draw
        whole, rest = divmod(len(stream), batch)
        self.steps = whole + (rest >= draw.ranks.world)
        self.method: Method | None = None

    def changed(self, method: Method, epoch: int) -> Self:
        """The feed whose batches the method changes; one that can change all images before an epoch
        only is refused."""
        kind = type(method)
        self.method = None if kind.batch_images is Method.batch_images else method
        if self.method is None and kind.epoch_images is not Method.epoch_images:
            raise InputError(
                f"expected images in memory, all of which {type(method).__name__} changes before "
                "each epoch, got some that are streamed; say that they are not to be, by `stream` "
                "and without `side`, or choose another method"
            )
        return self

    def epoch(self, epoch: int, first: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches of an epoch from step `first` on, uint8 (N, 3, H, W) on the device, with
        their labels. Each of several processes gets its part."""
        for images, labels, rows in self._moved(
            self._read("shown", epoch, range(first, self.steps))
        ):
            if self.method is None:
                yield images, labels
            else:
                shown = images.permute(0, 2, 3, 1)
                shown = self.method.batch_images(epoch, shown, rows, len(self.stream))
                yield shown.permute(0, 3, 1, 2), labels

    def more(self, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Whole batches without an end, other ones than those of the epoch."""
        steps = range(max(1, len(self.stream) // self.size))
        for again in count():
            for images, labels, _ in self._moved(self._read(f"more {again}", epoch, steps)):
                yield images, labels

    def state(self) -> dict[str, Tensor]:
        return {}

    def restore(self, state: dict[str, Tensor]) -> None:
        pass

    def _read(self, use: str, epoch: int, steps: range) -> Iterator[_Read]:
        def work(chunk: _Chunk) -> tuple[_Chunk, list[tuple[int, str]], list[File]]:
            bad, files = [], []
            for number, (row, drawn) in enumerate(zip(chunk.rows, chunk.drawn, strict=True)):
                place = chunk.first + number
                try:
                    made = self._read_one(int(row), drawn, bool(chunk.on_gpu[number]))
                    if made.ndim == 1:
                        files.append(File(place, int(row), made, drawn))
                    else:
                        chunk.into[place].numpy()[:] = made
                except InputError as error:
                    bad.append((place, str(error)))
            return chunk, bad, files

        bad: list[tuple[int, str]] = []
        files: list[File] = []
        chunks = self._chunks(use, epoch, steps)
        for chunk, unread, encoded in Threads(self.stream.workers).run(lambda: work, chunks):
            bad, files = bad + unread, files + encoded
            if chunk.ends is not None:
                yield _Read(chunk.into, chunk.ends, bad, files)
                bad, files = [], []

    def _read_one(self, row: int, drawn: Drawn, on_gpu: bool = False) -> UInt8:
        """An image as it is cut; or its file, if that is to be decoded on the GPU, and can be."""
        cut = partial(self.stream.crop.cut, drawn=drawn)
        return self.stream.source.read(row, partial(file_or, cut) if on_gpu else cut)

    def _chunks(self, use: str, epoch: int, steps: range) -> Iterator[_Chunk]:
        stream, ranks = self.stream, self.draw.ranks
        order = self.draw.order_of(len(stream), f"{use} in epoch {epoch}")
        key = derive_key(self.draw.seed, f"training, {use}", "crop", epoch)
        each = max(1, -(-self.size // ranks.world // stream.workers))
        share = 0.0 if stream.decoder is None else stream.decoder.share
        pinned = stream.device.type == "cuda"
        for step in steps:
            rows = order[step * self.size : (step + 1) * self.size][ranks.rank :: ranks.world]
            ids = np.array([image_id(stream.source.ids[row]) for row in rows], np.uint64)
            draws = Draws(cpu_ops(), key, ids)
            drawn = draws.uniform("crop", (stream.crop.numbers,), 0.0, 1.0)
            on_gpu = draws.uniform("decoder", (1,), 0.0, 1.0)[:, 0] < share
            shape = (len(rows), *stream.crop.shape, 3)
            into = torch.empty(shape, dtype=torch.uint8, pin_memory=pinned)
            for first in range(0, len(rows), each):
                some = slice(first, first + each)
                ends = rows if first + each >= len(rows) else None
                yield _Chunk(into, first, rows[some], drawn[some], on_gpu[some], ends)

    def _whole(self, read: _Read, images: Tensor) -> _Batch:
        """A batch on the device, where files are decoded, without what could not be read."""
        stream, rows, bad = self.stream, read.rows, list(read.bad)
        if stream.decoder is not None and read.files:
            for file in stream.decoder.put(read.files, images):
                try:
                    made = np.array(self._read_one(file.row, file.drawn))
                    images[file.place] = torch.from_numpy(made).to(images.device)
                except InputError as error:
                    bad.append((file.place, str(error)))
        labels = stream.labels[rows]
        if bad:
            for place, reason in bad:
                stream.unreadable.add(int(rows[place]), reason)
            kept = torch.ones(len(rows), dtype=torch.bool)
            kept[[place for place, _ in bad]] = False
            images, labels, rows = images[kept.to(images.device)], labels[kept], rows[kept.numpy()]
            if not len(labels):
                raise HardyError(f"none of {len(bad)} images of a batch can be read: {bad[0][1]}")
        return images, labels, rows

    def _moved(self, batches: Iterator[_Read]) -> Iterator[_Batch]:
        """Batches on the device, NCHW in the memory of NHWC. On a GPU a thread copies them, and has
        some decoded there, on a stream of its own while those before them are used."""
        device = self.stream.device
        if device.type != "cuda":
            for read in batches:
                images, labels, rows = self._whole(read, read.images.to(device))
                yield images.permute(0, 3, 1, 2), labels.to(device), rows
            return
        aside = torch.cuda.Stream(device, priority=-1)  # short kernels between the steps' long ones

        def move(read: _Read) -> tuple[Tensor, Tensor, Rows, Any]:
            with torch.cuda.stream(aside):
                there = read.images.to(device, non_blocking=True)
                images, labels, rows = self._whole(read, there)
                numbers = labels.pin_memory().to(device, non_blocking=True)
            return images, numbers, rows, aside.record_event()

        for moved in Threads(1).run(lambda: move, batches):
            yield self._arrived(*moved)

    def _arrived(self, images: Tensor, labels: Tensor, rows: Rows, copied: Any) -> _Batch:
        """A batch that steps may use: they wait for its copy, and its memory waits for them."""
        now = torch.cuda.current_stream(self.stream.device)
        now.wait_event(copied)
        images.record_stream(now)
        labels.record_stream(now)
        return images.permute(0, 3, 1, 2), labels, rows
