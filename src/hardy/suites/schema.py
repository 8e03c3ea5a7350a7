"""What a suite is, and the checks its files pass when they are read.

A suite (`<name>.toml`) says which corruptions count, on which images, against which reference. Its
constants are those of an edition (`editions/<name>.toml`), named after the image size they were
chosen for; suites may share one. Whether a formula exists for each name is left to a test, so
that reading a suite imports no formulas.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, SupportsIndex

from hardy.errors import InputError
from hardy.registry import unknown

SEVERITIES = (1, 2, 3, 4, 5)
ID_RULES = ("file_stem", "row_index", "relative_path")

_PROSE = frozenset({"title", "source", "images", "recipe_description"})


@dataclass(frozen=True)
class Edition:
    """The constants chosen for images of one size."""

    name: str
    side: int
    source: str
    corruptions: dict[str, tuple[dict[str, float], ...]]

    def params(self, corruption: str, severity: SupportsIndex) -> dict[str, float]:
        """The named parameters of one corruption at one severity; a copy, so change it freely."""
        if corruption not in self.corruptions:
            raise unknown(f"corruption of edition {self.name}", corruption, self.corruptions)
        return dict(self.corruptions[corruption][_level(severity) - 1])


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


@dataclass(frozen=True)
class Suite:
    """A benchmark: images, preprocessing, constants, what counts, and the reference."""

    name: str
    version: int
    title: str
    source: str
    edition: Edition
    images: str
    classes: int
    id_rule: str
    storage: str | None
    recipe: str
    recipe_description: str
    counted: tuple[str, ...]
    validation: tuple[str, ...]
    reference: Reference | None

    @property
    def corruptions(self) -> tuple[str, ...]:
        """All of them, in the canonical order: those that count, then those for validation."""
        return self.counted + self.validation

    def content_hash(self) -> str:
        """sha256 of everything that decides a pixel or a score, the edition's constants included.

        Prose is left out: rewording a title must not make stored results look stale.
        """
        content = _without_prose(asdict(self))
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


def parse_edition(data: Mapping[str, Any], where: str) -> Edition:
    _check_keys(data, where, {"name": str, "side": int, "source": str, "corruptions": dict})
    _check_name(data, where)
    _expect(data["side"] >= 1, where, "side", "a length in pixels", data["side"])
    tables = data["corruptions"].items()
    return Edition(
        name=data["name"],
        side=data["side"],
        source=data["source"],
        corruptions={name: _parse_rows(table, f"{where} [{name}]") for name, table in tables},
    )


def parse_suite(data: Mapping[str, Any], where: str, edition: Callable[[str], Edition]) -> Suite:
    """`edition` looks an edition up by name."""
    required = {"name": str, "version": int, "title": str, "source": str, "edition": str}
    required |= {"images": str, "classes": int, "id_rule": str}
    required |= {"counted": list, "validation": list, "recipe": dict}
    _check_keys(data, where, required, {"storage": str, "reference": dict})
    _check_name(data, where)
    _expect(data["version"] >= 1, where, "version", "1 or more", data["version"])
    _expect(data["classes"] >= 2, where, "classes", "2 or more", data["classes"])
    _expect(data["id_rule"] in ID_RULES, where, "id_rule", " or ".join(ID_RULES), data["id_rule"])
    storage = data.get("storage")
    if storage is not None:
        _expect(_is_jpeg(storage), where, "storage", '"jpeg:1" to "jpeg:100"', storage)

    recipe = data["recipe"]
    _check_keys(recipe, f"{where} [recipe]", {"name": str, "description": str})
    named = re.fullmatch(r"[a-z0-9_.]+@[1-9]\d*", recipe["name"]) is not None
    _expect(named, where, "recipe name", "a name and a version, as in none@1", recipe["name"])

    its_edition = edition(data["edition"])
    listed = [*data["counted"], *data["validation"]]
    for name in listed:
        if name not in its_edition.corruptions:
            known = its_edition.corruptions
            raise unknown(f"{where} corruption of edition {its_edition.name}", name, known)
    twice = sorted({name for name in listed if listed.count(name) > 1})
    _expect(not twice, where, "counted and validation", "each corruption once", twice)

    reference = data.get("reference")
    return Suite(
        name=data["name"],
        version=data["version"],
        title=data["title"],
        source=data["source"],
        edition=its_edition,
        images=data["images"],
        classes=data["classes"],
        id_rule=data["id_rule"],
        storage=storage,
        recipe=recipe["name"],
        recipe_description=recipe["description"],
        counted=tuple(data["counted"]),
        validation=tuple(data["validation"]),
        reference=None if reference is None else _parse_reference(reference, where, listed),
    )


def _parse_rows(table: Any, where: str) -> tuple[dict[str, float], ...]:
    """A header of parameter names over one row of values per severity."""
    _check_keys(table, where, {"parameters": list, "severities": list})
    header, rows = table["parameters"], table["severities"]
    _expect(len(rows) == len(SEVERITIES), where, "severities", "5 rows", f"{len(rows)} rows")
    for row in rows:
        is_row = isinstance(row, list) and len(row) == len(header)
        _expect(is_row, where, "severities", f"{len(header)} values per row", row)
        for value in row:
            _expect(_is_number(value), where, "severities", "numbers", value)
    return tuple(dict(zip(header, map(float, row), strict=True)) for row in rows)


def _parse_reference(table: Mapping[str, Any], where: str, listed: list[str]) -> Reference:
    where = f"{where} [reference]"
    required = {"name": str, "source": str, "clean_percent": float}
    _check_keys(table, where, required | {"paper_percent": dict}, {"fine_fraction": dict})
    paper, fine = table["paper_percent"], table.get("fine_fraction", {})
    for name in {**paper, **fine}:
        if name not in listed:
            raise unknown(f"{where} corruption", name, listed)
    missing = [name for name in listed if name not in paper]
    _expect(not missing, where, "paper_percent", "every corruption of the suite", f"no {missing}")
    for key, values, most in (("paper_percent", paper, 100), ("fine_fraction", fine, 1)):
        for value in values.values():
            in_range = _is_number(value) and 0 < value <= most
            _expect(in_range, where, key, f"errors above 0, up to {most}", value)
    return Reference(
        name=table["name"],
        source=table["source"],
        clean_error=table["clean_percent"] / 100,
        paper={name: percent / 100 for name, percent in paper.items()},
        fine=dict(fine),
    )


def _check_keys(
    table: Any, where: str, required: Mapping[str, type], optional: Mapping[str, type] | None = None
) -> None:
    _expect(isinstance(table, Mapping), where, "content", "a table", table)
    kinds = {**required, **(optional or {})}
    for key, value in table.items():
        if key not in kinds:
            raise unknown(f"{where} key", key, kinds)
        right = isinstance(value, kinds[key]) and not isinstance(value, bool)
        _expect(right, where, key, f"a value of type {kinds[key].__name__}", value)
    for key in required:
        _expect(key in table, where, key, "this key", "none")


def _check_name(data: Mapping[str, Any], where: str) -> None:
    stem = where.rpartition("/")[2].removesuffix(".toml")
    _expect(data["name"] == stem, where, "name", f'that of the file, "{stem}"', data["name"])


def _expect(right: bool, where: str, key: str, expected: str, got: object) -> None:
    if not right:
        raise InputError(f"{where}: {key}: expected {expected}, got {got!r}; correct the file")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_jpeg(storage: str) -> bool:
    match = re.fullmatch(r"jpeg:([1-9]\d{0,2})", storage)
    return match is not None and int(match[1]) <= 100


def _level(severity: SupportsIndex) -> int:
    # Not an index into the table: the reference code takes 0 for 5 and -1 for 4 without a word.
    level = operator.index(severity) if hasattr(severity, "__index__") else None
    if level not in SEVERITIES:
        raise InputError(
            f"expected a severity from 1 (weak) to 5 (strong), got {severity!r}; "
            "the clean image is no severity, leave the corruption out for it"
        )
    return level


def _without_prose(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {k: _without_prose(v) for k, v in content.items() if k not in _PROSE}
    if isinstance(content, Iterable) and not isinstance(content, str):
        return [_without_prose(item) for item in content]
    return content
