"""The worst images of a run, as its folder keeps them, made small enough for a page."""

import io
import math
from dataclasses import dataclass

import numpy as np

from hardy.engine.door import UInt8, open_pil
from hardy.errors import InputError
from hardy.images.display import TINY, data_uri, encode
from hardy.images.labels import spoken_class
from hardy.store.reader import StoredRun
from hardy.store.worst_images import WORST, WorstImage, damaged_worst
from hardy.store.worst_images import read_worst as stored_worst


@dataclass(frozen=True)
class Worst:
    """One image under one cell, as a page shows it, and what the model took it for."""

    stored: WorstImage
    label: str
    predicted: str
    clean: str | None  # this and the next are data URIs
    corrupted: str
    tiny: bool  # so small that its pixels are shown as squares

    @property
    def probability(self) -> str:
        """How likely the model thought the label to be."""
        percent = 100 * math.exp(self.stored.log_prob)
        number = f"{percent:.2g}" if percent >= 0.01 else "< 0.01"
        return f"{number}\N{NO-BREAK SPACE}%"


def read_worst_section(run: StoredRun) -> tuple[Worst, ...]:
    """The worst image of each corruption; none where the run kept none."""
    try:
        return tuple(_worst(run, one) for one in _one_each(stored_worst(run.folder)))
    except InputError:
        raise
    # Pillow raises any of these for bytes that are no picture.
    except (OSError, SyntaxError, ValueError) as error:
        raise damaged_worst(run.folder / WORST, "a picture cannot be decoded") from error


def _one_each(images: list[WorstImage]) -> list[WorstImage]:
    """The worst image of each corruption; one that is shown already only if there is no other."""
    found: dict[str, WorstImage] = {}
    shown: set[str] = set()
    for name in dict.fromkeys(one.corruption for one in images):
        candidates = [one for one in images if one.corruption == name]
        new = [one for one in candidates if one.image not in shown]
        found[name] = (new or candidates)[0]
        shown.add(found[name].image)
    return list(found.values())


def _worst(run: StoredRun, one: WorstImage) -> Worst:
    corrupted = _decoded(one.corrupted)
    return Worst(
        one,
        label=_class(run, one.label),
        predicted=_class(run, one.predicted),
        clean=None if one.clean is None else data_uri(reencode(one.clean)),
        corrupted=data_uri(encode(corrupted)),
        tiny=min(corrupted.shape[:2]) <= TINY,
    )


def _class(run: StoredRun, number: int) -> str:
    names = run.classes
    return spoken_class(names[number]) if names and 0 <= number < len(names) else f"class {number}"


def reencode(picture: bytes) -> bytes:
    """The same thumbnail, some five times smaller than a run keeps it."""
    return encode(_decoded(picture))


def _decoded(picture: bytes) -> UInt8:
    with open_pil(io.BytesIO(picture)) as opened:
        return np.asarray(opened.convert("RGB"))
