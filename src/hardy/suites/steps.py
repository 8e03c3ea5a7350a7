"""The part of suites that sequences have: frames, levels, how often the reference model flips."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, SupportsIndex

from hardy.errors import InputError
from hardy.registry import unknown
from hardy.suites.checks import check_keys, check_rows, expect, is_number

# What a perturbation changes: the finished image, the base image it is cut from, or the picture.
CHANGED = ("view", "base", "picture")


@dataclass(frozen=True)
class Steps:
    """One perturbation of an edition. Noise has three levels, the others have one."""

    frames: int
    on: str
    levels: tuple[dict[str, float], ...]

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


@dataclass(frozen=True)
class FlipReference:
    """How often the reference model's prediction flips, and its unnormalised top-5 distance."""

    name: str
    source: str
    flips: dict[str, float]  # fractions
    top5_distance: dict[str, float]


def parse_steps(table: Any, where: str) -> Steps:
    required = {"frames": int, "parameters": list, "levels": list}
    check_keys(table, where, required, {"on": str})
    changed = table.get("on", "view")
    expect(changed in CHANGED, where, "on", " or ".join(CHANGED), changed)
    expect(table["frames"] >= 2, where, "frames", "2 or more", table["frames"])
    expect(bool(table["levels"]), where, "levels", "a row of values per level", "none")
    levels = check_rows(table["levels"], table["parameters"], where, "levels")
    return Steps(table["frames"], changed, levels)


def parse_flips(table: Mapping[str, Any], where: str, listed: list[str]) -> FlipReference:
    required = {"name": str, "source": str, "flip_percent": dict, "top5_distance": dict}
    check_keys(table, where, required)
    for key, most in (("flip_percent", 100), ("top5_distance", 18)):
        for name, value in table[key].items():
            if name not in listed:
                raise unknown(f"{where} perturbation", name, listed)
            right = is_number(value) and 0 < value <= most
            expect(right, where, key, f"values above 0, up to {most}", value)
        missing = [name for name in listed if name not in table[key]]
        expect(not missing, where, key, "every perturbation of the suite", f"no {missing}")
    return FlipReference(
        name=table["name"],
        source=table["source"],
        flips={name: percent / 100 for name, percent in table["flip_percent"].items()},
        top5_distance=dict(table["top5_distance"]),
    )


def is_video(storage: str) -> bool:
    """x264 settings: rate factor, preset and, for noise, tuning."""
    pattern = r"x264:crf=(\d|[1-4]\d|5[01]),preset=[a-z]+(,tune=[a-z]+)?"
    return re.fullmatch(pattern, storage) is not None
