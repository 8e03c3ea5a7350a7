"""Compares a folder that `hardy corrupt` wrote with its lines: what is missing, altered, extra."""

import os
from pathlib import Path
from typing import NamedTuple

from hardy.errors import InputError
from hardy.images.image_files import walk
from hardy.inside import inner_path
from hardy.progress import Track
from hardy.variants.file_lines import file_hash
from hardy.variants.mirror_manifest import LOCK, MirrorManifest


class MirrorCheck(NamedTuple):
    checked: int  # files that were there
    missing: list[str]
    altered: list[str]
    extra: list[str]  # images: annotations may lie beside them
    unfinished: bool  # a process was killed in it, or is at work


def check_mirror(folder: Path, track: Track) -> MirrorCheck:
    """Read every file that a line names. One that cannot be read is altered."""
    lines = MirrorManifest(folder).lines
    missing: list[str] = []
    altered: list[str] = []
    for name in track(sorted(lines), len(lines), "files"):
        path = inner_path(folder, name)
        if not os.path.exists(path):  # unlike Path's, for any name
            missing.append(name)
        elif not _is_as_listed(path, lines[name].get("sha256")):
            altered.append(name)
    images, _, _ = walk(folder)
    extra = {image.as_posix() for image in images} - lines.keys()
    checked = len(lines) - len(missing)
    return MirrorCheck(checked, missing, altered, sorted(extra), (folder / LOCK).exists())


def _is_as_listed(path: Path, wanted: object) -> bool:
    try:
        return file_hash(path) == wanted
    except InputError:
        return False
