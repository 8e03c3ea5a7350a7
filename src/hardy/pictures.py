"""Pictures to look at: every corruption at every severity on one sheet; a sequence as a clip."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, overload

import numpy as np

from hardy.corrupt import CORRUPTIONS
from hardy.corrupt.calls import corrupt, corruptions
from hardy.engine.door import UInt8, enter
from hardy.errors import InputError
from hardy.images.display import check_clip, contact_sheet, frame_sheet, sheet_html, write_clip
from hardy.images.icons50.icon_parts import is_icon_set
from hardy.images.icons50.icon_sheet import sheet_of_icons
from hardy.images.image_files import check_output, read_image, write_image
from hardy.images.recipes import eight_sevenths
from hardy.places import is_folder, on_disk
from hardy.progress import Track, untracked, watch
from hardy.suites import SEVERITIES, editions, load
from hardy.variants.base_picture import Frames, perturb

if TYPE_CHECKING:
    from PIL.Image import Image

PathName = str | os.PathLike[str]
Photo: TypeAlias = "PathName | Image | UInt8"


@dataclass(frozen=True, eq=False, repr=False)
class PhotoSheet:
    """Pictures in a table: a notebook shows it, `write` makes an image file of it."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[UInt8]]]

    def write(self, output: PathName) -> Path:
        target = on_disk(output)
        write_image(target, contact_sheet(self.columns, self.rows))
        return target

    def __repr__(self) -> str:
        return f"PhotoSheet({len(self.rows)} rows of {len(self.columns)} pictures)"

    def _repr_html_(self) -> str:
        return sheet_html(self.columns, self.rows)


@overload
def show(
    photo: str | os.PathLike[str] | Image | UInt8,
    output: None = None,
    *,
    size: int = 224,
    sequence: str | None = None,
    level: int = 1,
    html: bool = False,
    track: Track = watch,
) -> PhotoSheet: ...
@overload
def show(
    photo: str | os.PathLike[str] | Image | UInt8,
    output: str | os.PathLike[str],
    *,
    size: int = 224,
    sequence: str | None = None,
    level: int = 1,
    html: bool = False,
    track: Track = watch,
) -> Path: ...
def show(
    photo: str | os.PathLike[str] | Image | UInt8,
    output: str | os.PathLike[str] | None = None,
    *,
    size: int = 224,
    sequence: str | None = None,
    level: int = 1,
    html: bool = False,
    track: Track = watch,
) -> PhotoSheet | Path:
    """Show a photograph, a file or an image: a row per corruption, a column per severity.

    A notebook displays what is returned, and its `write` makes a file of it; or name the `output`.
    With a `sequence`, such as "tilt", it shows the frames of that perturbation instead: as output
    a .gif or .mp4 moves, any other image file is a sheet of all frames. `html` writes a page to
    browse, with all corruptions and sequences. Of "icons50", or a folder of icons, it shows an icon
    of each class and vendor: keep that to yourself where the drawings are not free.

    ```python
    import hardy
    import numpy as np

    photo = np.full((64, 64, 3), 128, np.uint8)
    sheet = hardy.show(photo, size=32)
    print(sheet, sheet.write("sheet.png"))
    hardy.show("sheet.png", "tilt.gif", sequence="tilt", size=32)
    ```
    """
    if isinstance(photo, str | os.PathLike) and _are_icons(photo):
        if html or sequence:
            raise InputError(f"expected no `html` or `sequence` with icons, got {photo}")
        if output is not None:
            check_output(on_disk(output), None)
        icons = PhotoSheet(*sheet_of_icons(str(photo), size))
        return icons if output is None else icons.write(output)
    if output is None:
        if html:
            raise InputError("expected `output`, the file of the page, with `html`, got none")
        if sequence:
            return PhotoSheet(*frame_sheet(_frames(photo, sequence, level, size)))
        return _sheet(_pixels(photo), _id(photo), size, track)
    target = on_disk(output)
    if html:
        from hardy.report.write import write_gallery

        if not isinstance(photo, str | os.PathLike):
            raise InputError(
                f"expected `photo` as a file with `html`, got {type(photo).__name__}; save it first"
            )
        return write_gallery(on_disk(photo), target, side=size, track=track)
    if sequence:
        return write_sequence(photo, target, sequence, level=level, side=size)
    return write_sheet(photo, target, side=size, track=track)


def write_sheet(photo: Photo, target: Path, *, side: int = 224, track: Track = untracked) -> Path:
    pixels = _pixels(photo)
    check_output(target, _file(photo))
    return _sheet(pixels, _id(photo), side, track).write(target)


def write_sequence(
    photo: Photo, target: Path, name: str, *, level: int = 1, side: int = 224
) -> Path:
    frames = _frames(photo, name, level, side)
    check_clip(target, _file(photo))
    write_clip(target, frames)
    return target


def _sheet(pixels: UInt8, id: str | int, side: int, track: Track) -> PhotoSheet:
    names, clean = _names(), eight_sevenths(side).prepare(pixels)
    rows = [
        (name, [clean, *(corrupt(clean, name, s, ids=[id]) for s in SEVERITIES)])
        for name in track(names, len(names), "corruptions")
    ]
    return PhotoSheet(["clean", *(f"severity {s}" for s in SEVERITIES)], rows)


def _names() -> list[str]:
    """The corruptions of ImageNet-C, then plug-ins."""
    own = load("imagenet_c").corruptions
    usable = [name for name, _ in CORRUPTIONS.usable(corruptions()) if not CORRUPTIONS.fault(name)]
    return [name for name in usable if name in own or not editions(name)]


def _frames(photo: Photo, name: str, level: int, side: int) -> Frames:
    recipe = eight_sevenths(side)
    return perturb(_pixels(photo), name, level=level, id=_id(photo), recipe=recipe)


def _are_icons(photo: PathName) -> bool:
    """Whether it names a set of icons, or a folder, which no photograph is."""
    return is_icon_set(str(photo)) or is_folder(photo)


def _pixels(photo: Photo) -> UInt8:
    if isinstance(photo, str | os.PathLike):
        return read_image(on_disk(photo))
    batch, _ = enter(photo)
    if len(batch) != 1:
        raise InputError(f"expected one photograph, got a batch of {len(batch)}; take one of them")
    return np.asarray(batch[0] if isinstance(batch, np.ndarray) else batch[0].cpu())


def _file(photo: Photo) -> Path | None:
    return on_disk(photo) if isinstance(photo, str | os.PathLike) else None


def _id(photo: Photo) -> str | int:
    """What draws hang on: the name of a file, and of an image that has none, its place."""
    file = _file(photo)
    return 0 if file is None else file.stem
