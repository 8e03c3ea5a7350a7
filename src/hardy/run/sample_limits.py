"""Where a sampled run ends even if it is not precise enough: `at_most`."""

import math
import re
from typing import NamedTuple

from hardy.errors import InputError
from hardy.schema import brief

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600}


class Limits(NamedTuple):
    predictions: float = math.inf  # of each model
    seconds: float = math.inf


def read_limits(at_most: int | str | None) -> Limits:
    """The limit that a user gave: 50000 predictions, or a time such as "10m"."""
    if at_most is None:
        return Limits()
    found = re.fullmatch(r"\s*(\d[\d,_]*|\d+\.\d+)\s*(s|m|min|h)?\s*", str(at_most))
    number = float(re.sub("[,_]", "", found[1])) if found else 0.0
    if not found or number <= 0 or isinstance(at_most, bool):
        raise InputError(
            "expected `at_most` as a number of predictions such as 50000, or a time such as 90s, "
            f"10m or 2h, got {brief(str(at_most))}"
        )
    if found[2]:
        return Limits(seconds=number * _UNITS[found[2]])
    return Limits(predictions=number)
