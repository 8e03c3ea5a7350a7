"""The model that scores on a suite of corruptions are measured against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hardy.registry import unknown
from hardy.suites.checks import check_keys, expect, is_number


@dataclass(frozen=True)
class Reference:
    """The errors of the model that scores are measured against, as fractions."""

    name: str
    source: str
    clean_error: float
    paper: dict[str, float]
    fine: dict[str, float]

    @property
    def errors(self) -> dict[str, float]:
        """Mean error per corruption, as a score uses it: the fine value where there is one."""
        return {**self.paper, **self.fine}


def parse_reference(table: Mapping[str, Any], where: str, listed: list[str]) -> Reference:
    where = f"{where} [reference]"
    required = {"name": str, "source": str, "clean_percent": float}
    check_keys(table, where, required | {"paper_percent": dict}, {"fine_fraction": dict})
    paper, fine = table["paper_percent"], table.get("fine_fraction", {})
    for name in {**paper, **fine}:
        if name not in listed:
            raise unknown(f"{where} corruption", name, listed)
    missing = [name for name in listed if name not in paper]
    expect(not missing, where, "paper_percent", "every corruption of the suite", f"no {missing}")
    for key, values, most in (("paper_percent", paper, 100), ("fine_fraction", fine, 1)):
        for value in values.values():
            in_range = is_number(value) and 0 < value <= most
            expect(in_range, where, key, f"errors above 0, up to {most}", value)
    clean = table["clean_percent"]
    expect(0 < clean < 100, where, "clean_percent", "an error above 0, below 100", clean)
    return Reference(
        name=table["name"],
        source=table["source"],
        clean_error=clean / 100,
        paper={name: percent / 100 for name, percent in paper.items()},
        fine=dict(fine),
    )
