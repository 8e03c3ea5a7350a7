"""Pictures to look at: every corruption at every severity on one sheet; a sequence as a clip."""

import os
from pathlib import Path

from hardy.corrupt.calls import corrupt, corruptions
from hardy.images.display import check_clip, contact_sheet, write_clip
from hardy.images.image_files import check_output, read_image, write_image
from hardy.images.recipes import eight_sevenths
from hardy.places import on_disk
from hardy.progress import Track, untracked, watch
from hardy.suites import SEVERITIES, editions, load
from hardy.variants.base_picture import perturb


def show(
    photo: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    size: int = 224,
    sequence: str | None = None,
    level: int = 1,
    html: bool = False,
    track: Track = watch,
) -> Path:
    """Write a contact sheet of a photograph: a row per corruption, a column per severity.

    With a `sequence`, such as "tilt", it shows the frames of that perturbation instead: a .gif or
    .mp4 moves, any other image file is a sheet of all frames. `html` writes a page to browse, with
    all corruptions and sequences.

    ```python
    import hardy
    import numpy as np
    from PIL import Image

    Image.fromarray(np.full((64, 64, 3), 128, np.uint8)).save("photo.png")
    hardy.show("photo.png", "tilt.gif", sequence="tilt", size=32)
    ```
    """
    source, target = on_disk(photo), on_disk(output)
    if html:
        from hardy.report.write import write_gallery

        return write_gallery(source, target, side=size, track=track)
    if sequence:
        return write_sequence(source, target, sequence, level=level, side=size)
    return write_sheet(source, target, side=size, track=track)


def write_sheet(photo: Path, target: Path, *, side: int = 224, track: Track = untracked) -> Path:
    names = _names()
    clean = read_image(photo, eight_sevenths(side).prepare)
    check_output(target, photo)
    rows = [
        (name, [clean, *(corrupt(clean, name, s, ids=photo.stem) for s in SEVERITIES)])
        for name in track(names, len(names), "corruptions")
    ]
    write_image(target, contact_sheet(["clean", *(f"severity {s}" for s in SEVERITIES)], rows))
    return target


def _names() -> list[str]:
    """The corruptions of ImageNet-C, then plug-ins."""
    own = load("imagenet_c").corruptions
    return [name for name in corruptions() if name in own or not editions(name)]


def write_sequence(
    photo: Path, target: Path, name: str, *, level: int = 1, side: int = 224
) -> Path:
    picture = read_image(photo)
    frames = perturb(picture, name, level=level, id=photo.stem, recipe=eight_sevenths(side))
    check_clip(target, photo)
    write_clip(target, frames)
    return target
