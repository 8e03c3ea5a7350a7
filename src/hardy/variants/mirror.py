"""Corrupt image files: one, or a folder whose tree is mirrored.

The id of an image is its file stem when it comes alone, and its path below the folder without the
suffix when it comes with others: `a/b/cat.jpg` has the id "a/b/cat". So a file that is alone and
one at the top of a folder agree.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from hardy.corrupt.calls import corrupt, draw
from hardy.errors import InputError
from hardy.images.image_files import (
    check_output,
    read_image,
    walk,
    write_image,
)

# Wraps the files of a folder to show progress.
Track = Callable[[list[Path]], Iterable[Path]]


class Outcome(NamedTuple):
    done: int
    bad: list[str]  # why, one line for each file that could not be used
    others: int  # files that do not call themselves images


def corrupt_file(
    source: Path, target: Path, name: str, severity: int, *, seed: int = 0, edition: str = "auto"
) -> Path:
    """Write the corrupted image to `target`, or by its stem into that folder; returns the path."""
    if os.path.isdir(target):
        target = target / f"{source.stem}.png"
    clean = read_image(source)
    check_output(target, source)
    write_image(target, corrupt(clean, name, severity, seed=seed, ids=source.stem, edition=edition))
    return target


def corrupt_folder(
    source: Path,
    target: Path,
    name: str,
    severity: int,
    *,
    seed: int = 0,
    edition: str = "auto",
    track: Track = iter,
) -> Outcome:
    """Write each image below `source` as PNG to the same place below `target`.

    PNG, so that the files hold exactly the corruption and no second compression. Files that cannot
    be used are left out and reported; whatever else goes wrong stops the run.
    """
    images, others, bad = _plan(source, target)
    draw(name, severity, (64, 64), seed=seed, edition=edition)  # what is wrong for all, at once
    inside = target.resolve()
    done = 0
    for path in track(images):
        output = target / path.with_suffix(".png")
        if not output.parent.resolve().is_relative_to(inside):
            raise InputError(
                f"{output.parent} is a link that leads out of {target}; remove it first"
            )
        key = path.with_suffix("").as_posix()
        try:
            clean = read_image(source / path)
            made = corrupt(clean, name, severity, seed=seed, ids=key, edition=edition)
        except InputError as error:
            reason = str(error)
            bad.append(reason if str(path) in reason else f"{source / path}: {reason}")
            continue
        write_image(output, made)
        done += 1
    return Outcome(done, bad, others)


def _plan(source: Path, target: Path) -> tuple[list[Path], int, list[str]]:
    if os.path.lexists(target) and not os.path.isdir(target):
        raise InputError(
            f"{source} is a folder and {target} is a file; name a folder for the output"
        )
    inner, outer = source.resolve(), target.resolve()
    if inner.is_relative_to(outer) or outer.is_relative_to(inner):
        raise InputError(
            f"{source} and {target} lie one within the other; name an output folder elsewhere"
        )
    images, others, closed = walk(source)
    if not images:
        raise InputError(f"there are no image files in {source}")
    first: dict[Path, Path] = {}
    for path in images:
        if (twin := first.setdefault(path.with_suffix(""), path)) != path:
            raise InputError(
                f"{source / twin} and {source / path} have the same id, because an id leaves "
                "the suffix out; rename one of them"
            )
    return images, others, closed
