"""Compares a folder that `hardy corrupt` wrote with its lines: what is missing, altered, extra."""

import os
from pathlib import Path

from hardy.errors import InputError
from hardy.images.image_files import walk
from hardy.inside import inner_path
from hardy.progress import Track
from hardy.variants.build_check import BuildCheck
from hardy.variants.file_lines import file_hash
from hardy.variants.mirror_manifest import MirrorManifest


def check_mirror(folder: Path, track: Track) -> BuildCheck:
    """Read every file that a line names. One that cannot be read is altered."""
    manifest = MirrorManifest(folder)
    lines = manifest.lines
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
    return BuildCheck(
        len(lines) - len(missing),
        0,
        missing,
        altered,
        sorted(extra),  # images: annotations may lie beside them
        made_by="hardy corrupt",
        unfinished=manifest.is_unfinished,
        spoilt=tuple(altered),
    )


def _is_as_listed(path: Path, wanted: object) -> bool:
    try:
        return file_hash(path) == wanted
    except InputError:
        return False
