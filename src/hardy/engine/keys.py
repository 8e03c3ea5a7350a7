"""What randomness depends on, as users give it: a seed, and an id for each image."""

import sys
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from hardy.engine import rng
from hardy.errors import InputError

Ids = int | str | Sequence[int | str] | npt.NDArray[Any]
Seeds = int | Sequence[int] | npt.NDArray[Any]


def check_seed(seed: object, otherwise: str = "") -> int:
    """The seed as an int; the error names `otherwise`, what else would have been taken."""
    if not is_int(seed) or not 0 <= seed < 2**64:
        raise InputError(
            f"expected a seed from 0 to 2**64 - 1 as an int{otherwise}, got {_shown(seed)}"
        )
    return int(seed)


def by_seed(
    seed: Seeds, ids: Ids | None, count: int
) -> list[tuple[int, list[int], npt.NDArray[np.uint64]]]:
    """Every seed with the places of its images and their ids; a single seed is for all images.

    Two images may have the same id if their seeds differ.
    """
    seeds = seed.tolist() if isinstance(seed, np.ndarray) else seed
    if not isinstance(seeds, Sequence) or isinstance(seeds, str | bytes):
        one = check_seed(seeds, ", or a list or array with one per image")
        return [(one, list(range(count)), image_ids(ids, count))]
    if (number := _length(seeds)) != count:
        raise InputError(f"expected a seed, or one per image, {count} in all, got {number} of them")
    names = _listed(range(count) if ids is None else ids, count)
    places: dict[int, list[int]] = {}
    for place, one in enumerate(seeds):
        places.setdefault(check_seed(one), []).append(place)
    return [
        (one, some, image_ids([names[place] for place in some])) for one, some in places.items()
    ]


def _listed(ids: Ids | None, count: int | None) -> list[Any]:
    """The ids as a list; a set, which has no order, and a text count as one id."""
    given: Any = ids.tolist() if isinstance(ids, np.ndarray) else ids
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        _id_number(given)  # what is no id at all is refused for that, not for being one
        given = [given]
    if count is not None and (number := _length(given)) != count:  # a range may be too long to list
        raise InputError(
            f"expected one id per image, {count} in all, got {number}; "
            "leave ids out to number the images from 0"
        )
    return list(given)


def _length(values: Sequence[Any]) -> int:
    """The length, or the greatest there is: Python refuses to count longer ranges."""
    try:
        return len(values)
    except OverflowError:
        return sys.maxsize


def image_ids(ids: Ids | None, count: int | None = None) -> npt.NDArray[np.uint64]:
    """One 64-bit number per image; `count` is how many there must be, where that is known."""
    if ids is None and count is not None:
        return np.arange(count, dtype=np.uint64)
    if isinstance(ids, range) and _length(ids) == count and min(ids, default=0) >= 0:
        return np.array(ids, np.uint64)  # each once, without looking at them one by one
    numbers: dict[int, object] = {}
    for value in _listed(ids, count):
        number = _id_number(value)
        if number in numbers:
            raise InputError(
                f"expected a different id for each image, got {value!r} twice; "
                "equal ids would give equal randomness"
            )
        numbers[number] = value
    return np.array(list(numbers), dtype=np.uint64)


def _id_number(value: object) -> int:
    if isinstance(value, str):
        try:
            return rng.image_id(value)
        except UnicodeEncodeError as error:
            raise InputError(f"expected ids in Unicode, got {value!r}; rename it") from error
    if not is_int(value) or not 0 <= value < 2**64:
        raise InputError(
            "expected ids in a list or array, each a name or an int from 0 to 2**64 - 1, "
            f"got {_shown(value)} ({type(value).__name__})"
        )
    return rng.image_id(int(value))


def _shown(value: object) -> str:
    """The beginning of a value: what is given by mistake may be large."""
    try:
        return repr(value)[:200]
    except ValueError:  # an int with thousands of digits
        return f"one of {type(value).__name__} too long to print"


def is_int(value: object) -> TypeGuard[int]:
    """A whole number by type: True and 3.0 are not, NumPy's integers are."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
