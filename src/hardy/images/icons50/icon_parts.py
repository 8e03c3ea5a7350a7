"""What is held out of icons: a protocol's test part, and a training part that has nothing of it.

| protocol      | its test part                                                                    |
|---------------|----------------------------------------------------------------------------------|
| `style`       | the images of the named styles                                                   |
| `subtype`     | the images of the named subtypes, in all styles                                  |
| `traditional` | a tenth of the pairs of style and icon, by a hash                                |
| `paths`       | images whose `class/file` has one of the words in it: the original's rule        |

Of the rest, a tenth of the pairs of style and icon is held out too: icons of seen styles that the
net was not shown, to compare with. What remains is the training part, but for near-duplicates of
anything held out: vendors draw some icons alike.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.errors import InputError, MissingResource
from hardy.images.icons50.collection import (
    NEAR,
    RECORD_NAME,
    icons_folder,
    set_built_in,
    set_faults,
)
from hardy.images.icons50.icon_tables import SETS, class_names, icons
from hardy.images.icons50.raster import SIDE, reduce_drawing
from hardy.images.readers import open_images
from hardy.images.source import Faults, Source
from hardy.places import locate
from hardy.registry import unknown
from hardy.suites import load
from hardy.suites.shift import PROTOCOLS

_ICONS = "icons50"  # how the sets in the cache are named: icons50, icons50:light, icons50:full
_FILE = re.compile(r"([A-Za-z-]+)_([0-9]+)_(.+)")
_ONE_OF = 10
_COARSE = 4  # blocks along a side, of which the means are compared first

Rows = npt.NDArray[np.int64]


class HeldOut(NamedTuple):
    """A protocol, and the styles, subtypes or words that it holds out."""

    protocol: str
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.protocol}:{','.join(self.words)}" if self.words else self.protocol


class IconName(NamedTuple):
    """What the name of a file says."""

    kind: str
    style: str
    subtype: str

    @property
    def icon(self) -> str:
        """The same for each version and style of one emoji."""
        return f"{self.kind}/{self.subtype}"


class IconParts(NamedTuple):
    """The rows of each part."""

    training: Rows
    test: Rows
    beside: Rows  # held-out icons of what the net has seen


def read_hold_out(text: str) -> HeldOut:
    """`style:microsoft`, `style:apple,facebook`, `subtype`, `traditional`, `paths:_2`."""
    protocol, _, rest = text.partition(":")
    if protocol not in PROTOCOLS:
        raise unknown("protocol of icons", protocol, PROTOCOLS)
    return complete(HeldOut(protocol, tuple(word for word in rest.split(",") if word)))


def complete(held_out: HeldOut) -> HeldOut:
    """The same in one way of writing; the usual words are those of the protocol's suite."""
    protocol, words = held_out
    shift = load(f"{_ICONS}_{protocol}").shift
    assert shift is not None
    if words and not shift.words:
        raise InputError(
            f"expected no words behind {protocol}, which needs none, got {', '.join(words)}"
        )
    return HeldOut(protocol, tuple(sorted(set(words or shift.words))))


def icon_name(id: str) -> IconName:
    """What `class/style_rendition_subtype` says, with a suffix or without, also behind others."""
    kind, _, file = id.rpartition("/")
    match = _FILE.fullmatch(file.removesuffix(".png"))
    if match is None or not kind:
        raise InputError(
            f"expected icons as class/style_rendition_subtype.png, got {id}; name the folder as "
            "it was published, or as `hardy fetch icons50` wrote it"
        )
    return IconName(kind.rpartition("/")[2], match[1], match[3])


def open_icons(where: str | Path, faults: Faults = None) -> tuple[Source, str]:
    """All icons of a set in the cache, or of a folder, with the name of the data set."""
    folder = _folder_of(where)
    if is_icon_set(where) and (bad := set_faults(folder.name)):
        raise MissingResource(
            f"{where} is not here ({bad[0]}); get it by `hardy fetch icons50 --set {folder.name}`"
        )
    source = open_images(folder, id_rule="relative_path", faults=faults)
    missing = sorted(set(class_names()) - set(source.classes or ()))
    strange = sorted(set(source.classes or ()) - set(class_names()))
    if missing or strange:
        told = [
            f"{len(some)} {how}, such as {some[0]}"
            for some, how in ((missing, "are missing"), (strange, "are others"))
            if some
        ]
        raise InputError(
            f"expected the 50 class folders of icons in {folder}, such as airplane, but "
            f"{' and '.join(told)}; name the folder whole"
        )
    built = set_built_in(folder)
    return source, "Icons-50" if built is None else f"{RECORD_NAME} {built}"


def _folder_of(where: str | Path) -> Path:
    if not is_icon_set(where):
        return locate(where)
    name = str(where).partition(":")[2] or SETS[0]
    if name not in SETS:
        raise unknown("set of icons", name, SETS)
    return icons_folder() / name


def split_icons(source: Source, held_out: HeldOut) -> IconParts:
    """The rows of the training part, of the test part, and of the one beside it."""
    names = [icon_name(file) for file in source.files]
    _check_known(held_out, names)
    tenth = np.array([_in_tenth(name) for name in names], np.bool_)
    test = np.array(
        [
            drawn if held_out.protocol == "traditional" else _is_held_out(held_out, name, file)
            for name, file, drawn in zip(names, source.files, tenth, strict=True)
        ],
        np.bool_,
    )
    beside = tenth & ~test
    if held_out.protocol == "traditional":
        beside[:] = False
    apart = test | beside
    if not test.any() or apart.all():
        got = "no images" if not test.any() else "all images"
        raise InputError(f"expected some images to hold out by {held_out}, got {got}; name others")
    small = _small_images(source)
    kept = np.flatnonzero(~apart)
    training = kept[~_near_any(small[kept], small[apart])]
    return IconParts(training, np.flatnonzero(test), np.flatnonzero(beside))


def is_icon_set(where: str | Path) -> bool:
    """Whether it names a set in the cache."""
    return str(where).partition(":")[0] == _ICONS and not Path(where).exists()


def open_parts(
    where: str | Path, held_out: HeldOut, faults: Faults = None
) -> tuple[Source, IconParts, str]:
    """All icons, the rows of each part, and the name of the data set."""
    source, title = open_icons(where, faults)
    if is_icon_set(where):
        return source, _parts_of_set(_folder_of(where), held_out), title
    return source, split_icons(source, held_out), title


@lru_cache
def _parts_of_set(folder: Path, held_out: HeldOut) -> IconParts:
    """The parts of a set in the cache, whose files were just checked: split once in a process."""
    return split_icons(open_images(folder, id_rule="relative_path"), held_out)


def _is_held_out(held_out: HeldOut, name: IconName, file: str) -> bool:
    if held_out.protocol == "paths":
        path = "/".join(file.split("/")[-2:])
        return any(word in path for word in held_out.words)
    return (name.style if held_out.protocol == "style" else name.subtype) in held_out.words


def _check_known(held_out: HeldOut, names: Sequence[IconName]) -> None:
    """Refuse a style that no image has; subtypes may lack, as no vendor draws some."""
    if held_out.protocol in ("style", "subtype"):
        there = {name.style if held_out.protocol == "style" else name.subtype for name in names}
        known = there | {icon.subtype for icon in icons()}
        for word in held_out.words:
            if word not in (there if held_out.protocol == "style" else known):
                raise unknown(f"{held_out.protocol} of these icons", word, sorted(there))


def _in_tenth(name: IconName) -> bool:
    """All versions of an icon in a style are held out together."""
    digest = hashlib.sha256(f"{name.style}/{name.icon}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % _ONE_OF == 0


def _small_images(source: Source) -> UInt8:
    return np.stack([small_icon(source.read(row)) for row in range(len(source))])


def small_icon(pixels: UInt8) -> UInt8:
    """As large as those of Icons-50-R are; icons of the original have several sizes."""
    if pixels.shape == (SIDE, SIDE, 3):
        return pixels
    opaque = np.full((*pixels.shape[:2], 1), 255, np.uint8)
    reduced = reduce_drawing(np.concatenate([pixels, opaque], axis=2))
    assert reduced is not None  # it is opaque
    return reduced


def _near_any(some: UInt8, others: UInt8) -> npt.NDArray[np.bool_]:
    """Which images differ from one of the others by no more than near-duplicates do.

    Means over blocks differ by no more than pixels do, so most pairs are told apart by these.
    """
    found = np.zeros(len(some), np.bool_)
    coarse, theirs = _block_means(some), _block_means(others)
    for row, image in enumerate(some):
        far = np.abs(theirs - coarse[row]).mean(axis=1) > NEAR + 1e-6
        close = others[~far].astype(np.int64)
        differences = np.abs(close - image).sum(axis=(1, 2, 3)) / image.size
        found[row] = bool((differences <= NEAR).any())
    return found


def _block_means(images: UInt8) -> npt.NDArray[np.float64]:
    block = SIDE // _COARSE
    shaped = images.reshape(len(images), _COARSE, block, _COARSE, block, 3)
    means: npt.NDArray[np.float64] = shaped.mean(axis=(2, 4)).reshape(len(images), -1)
    return means
