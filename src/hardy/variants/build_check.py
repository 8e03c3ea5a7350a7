"""What `hardy verify` finds in a folder of corrupted images."""

from typing import NamedTuple


class BuildCheck(NamedTuple):
    """How a folder compares with its manifest."""

    checked: int  # files that were read; of arrays, groups of rows, and their labels
    left_out: int  # images that could not be read when it was their turn
    missing: list[str]  # what was made, and is gone
    altered: list[str]
    extra: list[str]
    thing: str = "file"  # what was checked: "file" or "array part"
    made_by: str = "hardy build"
    unfinished: bool = False  # it was stopped before its end, or is still made
    built: int = 0  # images under all that was asked for; of `hardy corrupt` nobody knows
    images: int = 0
    spoilt: tuple[str, ...] = ()  # the files that what is altered lies in

    @property
    def fine(self) -> bool:
        return not (self.missing or self.altered or self.extra or self.unfinished)
