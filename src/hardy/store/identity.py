"""Which predictions belong together: those that are made alike, whatever else differs.

Where new ones may not join what is stored, an error names the difference.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError, printable
from hardy.files import check_same, other_work
from hardy.images.source import Ids
from hardy.models.model import DefenceFacts

LabelOf = dict[int | str, int]  # of an image by its id; -1 for none

_SLUG_LENGTH = 60


@dataclass(frozen=True)
class Identity:
    """The identity of a run: one model on one suite."""

    model: str  # the name it goes by
    model_identity: str  # a hash of all that changes its output, preprocessing included
    suite: str
    suite_version: int
    suite_hash: str
    seed: int | None  # None: files, in which nothing is drawn any more
    recipe: str
    made: str  # "on the fly + jpeg:85", "on the fly", "official files"
    labels: str  # "suite" or "own"
    preprocessing: str  # prose
    precision: str
    defence: tuple[DefenceFacts, ...] = ()  # what they change is in the model's identity
    # For a model that adapts to the images: a hash of which ones it sees together.
    batches: str | None = None

    def __post_init__(self) -> None:
        # Names of files need not be valid text, but what is printed and written must be.
        object.__setattr__(self, "model", printable(self.model))

    def hash(self) -> str:
        """SHA-256 of what changes the output; not of how model and preprocessing are described."""
        decisive = asdict(self)
        del decisive["model"], decisive["preprocessing"], decisive["defence"]
        if self.batches is None:  # most runs, also those from before there was such a field
            del decisive["batches"]
        return sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    def folder_in(self, store: Path) -> Path:
        """The run's place in a store, whatever name its model went by when it was begun."""
        end = f"--{slug(self.suite)}--{self.hash()[:8]}"
        begun = sorted(store.glob(f"*{end}")) if store.is_dir() else []
        return begun[0] if begun else store / f"{slug(self.model)}{end}"


def images_of(ids: Ids, labels: npt.NDArray[Any]) -> LabelOf:
    """The images of a run: labels by ids, of which there is one each."""
    kinds = {"names" if isinstance(id, str) else "whole numbers" for id in ids}
    if len(kinds) != 1:
        raise InputError(f"expected ids of one kind, got {' and '.join(sorted(kinds)) or 'none'}")
    if np.shape(labels) != (len(ids),):
        raise InputError(f"expected {len(ids)} labels, one per image, got {np.shape(labels)}")
    plain = (id if isinstance(id, str) else int(id) for id in ids)
    images = dict(zip(plain, np.asarray(labels).tolist(), strict=True))
    if len(images) != len(ids):
        raise InputError(
            f"expected an id per image, got {len(images):,} for {len(ids):,} images; rename "
            "images, or take another id rule"
        )
    return images


def slug(name: str) -> str:
    """The name as a file name on any system: letters, digits, dots and dashes, never a path."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", name)[:_SLUG_LENGTH].strip("-._")
    return plain or "unnamed"


def check_stored_images(stored: LabelOf, wanted: LabelOf, folder: Path) -> None:
    """Refuse images that are neither all, some, nor more of those stored, or have other labels."""
    old, new = next(iter(stored)), next(iter(wanted))
    if isinstance(old, str) != isinstance(new, str):
        raise unlike(folder, f"an id is {quoted(old)} there, and {quoted(new)} now")
    for id in wanted.keys() & stored.keys():
        if wanted[id] != stored[id]:
            before, now = (_label(images[id]) for images in (stored, wanted))
            raise unlike(folder, f"image {quoted(id)} has {before} there, and {now} now")
    gone, more = stored.keys() - wanted.keys(), wanted.keys() - stored.keys()
    if gone and more:
        raise unlike(
            folder,
            f"{len(gone):,} of its {len(stored):,} images, such as {quoted(min(gone))}, are not "
            f"among the {len(wanted):,} given, and {len(more):,} of those, such as "
            f"{quoted(min(more))}, are not there: give some of its images, or more than these",
        )


def check_details(before: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    """Refuse a run whose run.json contradicts what is to be added, which may be more, or some."""
    told = [
        {
            "its identity": details["identity"],
            **{f"class {number}": name for number, name in enumerate(details["classes"] or ())},
            **{f"the number of frames of {c}": n for c, n in details["frames"].items()},
        }
        for details in (before, now)
    ]
    then, wanted = (
        {name: one[name] for name in one if name in told[0].keys() & told[1]} for one in told
    )
    check_same(folder, then, wanted, "a run", place="store")


def unlike(folder: Path, difference: str) -> InputError:
    return other_work(folder, "a run", difference, "store")


def quoted(value: int | str) -> str:
    return f'"{printable(value)}"' if isinstance(value, str) else str(value)


def _label(number: int) -> str:
    return "no label" if number < 0 else f"label {number}"
