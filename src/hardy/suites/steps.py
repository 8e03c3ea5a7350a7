"""The perturbations of an edition: how many frames a sequence has, what moves, and how far."""

import operator
import re
from dataclasses import dataclass
from typing import Any, SupportsIndex

from hardy.errors import InputError
from hardy.schema import LIST, Field, at_least, check_table, expect, is_number, one_of

# What a perturbation changes: the finished image, the base image it is cut from, or the picture.
_CHANGED = ("view", "base", "picture")
STEPS = {
    "frames": at_least(2),
    "parameters": LIST,
    "levels": Field("a row of values per level", lambda value: LIST.fits(value) and bool(value)),
}


@dataclass(frozen=True)
class Steps:
    """One perturbation of an edition."""

    frames: int
    on: str
    levels: tuple[dict[str, float], ...]

    @property
    def is_noise(self) -> bool:
        """Whether there is a sequence for each difficulty: noise has three levels, others one."""
        return len(self.levels) > 1

    def params(self, level: SupportsIndex) -> dict[str, float]:
        """The named parameters of one level; a copy, so change it freely."""
        number = operator.index(level) if hasattr(level, "__index__") else None
        if number is None or not 1 <= number <= len(self.levels):
            known = " or ".join(str(k + 1) for k in range(len(self.levels)))
            raise InputError(
                f"expected level {known}, got {level!r}; only noise has levels, and the difficulty "
                "of other sequences is the step between the frames that are compared"
            )
        return dict(self.levels[number - 1])


def parse_steps(table: Any, where: str) -> Steps:
    check_table(table, STEPS, where, optional={"on": one_of(_CHANGED)})
    levels = parse_rows(table["levels"], table["parameters"], f"{where}: levels")
    return Steps(table["frames"], table.get("on", "view"), levels)


def parse_rows(rows: list[Any], header: list[Any], where: str) -> tuple[dict[str, float], ...]:
    """Rows of values under a header of parameter names."""
    for row in rows:
        is_row = isinstance(row, list) and len(row) == len(header)
        expect(is_row, f"{len(header)} values per row", row, where)
        for value in row:
            expect(is_number(value), "numbers", value, where)
    return tuple(dict(zip(header, map(float, row), strict=True)) for row in rows)


def is_video(storage: str) -> bool:
    """x264 settings: rate factor, preset and, for noise, tuning."""
    pattern = r"x264:crf=(\d|[1-4]\d|5[01]),preset=[a-z]+(,tune=[a-z]+)?"
    return re.fullmatch(pattern, storage) is not None
