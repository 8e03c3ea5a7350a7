"""Editions: the constants chosen for images of one size, and the checks of their files."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, SupportsIndex, runtime_checkable

from hardy.errors import InputError
from hardy.registry import Registry, unknown
from hardy.schema import LIST, TABLE, TEXT, Field, all_of, check_table, expect, is_number, is_whole
from hardy.suites.steps import Steps, parse_rows, parse_steps

SEVERITIES = (1, 2, 3, 4, 5)

Severities = Sequence[Mapping[str, float]]  # the parameters of each


@runtime_checkable
class _BringsRows(Protocol):
    """A corruption of another package: it is in no edition file, so its rows come with it."""

    @property
    def rows(self) -> Mapping[str, Severities]: ...  # by edition


BROUGHT: Registry[_BringsRows] = Registry("corruption", "hardy.corruptions", of=_BringsRows)

LENGTH = Field("a length in pixels", is_whole)
_ROWS = Field(
    "a table of numbers for each severity",
    all_of(lambda row: isinstance(row, dict) and all(map(is_number, row.values()))),
)
_EDITION = {"name": TEXT, "side": LENGTH, "source": TEXT, "corruptions": TABLE}


@dataclass(frozen=True)
class Edition:
    """The constants chosen for images of one size."""

    name: str
    side: int
    source: str
    corruptions: dict[str, tuple[dict[str, float], ...]]
    perturbations: dict[str, Steps]
    # How often a formula has changed the bytes it gives, where it has: {"corruptions.lines": 1}.
    revisions: dict[str, int] = field(default_factory=dict)

    def __contains__(self, name: object) -> bool:
        """Whether it has a corruption or a perturbation of that name."""
        return name in self.corruptions or name in self.perturbations

    def having(self, corruption: str, rows: Severities) -> Edition:
        """This edition with the rows that another package brings."""
        own = {corruption: tuple(dict(row) for row in rows)}
        return replace(self, corruptions={**self.corruptions, **own})

    def severities(self, corruption: str) -> tuple[int, ...]:
        """1 to 5, or just 1 where every image draws a strength of its own."""
        return tuple(range(1, len(self._rows(corruption)) + 1))

    def params(self, corruption: str, severity: SupportsIndex) -> dict[str, float]:
        """The named parameters of one corruption at one severity; a copy, so change it freely."""
        rows = self._rows(corruption)
        return dict(rows[_level(severity, corruption, self.severities(corruption)) - 1])

    def _rows(self, corruption: str) -> tuple[dict[str, float], ...]:
        if corruption not in self.corruptions:
            raise unknown(f"corruption of edition {self.name}", corruption, self.corruptions)
        return self.corruptions[corruption]

    def steps(self, perturbation: str) -> Steps:
        """How many frames a perturbation has, what it changes, and its parameters per level."""
        if perturbation not in self.perturbations:
            raise unknown(f"perturbation of edition {self.name}", perturbation, self.perturbations)
        return self.perturbations[perturbation]


def parse_edition(data: Mapping[str, Any], where: str) -> Edition:
    check_table(data, _EDITION, where, optional={"perturbations": TABLE, "revisions": TABLE})
    check_name(data["name"], where)
    tables, sequences = data["corruptions"].items(), data.get("perturbations", {}).items()
    return Edition(
        name=data["name"],
        side=data["side"],
        source=data["source"],
        corruptions={name: _parse_rows(table, f"{where} [{name}]") for name, table in tables},
        perturbations={
            name: parse_steps(table, f"{where} [perturbations.{name}]") for name, table in sequences
        },
        revisions=data.get("revisions", {}),
    )


def _parse_rows(table: Any, where: str) -> tuple[dict[str, float], ...]:
    """A header of parameter names over one row of values per severity.

    A single row holds ranges, from which each image draws a strength of its own.
    """
    check_table(table, {"parameters": LIST, "severities": LIST}, where)
    check_number(where, table["severities"])
    return parse_rows(table["severities"], table["parameters"], f"{where}: severities")


def check_number(where: str, rows: Sequence[Any]) -> None:
    """Refuse another number of rows than one per severity, or one of ranges."""
    right = len(rows) in (1, len(SEVERITIES))
    expect(right, f"1 or {len(SEVERITIES)} rows", f"{len(rows)} rows", f"{where}: severities")


def check_name(name: str, where: str) -> None:
    stem = where.rpartition("/")[2].removesuffix(".toml")
    expect(name == stem, f'that of the file, "{stem}"', name, f"{where}: name")


def with_brought(
    edition: Edition, names: Iterable[str], constants: Mapping[str, Any], where: str
) -> Edition:
    """The edition with the rows that the suite's file or other packages bring for those names."""
    check_table(constants, dict.fromkeys(constants, _ROWS), f"{where} [constants]")
    for name in names:
        if name in edition.corruptions:
            continue
        rows = constants.get(name)
        if rows is None and name in BROUGHT:
            rows = BROUGHT[name].rows.get(edition.name)
        if rows is not None:
            check_number(f"{where} [constants.{name}]", rows)
            edition = edition.having(name, rows)
    return edition


def lacking(name: str, edition: str, having: Sequence[str]) -> InputError:
    """The error for a corruption that there is, and that an edition has no parameters for."""
    todo = (
        f"take edition {' or '.join(having)}, which has"
        if having
        else "no edition has: its plug-in brings them, by @corruption(..., rows={EDITION: [...]})"
    )
    return InputError(
        f'no corruption of edition {edition} "{name}": it is one, but without parameters there; '
        f"{todo}, or list them in a suite file as [[constants.{name}]]"
    )


def _level(severity: SupportsIndex, corruption: str, there: tuple[int, ...]) -> int:
    # Not an index into the table: the reference code takes 0 for 5 and -1 for 4 without a word.
    level = operator.index(severity) if hasattr(severity, "__index__") else None
    if level not in there:
        if there == (1,):
            raise InputError(
                f"expected severity 1, got {severity!r}; each image draws a strength of its own "
                f"under {corruption}, and there are no other severities"
            )
        raise InputError(
            f"expected a severity from 1 (weak) to 5 (strong), got {severity!r}; "
            "the clean image is no severity, leave the corruption out for it"
        )
    return level
