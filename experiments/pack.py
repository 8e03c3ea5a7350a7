"""CIFAR-10 for a machine that nothing can be fetched to, in parts of some 50 MiB.

    python -m experiments.pack pack build/cifar10       writes build/cifar10/1, build/cifar10/2, ...
    python -m experiments.pack unpack build/cifar10     writes train.npz and test.npz beside them

Nothing is lost. Green, and red and blue less green, are each predicted from the pixels to the left,
above, and above to the left (the median predictor of JPEG-LS); what is left goes through bzip2 in
blocks of 5,000 images. The frost photographs that `cifar10_c` needs come along, in a folder frost.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import json
import math
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.files import whole_file
from hardy.images import load, open_images

UInt8 = npt.NDArray[np.uint8]
Int16 = npt.NDArray[np.int16]

BLOCK = 5000  # images
LARGEST = 56 * 2**20  # bytes of a part, nearly: blocks are not divided
MANIFEST, FROST = "manifest.json", "frost"
SPLITS = ("train", "test")


def to_planes(images: UInt8) -> Int16:
    """(N, H, W, 3) to (H, W, 3, N): green, red − green, blue − green, the last two around 128."""
    red, green, blue = images.astype(np.int16).transpose(3, 1, 2, 0)
    return np.stack([green, (red - green + 128) & 255, (blue - green + 128) & 255], 2)


def from_planes(planes: Int16) -> UInt8:
    green, red, blue = planes.transpose(2, 3, 0, 1)
    pixels = np.stack([(red + green - 128) & 255, green, (blue + green - 128) & 255], -1)
    return pixels.astype(np.uint8)


def predicted(planes: Int16, row: int, column: int) -> Int16:
    """From earlier pixels only, in all planes (3) of all images (N)."""
    if row == column == 0:
        return np.zeros_like(planes[0, 0])
    left = planes[row, column - 1] if column else planes[row - 1, column]
    above = planes[row - 1, column] if row else left
    corner = planes[row - 1, column - 1] if row and column else left
    low, high = np.minimum(left, above), np.maximum(left, above)
    return np.clip(left + above - corner, low, high)


def encode(images: UInt8) -> bytes:
    planes = to_planes(images)
    residuals = np.empty(planes.shape, np.uint8)
    for row, column in np.ndindex(planes.shape[:2]):
        residuals[row, column] = planes[row, column] - predicted(planes, row, column) & 255
    # Plane by plane, image by image: bzip2 then finds images of one kind together.
    return bz2.compress(np.ascontiguousarray(residuals.transpose(2, 3, 0, 1)).tobytes())


def decode(block: bytes, shape: tuple[int, int, int]) -> UInt8:
    """`shape` is (N, H, W)."""
    raw = np.frombuffer(bz2.decompress(block), np.uint8).reshape(3, *shape)
    residuals = np.ascontiguousarray(raw.transpose(2, 3, 0, 1))
    planes = np.empty(residuals.shape, np.int16)
    for row, column in np.ndindex(planes.shape[:2]):
        known = predicted(planes, row, column)
        planes[row, column] = known + residuals[row, column] & 255
    return from_planes(planes)


def digest(array: npt.NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def read(where: str) -> tuple[UInt8, npt.NDArray[np.int64]]:
    source = open_images(where)
    if source.labels is None:
        raise InputError(f"expected images with labels to pack, got {where} without any")
    return next(load(source, "none@1", batch=len(source))).images, source.labels


def pack(out: Path, sources: dict[str, str], largest: int = LARGEST) -> list[Path]:
    """Folders of blocks, alike in size; the manifest lies in each."""
    manifest: dict[str, Any] = {}
    blocks: dict[str, bytes] = {}
    for split, where in sources.items():
        images, labels = read(where)
        starts = range(0, len(images), BLOCK)
        with ThreadPoolExecutor() as pool:
            made = pool.map(encode, (images[start : start + BLOCK] for start in starts))
            names = {f"{split}-{k:05}.bz2": block for k, block in zip(starts, made, strict=True)}
        blocks |= names
        manifest[split] = {
            "shape": images.shape,
            "images": digest(images),
            "labels": labels.tolist(),
            "blocks": {name: hashlib.sha256(block).hexdigest() for name, block in names.items()},
        }
    total, before = sum(map(len, blocks.values())), 0
    count = math.ceil(total / largest)
    folders: dict[Path, None] = {}
    for name, block in blocks.items():
        folder = out / str(1 + before * count // total)
        folder.mkdir(parents=True, exist_ok=True)
        for part, content in ((name, block), (MANIFEST, json.dumps(manifest).encode())):
            with whole_file(folder / part) as file:
                file.write(content)
        folders[folder] = None
        before += len(block)
    return list(folders)


def unpack(folder: Path) -> list[Path]:
    """`train.npz` and `test.npz` in the folder that holds the parts; checked to the last byte."""
    found = {path.name: path for path in folder.glob("*/*")}
    if MANIFEST not in found:
        raise InputError(f"expected parts as `pack` writes them in {folder}, got none")
    written = []
    for split, about in json.loads(found[MANIFEST].read_text()).items():
        missing = [name for name in about["blocks"] if name not in found]
        if missing:
            raise InputError(f"{folder}: {missing[0]} is not here; bring the part that holds it")
        count, height, width, _ = about["shape"]
        shapes = [(min(BLOCK, count - k), height, width) for k in range(0, count, BLOCK)]
        compressed = (found[name].read_bytes() for name in about["blocks"])
        with ThreadPoolExecutor() as pool:
            images = np.concatenate(list(pool.map(decode, compressed, shapes)))
        if digest(images) != about["images"]:
            raise InputError(f"{folder}: the {split} images are not those that were packed")
        target = folder / f"{split}.npz"
        with whole_file(target) as file:
            np.savez(file, images=images, labels=np.array(about["labels"]))
        written.append(target)
    return written


def copy_frost(folder: Path) -> None:
    """What HARDY_TEXTURES is to name there."""
    from hardy.engine import textures

    textures.load(1)  # fetches them
    folder.mkdir(parents=True, exist_ok=True)
    for texture in textures.TEXTURES:
        shutil.copy(textures.folder() / texture.file, folder)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.pack", description=__doc__)
    parser.add_argument("what", choices=["pack", "unpack"])
    parser.add_argument("folder", type=Path)
    for split in SPLITS:
        parser.add_argument(f"--{split}", default=f"cifar10:{split}")
    options = parser.parse_args()
    if options.what == "unpack":
        print("\n".join(map(str, unpack(options.folder))))
        return 0
    for folder in pack(options.folder, {split: getattr(options, split) for split in SPLITS}):
        size = sum(file.stat().st_size for file in os.scandir(folder))
        print(f"{folder}: {size / 2**20:.1f} MiB")
    copy_frost(options.folder / FROST)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
