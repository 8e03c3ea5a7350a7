"""Corrupt image files: one, or a folder whose tree is mirrored, under one corruption or several.

The id of an image is its file stem when it comes alone, and its path below the folder without the
suffix when it comes with others: `a/b/cat.jpg` has the id "a/b/cat". So a file that is alone and
one at the top of a folder agree. Where two differ by the suffix alone, it belongs to both ids.
"""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hardy.corrupt.calls import corrupt, draw
from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.files import check_apart, remove_unfinished, write_file
from hardy.images.image_files import (
    WRITERS,
    check_output,
    encode_image,
    read_image,
    read_oriented,
    walk,
)
from hardy.inside import refuse_links
from hardy.places import on_disk
from hardy.progress import Track, watch
from hardy.suites.cells import Cell
from hardy.variants.annotations import moving, part_masks, refuse_moved_objects
from hardy.variants.cell_words import typed_cells
from hardy.variants.disk.encode import png
from hardy.variants.file_lines import Work, file_hash, held
from hardy.variants.mirror_manifest import LOCK, MirrorManifest


class Mirrored(NamedTuple):
    written: Path  # the file, or the folder
    done: int  # images written
    bad: list[str]  # why, one line for each file that could not be used
    others: int  # files that do not call themselves images
    kept: int  # images that the same work had written before
    masks: tuple[str, ...] = ()  # folders that were passed over, since annotations are in them
    moved: tuple[str, ...] = ()  # the corruptions under which boxes and masks fit only nearly


def corrupt_files(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    name: str | Sequence[str],
    severity: int | None = None,
    *,
    seed: int = 0,
    edition: str = "auto",
    keep_format: bool = False,
    overwrite: bool = False,
    geometry: bool = False,
    track: Track = watch,
) -> Mirrored:
    """Corrupt an image file, or every image file below a folder, into `target`.

    `name` is a corruption, "counted" for the fifteen of ImageNet-C's score, "validation" for its
    other four, "all" for the nineteen, or several of these, in a list or in one text. Without
    `severity` each says its own: "fog:3", "fog:1-5", "fog:1,3"; a name alone means all five.
    Several corruptions or severities go to a folder each, `target/fog/3`, and so does one that is
    added to them. A folder holds one format and one edition; another is an error.

    A file goes to a file or into an existing folder; its suffix picks the format. A folder is
    mirrored as PNG, so that the files hold exactly the corruption and no second compression;
    `keep_format` keeps names and formats instead, JPEG with quality 85. Files of a folder that
    cannot be used are left out and listed in `bad`.

    The annotations of a folder stay as they are: other files are not copied, and folders of masks,
    such as "gtFine", are passed over and listed in `masks`. Boxes and masks fit the corrupted
    images too, but for the corruptions that are listed in `moved`, where they fit nearly. Those
    that move objects away are refused without `geometry`.

    `target/corrupted.jsonl` says of each file what was done, with hashes. By it the same call
    resumes, and keeps what is there. Any other file in the way is refused without `overwrite`.

    ```python
    import hardy
    import numpy as np
    from PIL import Image

    Image.fromarray(np.full((64, 64, 3), 128, np.uint8)).save("cat.png")
    print(hardy.corrupt_files("cat.png", "foggy.png", "fog", 3).written)
    print(hardy.corrupt_files("cat.png", "cats", "fog:1-5 snow:3").done)
    ```
    """
    given, wanted = on_disk(source), on_disk(target)
    cells = typed_cells(name, severity)
    # A mistake in the name, the severity or the edition is wrong for all images: said at once.
    for cell in cells:
        draw(*cell, (64, 64), seed=seed, edition=edition)
    job = _Job(given, wanted, cells, seed, edition, keep_format, overwrite)
    if os.path.isdir(given):
        if not geometry:
            refuse_moved_objects(cells)
        images, others, bad = _plan(given, wanted)
        images, masks, folders = part_masks(given, images)
        job = job._replace(twins=_twins(given, images))
        with held(wanted, LOCK):
            made = _mirror(job, images, others + masks, bad, track)
        return made._replace(masks=folders, moved=moving(cells, "pixels"))
    if len(cells) == 1 and not (os.path.isdir(wanted) and MirrorManifest(wanted).celled):
        return _corrupt_file(job)
    read_image(given)
    if wanted.suffix.lower() in WRITERS or os.path.isfile(wanted):
        raise InputError(
            f"expected a folder for {len(cells)} images, got the file name {wanted}; name a folder"
        )
    with held(wanted, LOCK):
        return _mirror(job._replace(source=given.parent), [Path(given.name)], 0, [], track)


class _Job(NamedTuple):
    source: Path
    target: Path
    cells: list[Cell]
    seed: int
    edition: str
    keep_format: bool
    overwrite: bool
    celled: bool = False  # whether each corruption and severity has a folder of its own
    twins: frozenset[Path] = frozenset()  # images that differ from another by their suffix alone

    def id(self, path: Path) -> str:
        return (path if path in self.twins else path.with_suffix("")).as_posix()

    def output(self, path: Path, cell: Cell) -> str:
        name = path.as_posix() if self.keep_format else f"{self.id(path)}.png"
        folder = Path(cell.name, str(cell.level)) if self.celled else Path()
        return (folder / name).as_posix()

    def work(self, path: Path, cell: Cell, source_hash: str) -> Work:
        return {
            "source": path.as_posix(),
            "source_sha256": source_hash,
            "corruption": cell.name,
            "severity": int(cell.level),
            "seed": int(self.seed),
            "edition": self.edition,
            "output": self.output(path, cell),
            # Its id is not the usual one, and so are the draws.
            **({"id": self.id(path)} if path in self.twins else {}),
        }

    def corrupt(self, clean: UInt8, id: str, cell: Cell) -> UInt8:
        made: UInt8 = corrupt(clean, *cell, seed=self.seed, ids=id, edition=self.edition)
        return made


def _corrupt_file(job: _Job) -> Mirrored:
    source, target = job.source, job.target
    if os.path.isdir(target):
        target = target / job.output(Path(source.name), job.cells[0])
    clean, orientation = read_oriented(source)
    check_output(target, source)
    content = encode_image(target, job.corrupt(clean, source.stem, job.cells[0]), orientation)
    if os.path.lexists(target):
        if os.path.isfile(target) and target.read_bytes() == content:
            return Mirrored(target, 0, [], 0, 1)
        if not job.overwrite:
            raise _in_the_way(target)
    write_file(target, content, wait=False)
    return Mirrored(target, 1, [], 0, 0)


def _mirror(job: _Job, images: list[Path], others: int, bad: list[str], track: Track) -> Mirrored:
    if job.keep_format:
        unwritten = [path for path in images if path.suffix.lower() not in WRITERS]
        bad += [
            f"{job.source / path}: Hardy reads this format, but cannot write it"
            for path in unwritten
        ]
        images = [path for path in images if path not in unwritten]
    manifest = MirrorManifest(job.target)
    job = job._replace(celled=len(job.cells) > 1 or manifest.celled)
    kept, made = _divide(job, images, manifest, bad, track)
    manifest.forget(made)
    _sweep(job.target, made)
    if made:
        manifest.begin()
    done = 0
    for path in track(images, len(images), "images"):
        todo = [cell for cell in job.cells if job.output(path, cell) in made]
        if not todo:
            continue
        try:
            clean, orientation = read_oriented(job.source / path)
            source_hash = file_hash(job.source / path)
        except InputError as error:
            bad.append(str(error))
            continue
        for cell in todo:
            output = job.target / job.output(path, cell)
            refuse_links(str(job.target), [job.output(path, cell)])
            try:
                pixels = job.corrupt(clean, job.id(path), cell)
            except InputError as error:
                bad.append(f"{job.source / path}: {error}")
                continue
            content = _encoded(output, pixels, orientation)
            manifest.add(job.work(path, cell, source_hash), content)
            write_file(output, content, wait=False)  # there may be thousands
            done += 1
    manifest.end()
    return Mirrored(job.target, done, list(dict.fromkeys(bad)), others, len(kept))


def _encoded(output: Path, pixels: UInt8, orientation: int) -> bytes:
    if output.suffix.lower() == ".png" and orientation == 1:
        return png(pixels)  # Pillow takes seven times as long, and far longer than the corruption
    return encode_image(output, pixels, orientation)


def _divide(
    job: _Job, images: list[Path], manifest: MirrorManifest, bad: list[str], track: Track
) -> tuple[set[str], set[str]]:
    """The outputs that are there by the same work, and those to make; others there are refused, and
    so are images in another layout, format or edition."""
    made = {job.output(path, cell) for path in images for cell in job.cells}
    refuse_links(str(job.target), made)
    manifest.check_alike(made, celled=job.celled, keep_format=job.keep_format, edition=job.edition)
    there = {
        path: found
        for path in images
        if (found := [c for c in job.cells if os.path.lexists(job.target / job.output(path, c))])
    }
    kept, strange = set[str](), list[str]()
    for path in track(there, len(there), "images compared") if there else ():
        try:
            source_hash = file_hash(job.source / path)
        except InputError as error:
            bad.append(str(error))
            made -= {job.output(path, cell) for cell in job.cells}
            continue
        for cell in there[path]:
            work = job.work(path, cell, source_hash)
            (kept.add if manifest.lists(work) else strange.append)(work["output"])
    twins = sorted(manifest.twins(made))
    if (strange or twins) and not job.overwrite:
        first, *others = (*strange, *twins)
        raise _in_the_way(job.target / first, len(others))
    refuse_links(str(job.target), twins)
    manifest.forget(twins)
    for twin in twins:
        (job.target / twin).unlink()
    return kept, made - kept


def _sweep(target: Path, made: set[str]) -> None:
    """Remove what a killed process left unfinished where this one will write."""
    for folder in {target, *((target / output).parent for output in made)}:
        remove_unfinished(folder)


def _in_the_way(path: Path, others: int = 0) -> InputError:
    more = f", and {others:,} more are," if others else ""
    return InputError(
        f"{path} is there already{more} with something else than this would write; "
        "name another output, or replace what is there by `overwrite=True`"
    )


def _plan(source: Path, target: Path) -> tuple[list[Path], int, list[str]]:
    if os.path.lexists(target) and not os.path.isdir(target):
        raise InputError(
            f"{source} is a folder and {target} is a file; name a folder for the output"
        )
    check_apart(source, target)
    images, others, closed = walk(source)
    if not images:
        raise InputError(f"there are no image files in {source}")
    return images, others, closed


def _twins(source: Path, images: Sequence[Path]) -> frozenset[Path]:
    alike = Counter(path.with_suffix("") for path in images)
    twins = frozenset(path for path in images if alike[path.with_suffix("")] > 1)
    for path in twins & {image.with_suffix("") for image in images}:
        raise InputError(
            f"{source / path} and a file of that name with a further suffix would have the same "
            "id; rename one of them"
        )
    return twins
