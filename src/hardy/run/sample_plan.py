"""What is remembered of a sample beside its predictions, so that whoever goes on takes the same."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hardy.schema import TABLE, TEXTS, is_whole

LEAST = 10  # images of a cell, to tell how they vary: so many come before any look
PILOT_TURNS = 2  # of the first images: one tells nothing of how the cells of an image differ
_PILOT_IMAGES = 100  # in whole blocks, or one: where few flip, fewer that do not look precise


class SamplePlan(NamedTuple):
    """What is kept with a run, so that whoever goes on takes the same sample."""

    # Cells that each image is shown under, before any image gets more; 0 as long as just the first
    # images were looked at, which tell how many it should be.
    per_image: int
    pilot: int  # images at the beginning that have `PILOT_TURNS` in any case
    once: int = 0  # images after these that have one in any case

    def as_dict(self) -> dict[str, int]:
        return self._asdict()


def first_round(images: int, cells: int) -> SamplePlan:
    """The smallest sample that is looked at: most of its images have one cell, since two cells of
    an image tell less than two images, and few are enough to tell how alike they are."""
    pairs = max(1, _PILOT_IMAGES // cells)
    blocks = max(pairs, LEAST - (PILOT_TURNS - 1) * pairs)
    pilot = min(images, pairs * cells)
    return SamplePlan(0, pilot, min(images, blocks * cells) - pilot)


class SampleExtent(NamedTuple):
    """How far a sample goes along the line."""

    visits: int  # of images, each of which brings cells
    clean: int  # images


def read_plans(sessions: Sequence[Mapping[str, Any]]) -> list[tuple[SamplePlan, list[str]]]:
    """The plans of all sessions that have one, the last one first, and the cells they were of."""
    found = []
    for session in reversed(sessions):
        if not TABLE.fits(kept := session.get("sample")):
            continue
        said = SamplePlan._field_defaults | kept
        if all(is_whole(said.get(name), least=0) for name in SamplePlan._fields):
            asked = session.get("cells")
            cells = list(asked) if TEXTS.fits(asked) else []
            found.append((SamplePlan(**{name: said[name] for name in SamplePlan._fields}), cells))
    return found
