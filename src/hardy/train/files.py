"""Files of a run, written whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hardy.errors import InputError
from hardy.models.model import existing, need
from hardy.resume import write_file
from hardy.whole import UNFINISHED

CHECKPOINT = "checkpoint.safetensors"
SUM = "sha256"  # the note of a file that tells whether it is as it was written


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
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise InputError(
            f"another process is training in {folder}; wait for it, or name another folder"
        ) from error
    finally:
        os.close(held)


def remove_unfinished(folder: Path) -> None:
    """What killed processes left of files. Only for who is `alone_in` the folder of its run."""
    for path in folder.glob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def write_tensors(target: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    library = need("safetensors.torch", "torch", str(target))
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_whole(target, library.save(ready, metadata={**notes, SUM: _sum(ready, notes)}))


def read_tensors(
    path: Path, todo: str = "delete it to begin anew"
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors, and the notes beside them, as they were written."""
    existing(path, "a checkpoint")
    library: Any = need("safetensors", "torch", str(path))
    try:
        with library.safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            notes = file.metadata() or {}
    except Exception as error:  # its errors have no base of their own
        raise InputError(f"{path} is no checkpoint that can be read ({error}); {todo}") from error
    written = notes.pop(SUM, None)  # which older files do not have
    if written not in (None, _sum(tensors, notes)):
        raise InputError(f"{path} is damaged (it is not as it was written, by its SHA-256); {todo}")
    return tensors, notes


def _sum(tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> str:
    """SHA-256 of the notes and of names, types, shapes and bytes. The tensors lie on the host."""
    digest = hashlib.sha256(json.dumps(sorted(notes.items())).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, str(tensor.dtype), tuple(tensor.shape)]).encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def check_alike(found: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    """Torch would cast and stretch what differs, without a word."""
    for name, tensor in own.items():
        its, ours = ((one.dtype, tuple(one.shape)) for one in (found[name], tensor))
        if its != ours:
            raise ValueError(f"{name} is {its} instead of {ours}")
