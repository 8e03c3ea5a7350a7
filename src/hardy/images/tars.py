"""Tar shards in the layout of WebDataset: `key.jpg` and `key.cls` lie one after the other.

A tar is indexed once, header by header; an image is then read at its place. Nothing is ever
unpacked to the disk.
"""

import os
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.images.image_files import SUFFIXES, Convert, decode_image, rgb
from hardy.images.readers import Reader, Request
from hardy.images.source import (
    UNLABELLED,
    Faults,
    Listing,
    identify,
    number_labels,
    refuse,
    unusable,
)
from hardy.patience import Unreachable
from hardy.places import read_range
from hardy.sized_file import SizedFile

LABEL = "cls"
_GZIP = b"\x1f\x8b"
# The text of a class number or name; a longer one is something else.
_LONGEST_LABEL = 1000


class Place(NamedTuple):
    shard: int
    offset: int
    size: int


@dataclass(frozen=True)
class _TarSource(Listing):
    shards: tuple[Path, ...]
    places: Sequence[Place]
    decodes_files = True

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        place = self.places[index]
        shard = self.shards[place.shard]
        name = f"{shard}:{self.files[index]}"
        try:
            data = read_range(shard, place.offset, place.size)
        except OSError as error:
            raise InputError(f"cannot read {name}: {error}") from error
        if len(data) != place.size:
            raise InputError(f"cannot read {name}: the tar ends in the middle of it")
        return decode_image(data, name, convert)


@dataclass
class _Sample:
    """The files of one key."""

    images: list[tuple[str, Place]] = field(default_factory=list)
    label: str | None = None


class _TarReader(Reader):
    """A shard, a folder of them or a pattern such as val-*.tar: key.jpg beside key.cls."""

    brings_labels = True

    def recognises(self, request: Request) -> bool:
        return request.all_end_in(".tar")

    def open(self, request: Request) -> _TarSource:
        shards, faults, rule = request.files, request.faults, request.id_rule or "relative_path"
        found: list[tuple[str, Place, str | None]] = []
        for number, shard in enumerate(shards):
            for key, sample in _samples(shard, number, faults).items():
                if len(sample.images) > 1:
                    names = ", ".join(name for name, _ in sample.images)
                    refuse(faults, f"{shard}: expected one image under the key {key}, got {names}")
                elif sample.images:
                    found.append((*sample.images[0], sample.label))
        labelled = any(label is not None for _, _, label in found)
        files, places, texts = [], [], []
        for file, place, label in found:
            if labelled and label is None:
                shard = shards[place.shard]
                reason = f"{shard}:{file} has no .{LABEL} beside it; add its label"
                refuse(faults, reason, kind=UNLABELLED)
            else:
                files.append(file)
                places.append(place)
                texts.append(label or "")
        if not files:
            raise InputError(
                f"there are no images in {request.text}: expected key.jpg and key.{LABEL}, as "
                "WebDataset has it; archives of other things have to be unpacked first"
            )
        kept, ids = identify(
            files, rule, faults, lambda index: f"{shards[places[index].shard]}:{files[index]}"
        )
        labels, classes = number_labels(texts) if labelled else (None, None)
        return _TarSource(
            f"{len(shards)} tar shards" if len(shards) > 1 else "tar",
            request.text,
            [files[index] for index in kept],
            ids,
            None if labels is None else labels[kept],
            classes,
            tuple(shards),
            [places[index] for index in kept],
        )


READER = _TarReader()


def _samples(shard: Path, number: int, faults: Faults) -> dict[str, _Sample]:
    samples: dict[str, _Sample] = {}
    try:
        with SizedFile(shard) as stream:
            if stream.read(2) == _GZIP:
                raise InputError(f"{shard} is compressed, and has no places to go to; gunzip it")
            stream.seek(0)
            with tarfile.open(fileobj=stream, mode="r:") as archive:
                for member in archive:
                    _check_size(member, archive, stream.length)
                    _add(samples, shard, number, member, archive, faults)
                    archive.members.clear()  # type: ignore[attr-defined]  # else it remembers each
                # At a header it does not know, tarfile stops as if that were the end.
                stream.seek(archive.offset)
                if stream.read(tarfile.BLOCKSIZE).strip(b"\0"):
                    raise tarfile.ReadError(f"broken header at byte {archive.offset:,}")
    except (InputError, Unreachable):
        raise
    # tarfile meets broken headers with ValueError, IndexError, RecursionError...
    except Exception as error:
        refuse(
            faults,
            f"cannot read {shard} to its end: {error or type(error).__name__}; fetch it again",
        )
    return samples


def _check_size(member: tarfile.TarInfo, archive: tarfile.TarFile, length: int) -> None:
    """Behind a member of a wrong size there is no next header to go to, or always the same one."""
    if member.size < 0 or archive.offset < member.offset_data:
        raise tarfile.ReadError(f"{member.name} has a negative size")
    stored = member.isreg() and not member.issparse()
    if stored and member.offset_data + member.size > length:
        raise tarfile.ReadError(
            f"unexpected end of data, in {member.name} of {member.size:,} bytes"
        )


def _add(
    samples: dict[str, _Sample],
    shard: Path,
    number: int,
    member: tarfile.TarInfo,
    archive: tarfile.TarFile,
    faults: Faults,
) -> None:
    folder, _, name = member.name.rpartition("/")
    first, _, ending = name.partition(".")
    is_image = f".{ending}".lower().endswith(SUFFIXES)
    reason = unusable(member.name)
    if reason is not None:
        refuse(faults, f"{shard}:{member.name}: {reason}; not used")
        return
    if member.isdir() or not first or not (is_image or ending == LABEL):
        return
    if not member.isreg() or member.issparse():
        refuse(faults, f"{shard}:{member.name}: expected a file, got a link or device; not used")
        return
    clean = os.path.normpath(member.name).replace(os.sep, "/")
    key = f"{folder}/{first}"
    sample = samples.setdefault(key, _Sample())
    if is_image:
        sample.images.append((clean, Place(number, member.offset_data, member.size)))
    elif member.size > _LONGEST_LABEL or sample.label is not None:
        refuse(faults, f"{shard}:{member.name}: expected one short label per key; not used")
    else:
        content = archive.extractfile(member)
        text = content.read().decode(errors="replace").strip() if content else ""
        sample.label = text
