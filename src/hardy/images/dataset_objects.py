"""Data sets given in Python: torch's, whose items are (image, label), Hugging Face's, whose items
are rows with these columns, and those of the MAITE protocols. No library is imported: they are
known by what they can do.

An item is asked for whenever its pixels are, so that random transforms have no place in the data
set; nor has a normalisation, which is the model's part.
"""

import operator
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hardy.engine.door import UInt8, is_pil
from hardy.engine.maite_door import follows_maite
from hardy.engine.ops import is_tensor
from hardy.errors import HardyError, InputError, door
from hardy.images.image_files import Convert, Picture, rgb
from hardy.images.maite_datasets import MaitePairs, check_ids
from hardy.images.numpy_files import numbered
from hardy.images.source import Labels, Listing

IMAGE_COLUMNS, LABEL_COLUMNS = ("image", "img"), ("label", "labels", "fine_label")


@dataclass(frozen=True)
class DatasetSource(Listing):
    dataset: Any
    # Data sets are made for processes; threads would share what they have open.
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        place = range(len(self))[index]
        with self._lock:
            image, label = _item(self.dataset, place)
        if self.labels is not None and label != self.labels[place]:
            raise InputError(
                f"item {place} of {self.where} has the label {label}, and had "
                f"{self.labels[place]} when it was listed; give a data set that does not change"
            )
        return convert(_picture(image, f"item {place} of {self.where}"))

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes get it without the lock."""
        kept = (self.kind, self.where, self.files, self.ids, self.labels, self.classes)
        return type(self), (*kept, self.dataset)


def is_dataset(thing: object) -> bool:
    return hasattr(thing, "__len__") and hasattr(thing, "__getitem__")


def source_of_dataset(dataset: Any) -> DatasetSource:
    """The id of an image is its place, as in an array."""
    if follows_maite(dataset):
        return _source_of_maite(dataset)
    where = type(dataset).__name__
    with door(f"the length of {where}", "the data set raised it"):
        count = len(dataset)
    if isinstance(dataset, Mapping):
        raise InputError(
            f"expected one data set, got a {where} of {', '.join(map(str, dataset)) or 'none'}; "
            'name one of them, such as images["test"]'
        )
    labels, classes = None, None
    if count:
        _picture(_item(dataset, 0)[0], f"item 0 of {where}")  # before all of them are read
        labels, classes = _labels(dataset, count), _classes(dataset)
    return DatasetSource("data set", where, numbered(count), range(count), labels, classes, dataset)


def _source_of_maite(dataset: Any) -> DatasetSource:
    """Its images keep the ids that it gives them."""
    where, pairs = dataset.metadata["id"], MaitePairs(dataset)
    if not len(pairs):
        return DatasetSource("MAITE data set", where, [], range(0), None, None, pairs)
    _item(pairs, 0)  # before all of them are read
    labels, ids = zip(*pairs.labels_and_ids(), strict=True)
    known, files = check_ids([*ids], where), numbered(len(pairs))
    numbers, classes = np.array(labels, np.int64), pairs.classes
    if numbers.max() >= len(classes):
        raise InputError(
            f'{where}: expected "index2label" to name all classes, got a target of class '
            f"{numbers.max()}, and {len(classes)} names; name all of them, or leave it out"
        )
    return DatasetSource("MAITE data set", where, files, known, numbers, classes, pairs)


def _item(dataset: Any, place: int) -> tuple[Any, int]:
    """Image and label."""
    where = f"item {place} of {type(dataset).__name__}"
    image: Any
    label: Any
    try:
        item = dataset[place]
    except HardyError:
        raise
    except Exception as error:  # whatever code of the user raises
        raise InputError(f"cannot read {where}: {error!r}") from error
    if isinstance(item, Mapping):
        found = [_column(item, names) for names in (IMAGE_COLUMNS, LABEL_COLUMNS)]
        image, label = (None if name is None else item[name] for name in found)
    else:
        image, label = item if isinstance(item, tuple | list) and len(item) == 2 else (item, None)
    try:
        return image, operator.index(label)
    except TypeError as error:
        got = ", ".join(item) if isinstance(item, Mapping) else type(item).__name__
        raise InputError(
            f"{where}: expected an image and its class number, as (image, label) or in columns "
            f"called image and label, got {got} with the label {label!r}"
        ) from error


def _column(columns: Any, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in columns), None)


def _labels(dataset: Any, count: int) -> Labels:
    """The labels, from where data sets keep them, else item by item."""
    columns, targets = getattr(dataset, "features", None), getattr(dataset, "targets", None)
    name = _column(columns, LABEL_COLUMNS) if isinstance(columns, Mapping) else None
    if name is not None and hasattr(dataset, "with_format"):
        targets = list(dataset.with_format(None)[name])
    elif getattr(dataset, "target_transform", None) is not None:
        targets = None
    if targets is None or len(targets) != count:
        targets = [_item(dataset, place)[1] for place in range(count)]
    return np.array([operator.index(target) for target in targets], np.int64)


def _classes(dataset: Any) -> tuple[str, ...] | None:
    """Hugging Face's names of a label; torchvision's, of which ImageNet has WordNet's beside."""
    columns = getattr(dataset, "features", None)
    name = _column(columns, LABEL_COLUMNS) if isinstance(columns, Mapping) else None
    named = dataset if columns is None or name is None else columns[name]
    for attribute in ("names", "wnids", "classes"):
        names = getattr(named, attribute, None)
        if isinstance(names, list | tuple) and all(isinstance(one, str) for one in names):
            return tuple(names)
    return None


def _picture(image: Any, where: str) -> Picture:
    if is_pil(image):
        return image
    pixels = image.detach().cpu().numpy() if is_tensor(image) else image
    if not isinstance(pixels, np.ndarray):
        raise InputError(
            f"{where}: expected a PIL image or uint8 pixels, got {type(image).__name__}"
        )
    if pixels.ndim == 3 and pixels.shape[0] == 3 and pixels.shape[2] != 3:
        pixels = np.moveaxis(pixels, 0, 2)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise InputError(
            f"{where}: expected a PIL image or uint8 pixels (H, W, 3) or (3, H, W), got "
            f"{image.dtype} {tuple(image.shape)}; leave out what scales and normalises, such as "
            "ToTensor and Normalize: the model's own preprocessing does that"
        )
    return np.ascontiguousarray(pixels)
