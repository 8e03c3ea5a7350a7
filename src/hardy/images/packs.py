"""Packs, which `hardy.pack` writes: an image set whose pixels are read from memory-mapped shards.

Ids and labels are those of the source that was packed, so that crops and corruptions draw the same
for it. Each image has a sum, by which it is noticed if its bytes have changed.
"""

import mmap
import threading
from bisect import bisect_right
from dataclasses import dataclass, field, fields
from itertools import accumulate
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.images.image_files import Convert, decode_image, rgb
from hardy.images.pack_files import (
    PackHeader,
    ShardListing,
    is_pack,
    offsets,
    read_listing,
    read_pack_header,
    shard_names,
)
from hardy.images.readers import Reader, Request
from hardy.images.source import Fault, Ids, Listing, Source, SourcePart, check_by_row, identify
from hardy.places import is_url, read_range

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _PackSource(Listing):
    header: PackHeader
    shards: tuple[Path, ...]
    ends: tuple[int, ...]  # of the shards, counted in images
    starts: Numbers  # of the images, in their shards
    sizes: Numbers
    sums: Numbers
    heights: Numbers  # of raw pixels; of others there are none
    widths: Numbers
    _maps: dict[int, mmap.mmap] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def decodes_files(self) -> bool:
        return self.header.encoding != "raw"

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        index = range(len(self))[index]
        number = bisect_right(self.ends, index)
        name = f"{self.shards[number]}:{self.files[index]}"
        start = int(self.starts[index])
        try:
            data = self._bytes(number, slice(start, start + int(self.sizes[index])))
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read {name}: {error}") from error
        if crc32(data) != self.sums[index]:
            raise InputError(
                f"cannot read {name}: its bytes are not those that were packed, by their sum; "
                "remove the shard, and give the same `hardy pack` again"
            )
        if self.header.encoding != "raw":
            return decode_image(bytes(data), name, convert)
        shape = int(self.heights[index]), int(self.widths[index]), 3
        pixels = np.frombuffer(data, np.uint8).reshape(shape)
        made = convert(pixels)
        return np.array(made) if np.may_share_memory(made, pixels) else made

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes get it without what is mapped, and without the lock."""
        return type(self), tuple(getattr(self, f.name) for f in fields(self) if f.repr)

    def _bytes(self, number: int, span: slice) -> memoryview | bytes:
        path = self.shards[number]
        if is_url(path):
            return read_range(path, span.start, span.stop - span.start)
        if number not in self._maps:
            with self._lock:  # else threads would map it once each
                if number not in self._maps:
                    with path.open("rb") as file:
                        self._maps[number] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        mapped = self._maps[number]
        # To touch what has been cut off since would end the process without a word.
        if mapped.size() < span.stop:
            raise OSError("the shard has become shorter since it was opened")
        return memoryview(mapped)[span]


class _PackReader(Reader):
    """A folder that `hardy pack` wrote: images made small once, for training on few cores."""

    brings_labels = True

    def recognises(self, request: Request) -> bool:
        return request.folder is not None and is_pack(request.folder)

    def open(self, request: Request) -> _PackSource:
        folder = request.path
        header = read_pack_header(folder)
        listings = _listings(folder, header)
        files = [file for listing in listings for file in listing.files]
        if not files:
            raise InputError(f"there are no images in {folder}: none of the source could be read")
        left_out = sum(len(listing.unreadable) for listing in listings)
        if request.faults is not None:
            for listing in listings:
                request.faults.extend(Fault(reason) for _, reason in listing.unreadable)
        return _PackSource(
            f"packed at {header.side} px as {header.encoding}"
            f"{f', {left_out:,} that could not be read left out,' if left_out else ''} in",
            request.text,
            files,
            _ids(request, header, listings, files),
            _joined(listings, "labels") if header.labelled else None,
            None if header.classes is None else tuple(header.classes),
            header,
            tuple(folder / shard_names(number)[0] for number in range(len(listings))),
            tuple(accumulate(len(listing.files) for listing in listings)),
            np.concatenate([np.array(offsets(one.sizes), np.int64) for one in listings]),
            _joined(listings, "sizes"),
            _joined(listings, "sums"),
            _joined(listings, "heights"),
            _joined(listings, "widths"),
        )


READER = _PackReader()


def packed_facts(source: Source) -> dict[str, Any] | None:
    """What is said of training images that come from a pack, or are some of it."""
    if isinstance(source, SourcePart):
        return packed_facts(source.whole)
    if not isinstance(source, _PackSource):
        return None
    facts = source.header
    return {
        "side": facts.side,
        "encoding": facts.encoding,
        "recipe": facts.recipe,
        "decoder": facts.decoder,
        "source": facts.source,
    }


def _listings(folder: Path, header: PackHeader) -> list[ShardListing]:
    found = []
    for number in range(len(header.spans)):
        try:
            found.append(read_listing(folder, header, number))
        except FileNotFoundError:
            raise InputError(
                f"{folder}: expected a pack of {len(header.spans)} shards, got "
                f"{number} and then no {shard_names(number)[1]}; give the same `hardy pack` again, "
                "which goes on with the next"
            ) from None
    return found


def _ids(
    request: Request, header: PackHeader, listings: list[ShardListing], files: list[str]
) -> Ids:
    """Ids by name, or by the row that each image had in the source."""
    rule = request.id_rule or ("relative_path" if header.named else "row_index")
    if not header.named:
        check_by_row(rule, request.text)
    _, ids = identify(files, rule, None, lambda index: f"{request.text}:{files[index]}")
    if rule != "row_index":
        return ids
    spans = zip(header.spans, listings, strict=True)
    return [span.start + place for span, listing in spans for place in listing.places]


def _joined(listings: list[ShardListing], name: str) -> Numbers:
    empty: list[Any] = []
    every = [one for listing in listings for one in getattr(listing, name) or empty]
    return np.array(every, np.int64)
