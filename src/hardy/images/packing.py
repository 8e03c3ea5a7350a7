"""`hardy.pack`: images made small once, into shards that a machine of few cores reads fast enough.

Shards are written whole, one after the other, and the same call goes on with the next one.
"""

import io
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from hardy.engine.door import SMALLEST_SIDE, UInt8, check_side
from hardy.errors import HardyError, InputError
from hardy.execute import Threads, count_workers
from hardy.files import (
    begin,
    check_apart,
    check_outside_runs,
    remove_unfinished,
    whole_file,
    write_file,
)
from hardy.images.damaged import UNREADABLE, Unreadable, unreadable_list
from hardy.images.image_files import Picture, decoder_versions, rgb
from hardy.images.pack_files import (
    FEWEST_IN_SHARD,
    MOST_SHARDS,
    PACK_FORMATS,
    PACK_HEADER,
    PackHeader,
    ShardListing,
    listing_bytes,
    read_listing,
    read_pack_record,
    shard_names,
)
from hardy.images.readers import open_images
from hardy.images.recipes import resize_shorter
from hardy.images.source import Source, identify, listing_hash
from hardy.locks import alone_in
from hardy.places import is_folder, locate, on_disk
from hardy.progress import Track, watch
from hardy.registry import unknown

_QUALITY = 95  # of JPEG: what is lost is less than what a crop's own resizing changes
_LARGEST_PACKED_SIDE = 4096
_LOCK = ".lock"


class PackResult(NamedTuple):
    """A finished pack: its folder is an image set."""

    folder: Path
    packed: int  # images of this call
    kept: int  # images that the same call had packed before
    unreadable: list[str]  # why, one line for each image that is left out


class _PackedImage(NamedTuple):
    data: bytes
    shape: tuple[int, int]


def pack(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    side: int = 256,
    format: str = "jpeg",
    labels: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    most_unreadable: float = 0.001,
    track: Track = watch,
) -> PackResult:
    """Write images into the folder `out` once, small, so that to train on them takes few cores.

    Each image whose shorter side is longer than `side` is resized to it, by Pillow's antialiased
    bilinear filter; smaller ones stay as large as they are. `format` is "jpeg", of quality 95, or
    "raw": pixels as they are, which take ten times the room and nearly no time. The folder is then
    an image set like any other, with the names, ids, labels and classes of the source, a path as
    `hardy.images.open_images` takes it; `labels` are those of images that bring none.

    The same call goes on where one was stopped. As many threads as `workers` says read and write,
    one per processor if left out. Images that cannot be read are left out, and listed in
    unreadable.txt; more than a share of `most_unreadable` end the call with an error.

    ```python
    import hardy
    import numpy as np

    images = np.random.default_rng(0).integers(0, 256, (16, 40, 40, 3), np.uint8)
    np.savez("set.npz", images=images, labels=np.arange(16) % 2)
    print(hardy.pack("set.npz", "small", side=32).packed)  # hardy.train(..., data="small", side=24)
    ```
    """
    if format not in PACK_FORMATS:
        raise unknown("format of packs", format, PACK_FORMATS)
    if not SMALLEST_SIDE <= side <= _LARGEST_PACKED_SIDE:
        raise InputError(
            f"expected `side` from {SMALLEST_SIDE} to {_LARGEST_PACKED_SIDE:,} pixels, got {side}"
        )
    threads = Threads(count_workers(workers))
    folder = on_disk(out)
    check_outside_runs(folder)
    if is_folder(source):
        check_apart(locate(source), folder)
    images = open_images(source, labels=labels)
    unreadable = Unreadable(len(images), most_unreadable)
    header = _header(images, side, format)
    with alone_in(folder, _LOCK, "pack into", "packing into"):
        begin(
            folder / PACK_HEADER,
            header.record(),
            read_pack_record,
            "a pack",
            of_the_session=("source",),
            said={"source_sha256": "the images or labels are not those that it was begun with"},
        )
        remove_unfinished(folder)
        work = _Packing(images, folder, header, threads, unreadable)
        for _ in track(work.run(), len(images), "images packed", int):
            pass
        if unreadable.found:
            write_file(folder / UNREADABLE, unreadable_list(unreadable))
    return PackResult(folder, work.packed, work.kept, sorted(unreadable.found.values()))


def _header(images: Source, side: int, format: str) -> PackHeader:
    count = len(images)
    if not count:
        raise InputError(f"{images.describe()}: expected images to pack, got none")
    named = isinstance(images.ids[0], str)
    rule = "relative_path" if named else "row_index"
    if list(identify(images.files, rule, None)[1]) != list(images.ids):
        raise InputError(
            f"{images.describe()}: expected images whose ids are their names or rows, got others, "
            "which a pack cannot keep; train on them as they are"
        )
    encoded = f"JPEG of quality {_QUALITY}" if format == "jpeg" else "pixels as they are"
    return PackHeader(
        images=count,
        in_shard=max(FEWEST_IN_SHARD, -(-count // MOST_SHARDS)),
        side=side,
        encoding=format,
        recipe=f"longer ones to that side by Pillow's antialiased bilinear filter; {encoded}",
        named=named,
        labelled=images.labels is not None,
        classes=list(images.classes) if images.classes else None,
        source=images.describe(),
        source_sha256=listing_hash(images),
        decoder=decoder_versions(),
    )


class _Packing:
    """The work of one call, shard by shard."""

    def __init__(
        self,
        images: Source,
        folder: Path,
        header: PackHeader,
        threads: Threads,
        unreadable: Unreadable,
    ) -> None:
        self.images, self.folder, self.header = images, folder, header
        self.threads, self.unreadable = threads, unreadable
        self.packed = self.kept = 0

    def run(self) -> Iterator[int]:
        """How many images were packed or found packed, each time some were."""
        for number, span in enumerate(self.header.spans):
            listing = self._found(number)
            if listing is None:
                yield from self._write(number, span)
                continue
            for place, reason in listing.unreadable:
                self.unreadable.add(span[place], reason)
            self.kept += len(listing.files)
            yield len(span)

    def _found(self, number: int) -> ShardListing | None:
        """The listing of a shard that is whole; any other is written anew."""
        try:
            return read_listing(self.folder, self.header, number)
        except (FileNotFoundError, InputError):
            return None

    def _write(self, number: int, span: range) -> Iterator[int]:
        shard, listing = (self.folder / name for name in shard_names(number))
        rows: list[int] = []
        made: list[tuple[int, int, tuple[int, int]]] = []  # size, sum and shape of each
        left_out: list[list[object]] = []
        try:
            with whole_file(shard) as file:
                for row, found in self.threads.run(lambda: self._read, span):
                    if isinstance(found, InputError):
                        self.unreadable.add(row, str(found))
                        left_out.append([row - span.start, str(found)])
                    else:
                        file.write(found.data)
                        rows.append(row)
                        made.append((len(found.data), crc32(found.data), found.shape))
                    yield 1
        except OSError as error:
            raise HardyError(
                f"{shard} could not be written ({error.strerror or error}); what is packed is "
                "kept: make room, and give the same command again"
            ) from error
        labels = self.images.labels
        raw = self.header.encoding == "raw"
        heights, widths = ([shape[axis] for _, _, shape in made] for axis in (0, 1))
        written = ShardListing(
            pack=self.header.sum,
            shard=number,
            files=[self.images.files[row] for row in rows],
            labels=None if labels is None else labels[rows].tolist(),
            sizes=[size for size, _, _ in made],
            sums=[sum for _, sum, _ in made],
            heights=heights if raw else None,
            widths=widths if raw else None,
            unreadable=left_out,
        )
        write_file(listing, listing_bytes(written))
        self.packed += len(rows)

    def _read(self, row: int) -> tuple[int, _PackedImage | InputError]:
        """The image of a row, or why there is none."""
        try:
            pixels = self.images.read(row, partial(_shrunk, side=self.header.side))
            data = pixels.tobytes() if self.header.encoding == "raw" else _jpeg(pixels)
        except InputError as error:
            return row, error
        except (OSError, ValueError) as error:  # such as one that is too long for a JPEG
            return row, InputError(f"cannot pack {self.images.files[row]}: {error}")
        height, width = pixels.shape[:2]
        return row, _PackedImage(data, (height, width))


def _shrunk(picture: Picture, side: int) -> UInt8:
    """RGB pixels, the shorter side no longer than `side`."""
    if isinstance(picture, np.ndarray):
        check_side(*picture.shape[:2])
        return resize_shorter(picture, side) if min(picture.shape[:2]) > side else picture
    return resize_shorter(picture, side) if min(picture.size) > side else rgb(picture)


def _jpeg(pixels: UInt8) -> bytes:
    from PIL import Image

    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "JPEG", quality=_QUALITY)
    return data.getvalue()
