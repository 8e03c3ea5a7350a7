"""Which output of a model is which class of the images, where both have names."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hardy.errors import InputError, printable

Spellings = tuple[tuple[str, ...], ...]  # of each class of the images; the first is its own name

_WORDNET = re.compile(r"n\d{8}")
_NUMBERED = re.compile(r"(label_)?\d+", re.IGNORECASE)


class ClassOrder(NamedTuple):
    columns: tuple[int, ...] | None  # the output for each class of the images; None: as they come
    names: tuple[str, ...] | None  # of the classes, in that order; None: unknown
    words: str


def order_classes(labels: Sequence[str], classes: Spellings | None, model: str) -> ClassOrder:
    """Match a model's own names of its classes with what those of the images are called.

    A label may be a WordNet name, the word itself, or the words of a synset, "tench, Tinca tinca".
    Most models have the order of the images, so a name that nobody knows is no harm there.
    """
    count = f"{len(labels):,} classes"
    if all(_NUMBERED.fullmatch(label) for label in labels):
        return ClassOrder(None, None, f"{count} without names, taken in the order of the images'")
    if classes is None:
        return ClassOrder(None, tuple(labels), f"{count}, {_some(labels)}")
    first, more = 0, ""
    if len(labels) == len(classes) + 1 and "background" in labels[0].lower():
        first, more = 1, " after one for the background, which is left out"
    rest = labels[first:]
    number = _numbers(classes)
    found = [_find(label, number) for label in rest]
    known = [place for place in found if place is not None]
    if len(rest) != len(classes) or 2 * len(known) <= len(classes):
        return ClassOrder(None, tuple(labels), f"{count}, {_some(labels)}")
    names = tuple(names[0] for names in classes)
    strange = [label for label, place in zip(rest, found, strict=True) if place is None]
    if all(
        place in (None, here) or _may_mean(label, classes[here])
        for here, (place, label) in enumerate(zip(found, rest, strict=True))
    ):
        columns = tuple(range(first, len(labels))) if first else None
        but = f" but for {len(strange)} unknown ones ({_some(strange)})" if strange else ""
        return ClassOrder(columns, names, f"{count}{more}, in the images' order by name{but}")
    if len(set(known)) < len(classes):
        twice = [
            label
            for label, place in zip(rest, found, strict=True)
            if place is not None and found.count(place) > 1
        ]
        raise InputError(
            f"{model}: its classes are in another order than those of the images, and "
            f"{len(strange) + len(twice)} of {len(rest):,} cannot be matched by name "
            f"({_some([*strange, *twice])}); write WordNet names, or the names of the images' "
            "classes, into its list"
        )
    place_of = {place: column for column, place in enumerate(found, first)}
    columns = tuple(place_of[place] for place in range(len(classes)))
    return ClassOrder(columns, names, f"{count}{more}, in another order, matched by name")


def _find(label: str, number: Mapping[str, int]) -> int | None:
    """The class that a label means: by its WordNet name, as a whole, or by its first words."""
    wordnet = _WORDNET.search(label)
    ways = (wordnet[0] if wordnet else "", _plain(label), _plain(label.partition(",")[0]))
    for spelled in (*ways, *map(str.lower, ways)):
        if (place := number.get(spelled)) is not None:
            return place
    return None


def _may_mean(label: str, names: tuple[str, ...]) -> bool:
    """Whether that class has the label's first words, perhaps with more, to be told from another:
    one crane is a bird and one lifts."""
    words = _plain(label.partition(",")[0]).lower()
    return any(f"{_plain(name).lower()} ".startswith(f"{words} ") for name in names)


def _numbers(classes: Spellings) -> dict[str, int]:
    """The class of each name; in small letters too, where that leaves no doubt: a Cardigan is a dog
    and a cardigan is worn."""
    spelled = {_plain(name): place for place, names in enumerate(classes) for name in names}
    times = Counter(name.lower() for name in spelled)
    small = {name.lower(): place for name, place in spelled.items() if times[name.lower()] == 1}
    return small | spelled


def _plain(text: str) -> str:
    return " ".join(text.replace(",", " ").replace("_", " ").split())


def _some(labels: Sequence[str]) -> str:
    shown = ", ".join(f'"{printable(label[:40])}"' for label in labels[:3])
    return f"{shown}, …" if len(labels) > 3 else shown
