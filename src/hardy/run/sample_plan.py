"""What is remembered of a sample beside its predictions, so that whoever goes on takes the same."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hardy.schema import TABLE, is_whole

PILOT_TURNS = 2  # of the first images: one tells nothing of how the cells of an image differ
PILOT_BLOCKS = 5  # so many images of each cell, times the turns, come before any look,
PILOT_IMAGES = 100  # and so many in all: where few flip, fewer that do not look precise


class SamplePlan(NamedTuple):
    """What is kept with a run, so that whoever goes on takes the same sample."""

    # Cells that each image is shown under, before any image gets more; 0 as long as just the first
    # images were looked at, which tell how many it should be.
    per_image: int
    pilot: int  # images at the beginning that have `PILOT_TURNS` in any case

    def as_dict(self) -> dict[str, int]:
        return self._asdict()


class SampleExtent(NamedTuple):
    """How far a sample goes along the line."""

    visits: int  # of images, each of which brings cells
    clean: int  # images


def read_plans(sessions: Sequence[Mapping[str, Any]]) -> list[tuple[SamplePlan, list[str]]]:
    """The plans of all sessions that have one, the last one first, and the cells they were of."""
    found = []
    for session in reversed(sessions):
        said = session.get("sample")
        if TABLE.fits(said) and all(
            is_whole(said.get(name), least=0) for name in SamplePlan._fields
        ):
            cells = [str(cell) for cell in session.get("cells", ())]
            found.append((SamplePlan(**{name: said[name] for name in SamplePlan._fields}), cells))
    return found
