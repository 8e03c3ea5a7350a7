"""The files of a pack, which `hardy.pack` writes and a reader takes for an image set.

| file                      | what                                                                 |
|---------------------------|----------------------------------------------------------------------|
| `pack.json`               | what is packed and how: written first, and the same to the end       |
| `00000.images`            | a shard: encoded images one behind the other                         |
| `00000.json`              | its listing: names, labels, sizes and sums of these, and what is not |
|                           | among them; written last, so a shard that has one is whole           |

Rows are shared out in order, so many to each shard. So what a shard holds follows from the source
and `pack.json` alone, and a pack that was stopped goes on with the next shard.
"""

import json
from itertools import accumulate
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

from hardy.documents import SUM, check_record, read_json, seal
from hardy.engine.door import SMALLEST_SIDE
from hardy.errors import InputError
from hardy.inside import inner_path
from hardy.limits import IMAGES, LISTING, PIXELS
from hardy.schema import (
    FLAG,
    TABLE,
    TEXT,
    TEXTS,
    WHOLE,
    Field,
    all_of,
    at_least,
    expect,
    is_text,
    is_whole,
    one_of,
    or_null,
)

PACK_HEADER = "pack.json"
_VERSION = 1
PACK_FORMATS = ("jpeg", "raw")
MOST_SHARDS = 256  # each is a file that stays open
FEWEST_IN_SHARD = 2048

_AGAIN = "pack the images again"
_LARGEST_LABEL = 2**63 - 1
_LARGEST_SUM = 2**32 - 1
_LONGEST = 2**31 - 1  # side


def _is_list_of(value: Any, kind: type) -> bool:
    """Said at once of a list, of which a large pack has a million entries."""
    return isinstance(value, list) and {*map(type, value)} <= {kind}


def _wholes(most: int, least: int = 0) -> Field:
    """Whole numbers from `least` to `most`."""

    def fits(value: Any) -> bool:
        if not _is_list_of(value, int):
            return False
        return min(value, default=least) >= least and max(value, default=most) <= most

    return Field(f"a list of whole numbers from {least:,} to {most:,}", fits)


def _is_left_out(value: Any) -> bool:
    right = isinstance(value, list) and len(value) == 2
    return right and is_whole(value[0], 0) and is_text(value[1])


_HEADER = {
    "images": WHOLE,
    "in_shard": WHOLE,
    "side": at_least(SMALLEST_SIDE),
    "encoding": one_of(PACK_FORMATS),
    "recipe": TEXT,
    "named": FLAG,
    "labelled": FLAG,
    "classes": or_null(TEXTS),
    "source": TEXT,
    "source_sha256": TEXT,
    "decoder": TABLE,
}
_LISTING = {
    "pack": TEXT,
    "shard": at_least(0),
    "files": Field("a list of texts", lambda value: _is_list_of(value, str)),
    "labels": or_null(_wholes(_LARGEST_LABEL)),
    "sizes": _wholes(2**40),
    "sums": _wholes(_LARGEST_SUM),
    "heights": or_null(_wholes(_LONGEST, SMALLEST_SIDE)),
    "widths": or_null(_wholes(_LONGEST, SMALLEST_SIDE)),
    "unreadable": Field("a list of places and reasons", all_of(_is_left_out)),
}


class PackHeader(NamedTuple):
    """What `pack.json` says."""

    images: int  # of the source, also those that could not be read
    in_shard: int  # of which so many belong to each shard
    side: int  # that the shorter one of an image has at most
    encoding: str
    recipe: str  # how they came to that, in words
    named: bool  # whether the source has names for its images, and not only rows
    labelled: bool
    classes: list[str] | None
    source: str
    source_sha256: str  # of names and labels
    decoder: dict[str, str]

    def record(self) -> dict[str, Any]:
        return {"format": _VERSION, **self._asdict()}

    @property
    def sum(self) -> str:
        """What a shard knows its pack by; the source may be called otherwise."""
        named = {name: value for name, value in self.record().items() if name != "source"}
        return str(seal(named)[SUM])

    @property
    def spans(self) -> list[range]:
        """The rows of each shard."""
        every = range(self.images)
        return [every[start : start + self.in_shard] for start in every[:: self.in_shard]]


class ShardListing(NamedTuple):
    """What the listing of a shard says, checked."""

    pack: str
    shard: int
    files: list[str]
    labels: list[int] | None
    sizes: list[int]
    sums: list[int]  # CRC-32 of the bytes of each
    heights: list[int] | None  # of raw pixels
    widths: list[int] | None
    unreadable: list[list[Any]]  # place in the span, and the reason

    @property
    def places(self) -> list[int]:
        """The places of the images in the span."""
        missing = {place for place, _ in self.unreadable}
        span = range(len(self.files) + len(missing))
        return [place for place in span if place not in missing]


def shard_names(number: int) -> tuple[str, str]:
    """The names of a shard and its listing."""
    return f"{number:05}.images", f"{number:05}.json"


def is_pack(folder: Path) -> bool:
    return (folder / PACK_HEADER).is_file()


def read_pack_record(path: Path) -> dict[str, Any]:
    """What `pack.json` says, if it is one."""
    found = read_json(inner_path(path.parent, path.name), "the header of a pack", _AGAIN)
    if isinstance(found, dict) and found.get("format") != _VERSION:
        raise InputError(
            f"{path}: expected a pack of format {_VERSION}, got "
            f"{str(found.get('format'))[:20]}; update hardy, or {_AGAIN}"
        )
    record = check_record(found, _HEADER, path, _AGAIN)
    IMAGES.check(record["images"], path)
    shards = -(-record["images"] // record["in_shard"])
    expect(shards <= MOST_SHARDS, f"at most {MOST_SHARDS} shards", shards, str(path), _AGAIN)
    expect(
        record["classes"] is None or record["labelled"],
        "no names of classes without labels",
        record["classes"],
        f"{path}: classes",
        _AGAIN,
    )
    return record


def read_pack_header(folder: Path) -> PackHeader:
    record = read_pack_record(folder / PACK_HEADER)
    return PackHeader(**{name: record[name] for name in PackHeader._fields})


def read_listing(folder: Path, header: PackHeader, number: int) -> ShardListing:
    """The listing of a shard, if it fits the pack and the shard; that there is none yet stays a
    FileNotFoundError."""
    shard, name = shard_names(number)
    path = folder / name
    found = read_json(inner_path(folder, name), "the listing of a shard", _AGAIN, limit=LISTING)
    record = check_record(found, _LISTING, path, _AGAIN)
    listing = ShardListing(**{name: record[name] for name in ShardListing._fields})
    if (listing.pack, listing.shard) != (header.sum, number):
        raise InputError(f"{path}: it belongs to another pack or shard; {_AGAIN}")
    _check_counts(listing, header, path)
    _check_values(listing, header, path)
    stored = _length(inner_path(folder, shard))
    if stored != sum(listing.sizes):
        raise InputError(
            f"{folder / shard}: expected {sum(listing.sizes):,} bytes, as {name} says, got "
            f"{'no file' if stored is None else f'{stored:,}'}: it is cut off or altered; bring it "
            "back, or give the same `hardy pack` again"
        )
    return listing


def _length(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check_counts(listing: ShardListing, header: PackHeader, path: Path) -> None:
    count, span = len(listing.files), len(header.spans[listing.shard])
    left_out = {place for place, _ in listing.unreadable}
    right = count + len(left_out) == span and len(left_out) == len(listing.unreadable)
    right = right and max(left_out, default=0) < span
    expect(right, f"{span:,} images, with those left out", count, f"{path}: files", _AGAIN)
    lists: dict[str, Any] = {"sizes": listing.sizes, "sums": listing.sums}
    lists |= {"labels": listing.labels} if header.labelled else {}
    if header.encoding == "raw":
        lists |= {"heights": listing.heights, "widths": listing.widths}
    for name, some in lists.items():
        got = None if some is None else len(some)
        expect(got == count, f"{count:,} entries", got, f"{path}: {name}", _AGAIN)


def _check_values(listing: ShardListing, header: PackHeader, path: Path) -> None:
    if header.classes is not None and listing.labels:
        most, top = len(header.classes) - 1, max(listing.labels)
        expect(top <= most, f"at most {most:,}", top, f"{path}: labels", _AGAIN)
    if header.encoding == "raw":
        pixels = [*map(mul, listing.heights or (), listing.widths or ())]
        PIXELS.check(max(pixels, default=0), path)
        right = [3 * count for count in pixels] == listing.sizes
        expect(right, "3 bytes for each pixel", listing.sizes, f"{path}: sizes", _AGAIN)


def offsets(sizes: list[int]) -> list[int]:
    """Where each image of a shard begins."""
    return list(accumulate(sizes, initial=0))[:-1]


def listing_bytes(listing: ShardListing) -> bytes:
    """The file of a listing."""
    return (json.dumps(seal(listing._asdict())) + "\n").encode()
