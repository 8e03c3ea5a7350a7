"""The models that suites measure scores against: their published errors, or how often they flip."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hardy.registry import unknown
from hardy.schema import TABLE, TEXT, Field, check_table, expect, is_number

ERRORS = {
    "name": TEXT,
    "source": TEXT,
    "clean_percent": Field(
        "an error above 0, below 100", lambda value: is_number(value) and 0 < value < 100
    ),
    "paper_percent": TABLE,
}
FLIPS = {"name": TEXT, "source": TEXT, "flip_percent": TABLE, "top5_distance": TABLE}


@dataclass(frozen=True)
class PublishedErrors:
    """The errors of the reference model of a suite of corruptions, as fractions."""

    name: str
    source: str
    clean_error: float
    paper: dict[str, float]
    fine: dict[str, float]

    @property
    def errors(self) -> dict[str, float]:
        """Mean error per corruption, as a score uses it: the fine value where there is one."""
        return {**self.paper, **self.fine}


@dataclass(frozen=True)
class PublishedFlips:
    """How often the reference model's prediction flips, and its unnormalised top-5 distance."""

    name: str
    source: str
    flips: dict[str, float]  # fractions
    top5_distance: dict[str, float]


def parse_errors(table: Any, where: str, listed: Sequence[str]) -> PublishedErrors:
    check_table(table, ERRORS, where, optional={"fine_fraction": TABLE})
    paper, fine = table["paper_percent"], table.get("fine_fraction", {})
    _check_values(paper, where, "paper_percent", "corruption", listed, 100)
    _check_values(fine, where, "fine_fraction", "corruption", listed, 1, some=True)
    return PublishedErrors(
        name=table["name"],
        source=table["source"],
        clean_error=table["clean_percent"] / 100,
        paper={name: percent / 100 for name, percent in paper.items()},
        fine=dict(fine),
    )


def parse_flips(table: Any, where: str, listed: Sequence[str]) -> PublishedFlips:
    check_table(table, FLIPS, where)
    for key, most in (("flip_percent", 100), ("top5_distance", 18)):
        _check_values(table[key], where, key, "perturbation", listed, most)
    return PublishedFlips(
        name=table["name"],
        source=table["source"],
        flips={name: percent / 100 for name, percent in table["flip_percent"].items()},
        top5_distance=dict(table["top5_distance"]),
    )


def _check_values(
    values: Mapping[str, Any],
    where: str,
    key: str,
    kind: str,
    listed: Sequence[str],
    most: float,
    *,
    some: bool = False,
) -> None:
    """A number above 0, up to `most`, for every name of the suite, or for some of them."""
    for name, value in values.items():
        if name not in listed:
            raise unknown(f"{where} {kind}", name, listed)
        right = is_number(value) and 0 < value <= most
        expect(right, f"values above 0, up to {most}", value, f"{where}: {key}")
    missing = [] if some else [name for name in listed if name not in values]
    expect(not missing, f"every {kind} of the suite", f"no {missing}", f"{where}: {key}")
