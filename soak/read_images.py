"""Images, their labels, and suites on a disk, read as commands read them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

_SET = Path(__file__).parent / "corpus/image_sets/set.npy"


def read_picture(path: Path) -> None:
    from hardy.images.image_files import read_image

    read_image(path)


def read_set(path: Path, **options: Any) -> None:
    from hardy.images import open_images
    from hardy.images.labels import classes_of
    from hardy.suites import load

    for faults in (None, []):
        source = open_images(path, faults=faults, **options)
        source.describe()
        for row in range(min(len(source), 8)):
            source.read(row)
    if source.labels is not None:
        classes_of(load("cifar10_c"), source.labels, source.classes, len(source), own=True)


def read_set_around(path: Path) -> None:
    """The set of the file's folder, which it belongs to."""
    read_set(path.parent)


def read_pack(path: Path) -> Any:
    """All that a pack says, and its pixels, for which there are sums."""
    from hardy.images import open_images

    source = open_images(path.parent)
    source.describe()
    pixels = [source.read(row).tobytes() for row in range(len(source))]
    labels = None if source.labels is None else source.labels.tolist()
    return source.files, list(source.ids), labels, source.classes, pixels


def read_with_labels(path: Path) -> None:
    shutil.copy(_SET, path.parent)
    read_set(path.parent / _SET.name, labels=path)


def read_numbered(path: Path) -> None:
    """Labels by number, for which a map beside them has the classes."""
    read_set(path.parent / "images", labels=path.parent / "numbers.txt")


def read_right_classes(path: Path) -> None:
    from hardy.images import open_images
    from hardy.images.shift_folders import open_relabelled
    from hardy.suites import load

    open_relabelled(open_images(path.parent / "images"), path, load("imagenet_real")).describe()


def read_built(path: Path) -> None:
    import hardy
    from hardy.progress import untracked
    from hardy.variants.stored import open_stored

    hardy.verify(path.parent, track=untracked)
    stored = open_stored(path.parent)
    for cell in stored.cells:
        stored.chunk([0]).make(cell)


def read_built_header(path: Path) -> Any:
    from hardy.variants.disk.build_header import read_header

    header = read_header(path.parent)
    read_built(path)
    return header


def read_built_array(path: Path) -> None:
    from hardy.suites import load
    from hardy.variants.stored import open_stored

    for other in (path.parent / "manifest.json", path.parent / "manifest.jsonl"):
        other.unlink(missing_ok=True)
    stored = open_stored(path.parent, load("cifar10_c"))
    for cell in stored.cells:
        stored.chunk([0]).make(cell)


def read_clip(path: Path) -> None:
    from hardy.variants.disk.encode import read_video

    read_video(path)


def read_mirrored(path: Path) -> None:
    from hardy.variants.mirror_manifest import MirrorManifest

    found = MirrorManifest(path.parent)
    str(found.celled)
    for line in ({"source": "0.png", "output": "contrast/1/0.png"}, {"output": "0.png"}):
        found.lists(line)
        found.twins([line["output"]])
    found.check_alike((), celled=True, keep_format=False, edition="cifar")
    found.forget(["contrast/1/0.png"])
