"""`open_subject` opens what a user names: images, stored files, labels, cells and a subset."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.images import RECIPES, Source, open_images
from hardy.images.dataset_objects import is_dataset, source_of_dataset
from hardy.images.labels import Classes, classes_of
from hardy.images.numpy_files import source_of_array
from hardy.images.source import Fault, Faults
from hardy.metrics import stratified_subset
from hardy.places import is_folder, locate
from hardy.run.shift_subject import open_held_out, open_shift, open_types
from hardy.run.subject import Rows, Subject
from hardy.suites.cells import CLEAN, Cell, choose_cells
from hardy.suites.shift import SYNSETS
from hardy.suites.suite import Suite
from hardy.variants import Variants
from hardy.variants.generated import Generated, check_formulas
from hardy.variants.stored import Stored, open_stored, with_labels


class Dataset(Protocol):
    """A data set of torch's or Hugging Face's kind: of (image, label), or of such columns."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


Images = str | os.PathLike[str] | Source | npt.NDArray[np.uint8] | Dataset


def open_subject(
    suite: Suite,
    *,
    images: Images | None,
    files: Path | None = None,
    labels: str | os.PathLike[str] | npt.ArrayLike | None = None,
    only: Iterable[str] = ("counted",),
    severities: Iterable[int] | None = None,
    subset: int | None = None,
    images_per_class: int | None = None,
    seed: int = 0,
    own_classes: bool = False,
    classes: int | None = None,
    faults: Faults = None,
) -> Subject:
    """Open a suite's images: made from `images`, or ready-made from `files`, and `images` are then
    its clean ones, if they are named. If `only` is "clean", nothing is corrupted."""
    named = list(only)
    part = {"size": subset, "per_class": images_per_class}
    if suite.shift is not None and suite.shift.protocol is not None:
        if images is not None or labels is not None or own_classes or classes or seed:
            raise InputError(
                f"expected `files` alone for {suite.name}: they bring classes, and icons that are "
                "seen; leave `images`, `labels`, `own_classes`, `classes` and `seed` out"
            )
        words = () if named == ["counted"] else tuple(named)
        opened = open_held_out(suite, files, words, faults)
        return _chosen(*opened, choose_cells(suite, severities=severities), part)
    if suite.shift is not None and suite.shift.types is not None:
        if own_classes or classes or seed or (labels is not None and images is None):
            raise InputError(
                f"expected no `own_classes`, `classes` or `seed` for {suite.name}, and `labels` "
                "only of `images`: its classes are broad types, and nothing is drawn"
            )
        if images is not None and suite.shift.layout != SYNSETS:
            raise InputError(
                f"expected `files` alone for {suite.name}, whose test part has the seen subtypes "
                "too; leave `images` out"
            )
        cells = choose_cells(suite, named, severities)
        seen = None
        if images is not None:
            seen = _open_source(images, suite, "relative_path", labels, faults)
        return _chosen(*open_types(suite, files, seen, faults), cells, part)
    if suite.shift is not None:
        cells = choose_cells(suite, named, severities)
        if own_classes or classes or seed:
            raise InputError(
                f"expected no `own_classes`, `classes` or `seed` for {suite.name}: its images are "
                "of ImageNet's classes, and nothing is drawn"
            )
        relabelled = suite.shift.layout == "labels"
        told = None if relabelled else labels
        clean = None
        if images is not None:
            clean = _open_source(images, suite, "file_stem", told, faults)
        return _chosen(*open_shift(suite, clean, files, labels, faults), cells, part)
    just_clean = named == [CLEAN.name] and severities is None
    cells = () if just_clean else choose_cells(suite, named, severities)
    if files is not None and seed:
        raise InputError(f"expected no seed with files, which bring their own, got `seed={seed}`")
    if files is not None and images is not None and suite.kind == "perturbations":
        raise InputError(
            f"expected no `images` with the files of {suite.name}: its sequences need no clean "
            "images; leave them out"
        )
    stored = None if files is None else open_stored(files, suite)
    if stored is not None and labels is not None:
        if stored.labels is not None:
            raise InputError("expected no `labels` with files, which bring their own")
        stored, labels = with_labels(stored, labels, faults), None
    # A stem may be that of one image in each class; of stored ones the ids are decided.
    by_path = own_classes if stored is None else "/" in str(stored.ids[0])
    rule = suite.rule_of_ids(by_path=by_path)
    source = None if images is None else _open_source(images, suite, rule, labels, faults)
    variants: Variants
    if files is not None and stored is not None:
        variants = stored
        _check_stored(variants, cells, files)
        if stored.unbuilt and faults is not None:
            kind = "that could not be read when the files were built"
            reason = f"{files} lacks {stored.unbuilt:,} images {kind}"
            faults.append(Fault(reason, kind=kind, images=stored.unbuilt))
        if source is not None and suite.kind == "corruptions":
            _check_same_ids(variants, source)
            variants = replace(_labelled(variants, source), clean=Generated(suite, source))
    elif source is not None:
        check_formulas(suite, cells)
        variants = Generated(suite, source, seed)
    else:
        raise InputError(
            "expected images to evaluate on, got none; name them with `images`, or a folder that "
            "holds the whole suite with `files`"
        )
    with_clean = suite.kind == "corruptions" and source is not None
    if just_clean and not with_clean:
        raise InputError(
            "expected a suite of corruptions and its clean images, since these alone are asked for "
            f"(by an attack, or by `only={CLEAN.name}`), got {suite.name}"
            f"{' without `images`' if images is None else ''}; name one such as cifar10_c"
        )
    own: dict[str, Any] = {"own": own_classes, "classes": classes}
    known = classes_of(suite, variants.labels, variants.classes, len(variants), **own)
    return _chosen(variants, known, (CLEAN, *cells) if with_clean else cells, part)


def _chosen(
    variants: Variants, known: Classes, cells: tuple[Cell, ...], part: dict[str, int | None]
) -> Subject:
    """All images, or a fixed part of them."""
    chosen: Rows = np.arange(len(variants))
    how: dict[str, Any] | None = None
    if any(number is not None for number in part.values()):
        chosen = stratified_subset(known.labels, variants.ids, **part)
        how = {"of": len(variants), **part}
    of = Classes(known.labels[chosen], known.names, known.width)
    return Subject(variants, cells, chosen, of, how)


def _open_source(
    images: Images, suite: Suite, id_rule: str | None, labels: Any, faults: Faults
) -> Source:
    RECIPES[suite.recipe]  # one that nobody knows is refused before the images are listed
    if isinstance(images, str | os.PathLike):
        source = open_images(images, labels=labels, id_rule=id_rule, faults=faults)
    elif isinstance(images, np.ndarray):
        source = source_of_array(images, labels)
    elif all(hasattr(images, name) for name in ("ids", "labels", "read")):
        source = cast(Source, images)
    elif is_dataset(images):
        if labels is not None:
            raise InputError("expected no `labels` with a data set, which brings its own")
        source = source_of_dataset(images)
    else:
        raise InputError(
            "expected images as a path, an array uint8 (N, H, W, 3), a data set of (image, label) "
            f"with a length, or a source of hardy.images.open_images, got {type(images).__name__}"
        )
    if not len(source):
        raise InputError(f"expected images to evaluate on, got none: {source.describe()}")
    return source


def _check_stored(stored: Stored, cells: tuple[Cell, ...], files: Path) -> None:
    if absent := [str(cell) for cell in cells if cell not in stored.cells]:
        raise InputError(
            f"{files} lacks {len(absent)} of the cells asked for ({', '.join(absent[:3])}"
            f"{', …' if len(absent) > 3 else ''}); name with `only` and `severities` what is there"
        )


def _labelled(stored: Stored, source: Source) -> Stored:
    """Stored images with the labels of their clean ones, where they have none themselves."""
    if stored.labels is not None or source.labels is None:
        return stored
    place = {id: number for number, id in enumerate(source.ids)}
    rows = [place[id] for id in stored.ids]
    return replace(stored, labels=source.labels[rows], classes=source.classes)


def _check_same_ids(stored: Stored, source: Source) -> None:
    there = set(source.ids)
    if absent := [id for id in stored.ids if id not in there]:
        raise InputError(
            f"expected the clean images of all {len(stored):,} stored ones, got none for "
            f"{len(absent):,}, such as {absent[0]!r}; name the images the files were made from, or "
            "leave `images` out, and with it the scores that need clean images"
        )


def refuse_store_among(images: Any, store: Path) -> None:
    """Refuse a store among the images: it would be one more folder of images the next time."""
    folder = isinstance(images, str | os.PathLike) and is_folder(images)
    if folder and store.resolve().is_relative_to(locate(images).resolve()):
        raise InputError(f"the store {store} lies in the images' folder; name one elsewhere")
