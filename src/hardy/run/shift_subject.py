"""`open_shift` opens a natural shift as a user names it: its files, and clean images beside it."""

import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from hardy.documents import read_document
from hardy.errors import InputError
from hardy.images.icons50.icon_parts import HeldOut, complete, open_parts
from hardy.images.labels import Classes, classes_of, imagenet_classes
from hardy.images.readers import check_label_file
from hardy.images.shift_folders import (
    Right,
    ShiftedImages,
    class_numbers_of,
    open_relabelled,
    open_shifted,
)
from hardy.images.source import Faults, Labels, Source, part_of
from hardy.images.subtypes import beside_part, count_subtypes, unseen_part
from hardy.images.training_parts import held_out_of
from hardy.limits import LISTING
from hardy.suites.shift import OUTLIERS, SYNSETS
from hardy.suites.suite import Suite
from hardy.variants.shifted import Shifted


def open_shift(
    suite: Suite, source: Source | None, files: Path | None, labels: Any, faults: Faults
) -> tuple[Shifted, Classes]:
    """A suite's images out of `files`, and those of `source` that are clean ones of its classes.
    ReaL has its labels in a file, and the source's images alone."""
    assert suite.shift is not None
    kept = class_numbers_of(suite.shift.kept)
    made = ["official files", suite.shift.restriction(suite.classes)]
    parts: list[ShiftedImages] = []
    if suite.shift.layout == "labels":
        if source is None or files is not None or not isinstance(labels, str | os.PathLike):
            raise InputError(
                f"expected ImageNet's validation images as `images` for {suite.name}, and the "
                f"file {suite.shift.folder} as `labels`, without `files`"
            )
        path = check_label_file(labels)
        parts.append(open_relabelled(source, path, suite))
        made.append(f"{path.name} {sha256(read_document(path, LISTING)).hexdigest()[:8]}")
    else:
        if files is None:
            raise InputError(
                f"expected the folder of {suite.title} as `files`, got none; its images are no "
                "corruptions that could be made"
            )
        parts.append(open_shifted(files, suite, faults))
        if source is not None:
            parts.append(_clean_ones(source, suite, kept))
        elif suite.kind == OUTLIERS:
            raise InputError(
                f"expected ImageNet's validation images as `images` beside the files of "
                f"{suite.name}: its score tells outliers from them"
            )
    if suite.kind == OUTLIERS:
        parts[0] = _without_right(parts[0])
    variants = Shifted(suite, tuple(parts), ", ".join(filter(None, made)), kept)
    names = imagenet_classes()
    return variants, Classes(variants.labels.astype(np.int32), names, suite.classes)


def open_held_out(
    suite: Suite, files: Path | None, words: tuple[str, ...], faults: Faults
) -> tuple[Shifted, Classes]:
    """The test part of icons, and beside it held-out icons of what a net of the training part has
    seen. `words` take the place of the suite's."""
    assert suite.shift is not None
    assert suite.shift.protocol is not None
    if files is None:
        raise InputError(
            f"expected icons50 as `files` for {suite.name}, which `hardy fetch icons50` brings, or "
            "the folder of Icons-50, got none"
        )
    held_out = complete(HeldOut(suite.shift.protocol, words))
    source, rows, title = open_parts(files, held_out, faults)
    parts = [_icons(source, some, title) for some in (rows.test, rows.beside) if len(some)]
    usual = held_out == complete(HeldOut(suite.shift.protocol)) and len(held_out.words) > 1
    made = f"{title}, held out: {held_out.protocol if usual else held_out}"
    variants = Shifted(suite, tuple(parts), made, (), held_out=held_out_of(held_out, title))
    return variants, Classes(variants.labels.astype(np.int32), source.classes, suite.classes)


def open_types(
    suite: Suite, files: Path | None, seen: Source | None, faults: Faults
) -> tuple[Shifted, Classes]:
    """Images of unseen subtypes, and beside them those of seen ones that no net was shown: of
    ImageNet they are brought, other data sets have a test part."""
    assert suite.shift is not None
    assert suite.shift.types is not None
    if files is None:
        raise InputError(
            f"expected {suite.shift.folder} as `files` for {suite.name}, got none: the images of "
            "unseen subtypes"
        )
    source, unseen = unseen_part(files, suite, faults)
    parts = [unseen]
    if seen is not None or suite.shift.layout != SYNSETS:
        parts.append(beside_part(seen or source, suite))
    told = ["official files", count_subtypes(unseen, suite)]
    made = ", ".join(filter(None, told))
    variants = Shifted(suite, tuple(parts), made, (), held_out=suite.name)
    names = tuple(suite.shift.types)
    return variants, Classes(variants.labels.astype(np.int32), names, suite.classes)


def _icons(source: Source, rows: Labels, title: str) -> ShiftedImages:
    part = part_of(source, rows)
    assert part.labels is not None
    right: list[Right] = [(int(label),) for label in part.labels]
    about = (part.labels, source.classes, source, rows, right)
    return ShiftedImages("out of", f"{title} ({source.describe()})", part.files, part.ids, *about)


def _clean_ones(source: Source, suite: Suite, kept: Right) -> ShiftedImages:
    """Those of the source that have one of the classes that count."""
    known = classes_of(suite, source.labels, source.classes, len(source)).labels
    rows = np.flatnonzero(np.isin(known, kept)) if kept else np.arange(len(source))
    if not len(rows):
        raise InputError(
            f"expected clean images of the {len(kept)} classes of {suite.title}, got none in "
            f"{source.describe()}"
        )
    part = part_of(source, rows)
    right: list[Right] = [(int(label),) for label in known[rows]]
    about = (known[rows].astype(np.int64), imagenet_classes(), source, rows, right)
    return ShiftedImages("out of", source.describe(), part.files, part.ids, *about)


def _without_right(images: ShiftedImages) -> ShiftedImages:
    return replace(images, right=[()] * len(images))
