"""Files of a run, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from torch import Tensor

from hardy.errors import InputError
from hardy.files import UNFINISHED, hold, write_file
from hardy.models.tensors import packed, unpacked

CHECKPOINT = "checkpoint.safetensors"


def write_whole(target: Path, content: bytes) -> None:
    if (target.parent / CHECKPOINT).exists():
        todo = "what was saved before is kept, and the same command resumes from there"
    else:
        todo = "nothing had been saved; make room, and the same command trains from the beginning"
    write_file(target, content, todo)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """The folder, made if need be, for this process alone."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise InputError(
            f"expected a folder to train in, got {folder} ({error.strerror}); name another"
        ) from error
    try:
        hold(held, f"another process is training in {folder}; wait for it, or name another folder")
        yield
    finally:
        os.close(held)


def remove_unfinished(folder: Path) -> None:
    """What killed processes left of files. Only for who is `alone_in` the folder of its run."""
    for path in folder.glob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def write_tensors(target: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    write_whole(target, packed(tensors, notes, target))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Of a checkpoint; the notes beside them, too."""
    return unpacked(path, "delete it to begin anew")
