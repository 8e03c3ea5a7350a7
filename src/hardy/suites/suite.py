"""What a suite is, and the checks its files pass when they are read.

A suite (`<name>.toml`) says which corruptions count, on which images, against which reference. Its
constants are those of an edition (`editions/<name>.toml`), named after the image size they were
chosen for; suites may share one. Whether a formula exists for each name is left to a test, so
that reading a suite imports no formulas.
"""

from __future__ import annotations

import hashlib
import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol, SupportsIndex, runtime_checkable

from hardy.documents import SUITE_NAME
from hardy.errors import InputError
from hardy.registry import Registry, unknown
from hardy.schema import (
    LIST,
    TABLE,
    TEXT,
    WHOLE,
    Field,
    all_of,
    at_least,
    check_table,
    expect,
    is_number,
    is_text,
    is_whole,
    one_of,
)
from hardy.suites.reference import PublishedErrors, PublishedFlips, parse_errors, parse_flips
from hardy.suites.steps import Steps, is_video, parse_rows, parse_steps

SEVERITIES = (1, 2, 3, 4, 5)
ID_RULES = ("file_stem", "row_index", "relative_path")
SUITE_KINDS = ("corruptions", "perturbations")
# Which ratio to the reference a suite of corruptions is scored by.
_RATIOS = ("mCE", "relative mCE")

Severities = Sequence[Mapping[str, float]]  # the parameters of each


@runtime_checkable
class _BringsRows(Protocol):
    """A corruption of another package: it is in no edition file, so its rows come with it."""

    @property
    def rows(self) -> Mapping[str, Severities]: ...  # by edition


BROUGHT: Registry[_BringsRows] = Registry("corruption", "hardy.corruptions", of=_BringsRows)

_PROSE = frozenset({"title", "source", "images", "recipe_description"})
_LENGTH = Field("a length in pixels", is_whole)
_NAMES = Field("a list of names", all_of(is_text))
_ROWS = Field(
    "a table of numbers for each severity",
    all_of(lambda row: isinstance(row, dict) and all(map(is_number, row.values()))),
)
_EDITION = {"name": TEXT, "side": _LENGTH, "source": TEXT, "corruptions": TABLE}
SUITE = {
    "name": SUITE_NAME,
    **dict.fromkeys(("title", "source", "edition", "images"), TEXT),
    "version": WHOLE,
    "classes": at_least(2),
    "id_rule": one_of(ID_RULES),
    "counted": _NAMES,
    "validation": _NAMES,
    "recipe": TABLE,
}
SUITE_TOO = {
    "kind": one_of(SUITE_KINDS),
    "score": one_of(_RATIOS),
    "storage": TEXT,
    "noise_storage": TEXT,
    "reference": TABLE,
    "constants": TABLE,  # of corruptions that are in no edition, as their plug-ins bring them
    "side": _LENGTH,  # of the images, where it is not the one the constants were chosen for
}
RECIPE = {
    "name": Field(
        "a name and a version, as in none@1",
        lambda value: is_text(value) and re.fullmatch(r"[a-z0-9_.]+@[1-9]\d*", value) is not None,
    ),
    "description": TEXT,
}


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


@dataclass(frozen=True)
class Suite:
    """A benchmark: images, preprocessing, constants, what counts, and the reference."""

    name: str
    version: int
    kind: str  # "corruptions" or "perturbations"
    title: str
    source: str
    edition: Edition
    images: str
    classes: int
    id_rule: str
    storage: str | None
    noise_storage: str | None  # of noise sequences, where it differs
    recipe: str
    recipe_description: str
    counted: tuple[str, ...]
    validation: tuple[str, ...]
    reference: PublishedErrors | None  # of corruptions
    flips: PublishedFlips | None  # of perturbations
    score: str = _RATIOS[0]
    toml: str | None = field(default=None, repr=False, compare=False)  # of one that is not Hardy's

    def __repr__(self) -> str:
        return f"Suite({self.name!r}, version {self.version}, {len(self.counted)} {self.kind})"

    @property
    def corruptions(self) -> tuple[str, ...]:
        """All of them, in the canonical order: those that count, then those for validation."""
        return self.counted + self.validation if self.kind == "corruptions" else ()

    @property
    def perturbations(self) -> tuple[str, ...]:
        """The same for a suite of sequences; of either kind a suite has just one."""
        return self.counted + self.validation if self.kind == "perturbations" else ()

    @property
    def graded(self) -> bool:
        """Whether there are severities; in some suites each image draws a strength of its own."""
        return any(len(self.edition.severities(name)) > 1 for name in self.corruptions)

    def unrevised(self, version: int) -> Suite:
        """This suite in an earlier version, when all formulas gave the bytes they gave at first."""
        return replace(self, version=version, edition=replace(self.edition, revisions={}))

    def content_hash(self) -> str:
        """sha256 of everything that decides a pixel or a score, the edition's constants included.

        Prose is left out: rewording a title must not make stored results look stale.
        """
        content = _without_prose(asdict(self))
        # The edition's constants of the other kind are none of this suite's business.
        for other in set(SUITE_KINDS) - {self.kind}:
            del content["edition"][other]
        # Nor are those of names that it has not; and the usual score goes without saying.
        constants, own = content["edition"][self.kind], self.counted + self.validation
        content["edition"][self.kind] = {name: constants[name] for name in own}
        revised = content["edition"].pop("revisions")
        ours = {f"{self.kind}.{name}" for name in own} & revised.keys()
        if ours:
            content["edition"]["revisions"] = {name: revised[name] for name in ours}
        if self.score == _RATIOS[0]:
            del content["score"]
        del content["toml"]
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


def parse_edition(data: Mapping[str, Any], where: str) -> Edition:
    check_table(data, _EDITION, where, optional={"perturbations": TABLE, "revisions": TABLE})
    _check_name(data["name"], where)
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


def parse_suite(data: Mapping[str, Any], where: str, edition: Callable[[str], Edition]) -> Suite:
    """`edition` looks an edition up by name."""
    check_table(data, SUITE, where, optional=SUITE_TOO)
    _check_name(data["name"], where)
    kind, recipe = data.get("kind", SUITE_KINDS[0]), data["recipe"]
    for key in ("storage", "noise_storage"):
        if key in data:
            _check_storage(data[key], kind, f"{where}: {key}")
    check_table(recipe, RECIPE, f"{where} [recipe]")
    its_edition = edition(data["edition"])
    if "side" in data:
        its_edition = replace(its_edition, side=data["side"])
    one = kind.removesuffix("s")
    expect(bool(data["counted"]), f"at least one {one}", data["counted"], f"{where}: counted")
    listed = [*data["counted"], *data["validation"]]
    if kind == "corruptions":
        its_edition = _with_brought(its_edition, listed, data.get("constants", {}), where)
    known: Iterable[str] = getattr(its_edition, kind)
    for name in listed:
        if name not in known:
            todo = "install the plug-in that brings it"
            raise InputError(
                f"{where}: {unknown(f'{one} of edition {its_edition.name}', name, known, todo)}"
            )
    twice = sorted(name for name, times in Counter(listed).items() if times > 1)
    expect(not twice, f"each {one} once", twice, f"{where}: counted and validation")
    if kind == "corruptions":
        _check_severities(its_edition, listed, where)

    reference, spot = data.get("reference"), f"{where} [reference]"
    measured = kind if "reference" in data else None
    return Suite(
        **{key: data[key] for key in SUITE.keys() - {"edition", "recipe", "counted", "validation"}},
        kind=kind,
        edition=its_edition,
        storage=data.get("storage"),
        noise_storage=data.get("noise_storage"),
        recipe=recipe["name"],
        recipe_description=recipe["description"],
        counted=tuple(data["counted"]),
        validation=tuple(data["validation"]),
        reference=parse_errors(reference, spot, listed) if measured == "corruptions" else None,
        flips=parse_flips(reference, spot, listed) if measured == "perturbations" else None,
        score=data.get("score", _RATIOS[0]),
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


def _check_name(name: str, where: str) -> None:
    stem = where.rpartition("/")[2].removesuffix(".toml")
    expect(name == stem, f'that of the file, "{stem}"', name, f"{where}: name")


def _with_brought(
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


def _check_severities(edition: Edition, names: Iterable[str], where: str) -> None:
    """Refuse unlike numbers of severities: arrays and tables have the same columns for each."""
    some = {len(edition.severities(name)): name for name in names}
    got = " and ".join(f"{number} of {name}" for number, name in sorted(some.items()))
    wanted = "as many severities of each corruption as of others"
    expect(len(some) <= 1, wanted, got, f"{where}: counted and validation")


def _check_storage(storage: str, kind: str, where: str) -> None:
    if kind == "corruptions":
        expect(_is_jpeg(storage), '"jpeg:1" to "jpeg:100"', storage, where)
    else:
        expect(is_video(storage), 'such as "x264:crf=20,preset=veryslow"', storage, where)


def _is_jpeg(storage: str) -> bool:
    match = re.fullmatch(r"jpeg:([1-9]\d{0,2})", storage)
    return match is not None and int(match[1]) <= 100


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


def _without_prose(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {k: _without_prose(v) for k, v in content.items() if k not in _PROSE}
    if isinstance(content, Iterable) and not isinstance(content, str):
        return [_without_prose(item) for item in content]
    return content
