"""What the annotations of a tree need: they stay as they are, and fit the corrupted images.

Whether boxes and masks still fit is what a corruption says itself: its `moves`.
"""

from collections.abc import Iterable
from pathlib import Path

from hardy.corrupt import CORRUPTIONS
from hardy.corrupt.corruption import Moves
from hardy.errors import InputError
from hardy.suites.cells import Cell

# Folders in which data sets keep masks as image files: COCO, Cityscapes, Pascal VOC, ADE20K,
# BDD100K, and those made after them. The case of letters differs between copies.
_MASK_FOLDERS = frozenset(
    (
        *("annotations", "gtcoarse", "gtfine", "labels", "masks", "segmentationclass"),
        *("segmentationclassaug", "segmentationobject", "stuffthingmaps"),
    )
)


def moving(cells: Iterable[Cell], what: Moves) -> tuple[str, ...]:
    """The corruptions that move this, each once."""
    names = dict.fromkeys(cell.name for cell in cells)
    return tuple(name for name in names if CORRUPTIONS[name].moves == what)


def refuse_moved_objects(cells: Iterable[Cell]) -> None:
    if names := moving(cells, "objects"):
        move, them = ("moves", "it") if len(names) == 1 else ("move", "them")
        raise InputError(
            f"{', '.join(names)} {move} objects, so that boxes and masks no longer fit; leave "
            f"{them} out, or say `geometry=True` if the labels are of whole images"
        )


def part_masks(source: Path, images: Iterable[Path]) -> tuple[list[Path], int, tuple[str, ...]]:
    """The images that are no masks, how many are, and the folders of these."""
    kept, folders = list[Path](), list[str]()
    for path in images:
        where = _mask_folder(path)
        kept += [] if where else [path]
        folders += [where] if where else []
    if not kept:
        raise InputError(
            f"there are only masks or annotations in {source}, by the names of the folders "
            f"{', '.join(dict.fromkeys(folders))}; name the folder of the photographs, or such a "
            "folder itself"
        )
    return kept, len(folders), tuple(dict.fromkeys(folders))


def _mask_folder(path: Path) -> str:
    """The folder of masks that it lies in, "" if it lies in none."""
    for number, name in enumerate(path.parts[:-1], 1):
        if name.lower() in _MASK_FOLDERS:
            return Path(*path.parts[:number]).as_posix()
    return ""
