"""Data sets of the MAITE protocols: items are (image, one number for each class, facts of it).

The library is not imported; `engine/maite_door.py` knows its objects by what they have.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardy.engine.door import UInt8
from hardy.engine.maite_door import index_names, maite_pixels, on_host
from hardy.errors import InputError, door
from hardy.schema import brief

_TODO = "the data set raised it"  # whatever code of the user does
_ID_BITS = 63  # a number as stores have it


@dataclass(frozen=True)
class MaitePairs:
    """Its items as (image, label). What can be asked for by itself is not decoded for it."""

    dataset: Any

    def __len__(self) -> int:
        with door(f"the length of {self.dataset.metadata['id']}", _TODO):
            return len(self.dataset)

    def __getitem__(self, place: int) -> tuple[UInt8, int]:
        image, target, _ = self._datum(place)
        where = self._name(place)
        return maite_pixels(image, where), _label(target, where)

    @property
    def classes(self) -> tuple[str, ...]:
        """Their names, or else as many numbers as targets have: some may have no image here."""
        names = index_names(self.dataset)
        return names or tuple(map(str, range(len(on_host(self._datum(0)[1])))))

    def labels_and_ids(self) -> Iterator[tuple[int, int | str]]:
        apart = all(hasattr(self.dataset, name) for name in ("get_target", "get_metadata"))
        for place in range(len(self)):
            where = self._name(place)
            if apart:
                with door(where, _TODO):
                    target, facts = self.dataset.get_target(place), self.dataset.get_metadata(place)
            else:
                _, target, facts = self._datum(place)
            yield _label(target, where), _id(facts, where)

    def _datum(self, place: int) -> Any:
        with door(self._name(place), _TODO):
            item = self.dataset[place]
        if not isinstance(item, tuple | list) or len(item) != 3:
            got = f" of {len(item)}" if isinstance(item, tuple | list) else ""
            raise InputError(
                f"{self._name(place)}: expected (image, target, metadata), as MAITE has it, got a "
                f"{type(item).__name__}{got}"
            )
        return item

    def _name(self, place: int) -> str:
        return f"item {place} of {self.dataset.metadata['id']}"


def _label(target: Any, where: str) -> int:
    """The class whose number is the greatest; one-hot, as a rule."""
    numbers = on_host(target)
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "biuf":
        raise InputError(
            f"{where}: expected a target with one number for each class, (classes,), got "
            f"{numbers.dtype} {numbers.shape}; one-hot is the class as MAITE has it"
        )
    if np.count_nonzero(numbers == numbers.max()) != 1:
        raise InputError(f"{where}: expected a target of one class, got {numbers.tolist()[:10]}")
    return int(numbers.argmax())


def _id(facts: Any, where: str) -> int | str:
    found = facts.get("id") if isinstance(facts, Mapping) else None
    if isinstance(found, bool) or not isinstance(found, int | np.integer | str):
        raise InputError(
            f'{where}: expected metadata with an "id" that is a number or a text, got '
            + brief(facts)
        )
    return found if isinstance(found, str) else int(found)


def check_ids(ids: list[Any], where: str) -> list[Any]:
    """Refuse two images of one id, and ids of two kinds: predictions are stored by them."""
    if len({*map(type, ids)}) > 1:
        raise InputError(f"{where}: expected ids that are all numbers, or all text, got both")
    if len({*ids}) < len(ids):
        again = next(id for place, id in enumerate(ids) if id in ids[:place])
        raise InputError(f"{where}: expected an id of its own for each image, got {again!r} twice")
    for one in (min(ids), max(ids)) if isinstance(ids[0], int) else ():
        if not 0 <= one < 2**_ID_BITS:
            raise InputError(
                f"{where}: expected ids from 0 to 2**{_ID_BITS} - 1, got {brief(one)}; text will do"
            )
    return ids
