"""Corrupt image files: one, or a folder whose tree is mirrored.

The id of an image is its file stem when it comes alone, and its path below the folder without the
suffix when it comes with others: `a/b/cat.jpg` has the id "a/b/cat". So a file that is alone and
one at the top of a folder agree.
"""

import os
from pathlib import Path
from typing import NamedTuple

from hardy.corrupt.calls import corrupt, draw
from hardy.errors import InputError
from hardy.files import check_apart
from hardy.images.image_files import check_output, read_image, walk, write_image
from hardy.progress import Track, untracked


class Mirrored(NamedTuple):
    written: Path  # the file, or the folder
    done: int
    bad: list[str]  # why, one line for each file that could not be used
    others: int  # files that do not call themselves images


def corrupt_files(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    name: str,
    severity: int,
    *,
    seed: int = 0,
    edition: str = "auto",
    track: Track = untracked,
) -> Mirrored:
    """Corrupt an image file, or every image file below a folder, into `target`.

    A file goes to a file or into an existing folder; its suffix picks the format. A folder is
    mirrored as PNG, so that the files hold exactly the corruption and no second compression. Files
    of a folder that cannot be used are left out and listed in `bad`.

    ```python
    import hardy
    import numpy as np
    from PIL import Image

    Image.fromarray(np.full((64, 64, 3), 128, np.uint8)).save("cat.png")
    print(hardy.corrupt_files("cat.png", "foggy.png", "fog", 3).written)
    ```
    """
    given, wanted = Path(source), Path(target)
    if os.path.isdir(given):
        return _corrupt_folder(given, wanted, name, severity, seed, edition, track)
    if os.path.isdir(wanted):
        wanted = wanted / f"{given.stem}.png"
    clean = read_image(given)
    check_output(wanted, given)
    made = corrupt(clean, name, severity, seed=seed, ids=given.stem, edition=edition)
    write_image(wanted, made)
    return Mirrored(wanted, 1, [], 0)


def _corrupt_folder(
    source: Path, target: Path, name: str, severity: int, seed: int, edition: str, track: Track
) -> Mirrored:
    images, others, bad = _plan(source, target)
    # A mistake in the name, the severity or the edition is wrong for all images: said at once.
    draw(name, severity, (64, 64), seed=seed, edition=edition)
    inside = target.resolve()
    done = 0
    for path in track(images, len(images), "images"):
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
    return Mirrored(target, done, bad, others)


def _plan(source: Path, target: Path) -> tuple[list[Path], int, list[str]]:
    if os.path.lexists(target) and not os.path.isdir(target):
        raise InputError(
            f"{source} is a folder and {target} is a file; name a folder for the output"
        )
    check_apart(source, target)
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
