"""`open_images`: one door for every kind of image set. A reader knows its own kind when it sees it.

A new kind is a class like those below (`Reader`) and a row here, or an entry point of another
package in the group "hardy.readers". Plug-ins are asked first, as a folder's special layout is a
folder too; then Hardy's own, in the order of the table.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from hardy.errors import InputError, door
from hardy.places import is_folder, is_url, locate, matching
from hardy.registry import Registry, Row
from hardy.schema import brief

if TYPE_CHECKING:
    from hardy.images.folders import Scan
    from hardy.images.source import Faults, Source

_SPLITS = ("train", "test", "validation", "val")  # of what is no folder, such as cifar10:test
_PACKED = (".tar", ".parquet")


@dataclass(frozen=True)
class Request:
    """What `open_images` was asked for, as readers see it."""

    text: str  # the path as it was given, without the split
    paths: tuple[Path, ...]  # what is there: the path itself, or the files that match a pattern
    split: str | None = None  # "test" of "cifar10:test"
    labels: Path | None = None
    id_rule: str | None = None
    faults: Faults = None  # where things go that cannot be used; without it they are raised

    @cached_property
    def path(self) -> Path:
        return locate(self.text)

    @cached_property
    def folder(self) -> Path | None:
        return self.paths[0] if self.paths == (self.path,) and self.path.is_dir() else None

    @cached_property
    def file(self) -> Path | None:
        return self.paths[0] if self.paths == (self.path,) and self.path.is_file() else None

    @cached_property
    def start(self) -> bytes:
        """The first bytes of a file."""
        if self.file is None:
            return b""
        try:
            with self.file.open("rb") as stream:
                return stream.read(512)
        except OSError as error:
            raise InputError(f"cannot read {self.text}: {error}") from error

    @cached_property
    def names(self) -> Scan:
        """What lies at the top of a folder."""
        from hardy.images.folders import Scan, scan

        return Scan([], [], []) if self.folder is None else scan(str(self.folder), [])

    @property
    def files(self) -> list[Path]:
        """The files it stands for: itself, those that match a pattern, or the tar and Parquet files
        of a folder that has neither images nor folders."""
        if self.folder is None:
            return list(self.paths)
        if self.names.images or self.names.folders:
            return []
        return [self.folder / name for name in self.names.others if name.endswith(_PACKED)]

    def all_end_in(self, suffix: str) -> bool:
        """Whether it stands for files, and for those of one kind."""
        return bool(self.files) and all(path.suffix == suffix for path in self.files)


class Reader(ABC):
    """One kind of image set. The first sentence of its docstring says what it reads."""

    brings_labels = False  # so that a file of labels beside it is refused
    splits: tuple[str, ...] | None = ()  # such as "test", named by :test; None: `open` knows them

    @abstractmethod
    def recognises(self, request: Request) -> bool:
        """Whether the request is for this kind; nothing is decoded for it."""

    @abstractmethod
    def open(self, request: Request) -> Source:
        """The images that the request names."""


READERS: Registry[Reader] = Registry(
    "image reader",
    "hardy.readers",
    of=Reader,
    rows={
        "data set": Row("hardy.images.datasets:READER"),
        "npy": Row("hardy.images.numpy_files:NPY"),
        "npz": Row("hardy.images.numpy_files:NPZ"),
        "folder of arrays": Row("hardy.images.array_folders:READER"),
        "CIFAR": Row("hardy.images.cifar:READER"),
        "pack": Row("hardy.images.packs:READER"),
        "tar": Row("hardy.images.tars:READER"),
        "Hugging Face": Row("hardy.images.parquet:SAVED"),
        "Parquet": Row("hardy.images.parquet:READER"),
        "Tiny ImageNet": Row("hardy.images.tiny_imagenet:READER"),
        "class folders": Row("hardy.images.folders:CLASSES"),
        "folder": Row("hardy.images.folders:FLAT"),
    },
)


def open_images(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    id_rule: str | None = None,
    faults: Faults = None,
) -> Source:
    """Open the images at `path`: they are listed, and not yet decoded.

    `hardy ls readers` lists what a path may lead to: class folders, arrays, tar shards and more.
    `labels` is a file with the labels of images that bring none. `id_rule` is that of the suite;
    left out, images with file names have their path without the suffix as id, others their row.
    Things that cannot be used are raised, or, given a list `faults`, are put there and left out.
    """
    from hardy.images.source import check_faults, check_id_rule

    text = _text(path, f"the path of {_kinds()}")
    if id_rule is not None:
        check_id_rule(id_rule)
    check_faults(faults)
    where, split = _split(text)
    there = tuple(matching(locate(where)))
    extra = None if labels is None else locate(_text(labels, "the path of a file of labels"))
    request = Request(where, there, split, extra, id_rule, faults)
    for found in request.paths:
        if is_url(found):
            continue
        if found.exists() and not (found.is_file() or found.is_dir()):  # a pipe: it has no end
            raise _neither(found)
    name, reader = _recognise(request)
    if request.labels is not None and reader.brings_labels:
        raise InputError(f"{request.text} brings its own labels; leave {request.labels} out")
    if request.labels is not None:
        check_label_file(request.labels)
    if split is not None and reader.splits is not None and split not in reader.splits:
        raise no_splits(request, name, f"{split} set" if reader.splits else "splits")
    with door(request.text, "fetch or write it again"):
        return reader.open(request)


def _recognise(request: Request) -> tuple[str, Reader]:
    """The reader that opens it: the one plug-in that recognises it, else the first of Hardy's."""
    plugins = READERS.plugins()
    found = [named for named in READERS.usable(plugins) if named[1].recognises(request)]
    if len(found) > 1:
        names = " and ".join(name for name, _ in found)
        raise InputError(
            f"{request.text}: expected one reader that recognises it, got the plug-ins {names}; "
            "uninstall the package of one"
        )
    own = READERS.usable(name for name in READERS if name not in plugins)
    fitting = chain(found, (named for named in own if named[1].recognises(request)))
    if (first := next(fitting, None)) is None:
        raise _unrecognised(request)
    return first


def no_splits(request: Request, kind: str, what: str = "splits") -> InputError:
    return InputError(
        f"{request.text}:{request.split}: {kind} has no {what}; leave :{request.split} out, or "
        "name the folder or file that holds it"
    )


def _kinds() -> str:
    *most, last = READERS
    return f"images of a kind that `hardy ls readers` explains: {', '.join(most)} or {last}"


def _text(path: str | os.PathLike[str], expected: str) -> str:
    """The path as text; of a URL without what belongs in no message."""
    text = str(locate(path)) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or "\0" in text:
        raise InputError(f"expected {expected}, got {brief(path)}")
    return str(locate(text)) if "://" in text else text


def check_label_file(labels: str | os.PathLike[str]) -> Path:
    path = locate(labels)
    if not path.exists():
        raise InputError(f"there is no file {path}; expected the labels of the images")
    if path.is_dir():
        raise InputError(f"{path}: expected a file with the labels of the images, got a folder")
    return path


def _split(text: str) -> tuple[str, str | None]:
    head, colon, tail = text.rpartition(":")
    if not colon or not re.fullmatch(r"[\w.-]+", tail):
        return text, None
    if (tail in _SPLITS or is_folder(head)) and not _is_there(text):
        return head, tail
    return text, None


def _is_there(text: str) -> bool:
    place = locate(text)
    return place.exists() if is_url(place) else os.path.lexists(text)


def _unrecognised(request: Request) -> InputError:
    from hardy.images.image_files import SUFFIXES

    text, file = request.text, request.file
    if not request.paths:
        return InputError(f"there is no file or folder {text}; expected {_kinds()}")
    if file is not None:
        got = "an image" if file.suffix.lower() in SUFFIXES else "another file"
        return InputError(
            f"{text}: expected {_kinds()}, got {got}; name the folder it is in, or unpack it"
        )
    if len(request.files) > 1:
        got = ", ".join(sorted({path.suffix for path in request.files}))
        return InputError(f"{text}: expected .tar or .parquet files, and not both, got {got}")
    if request.folder is not None:
        return InputError(f"there are no image files in {text}; expected {_kinds()}")
    return _neither(text)


def _neither(path: object) -> InputError:
    return InputError(f"{path} is neither a file nor a folder; expected {_kinds()}")
