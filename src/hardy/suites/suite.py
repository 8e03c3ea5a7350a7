"""What a suite is, and the checks its files pass when they are read.

A suite (`<name>.toml`) says which corruptions count, on which images, against which reference. Its
constants are those of an edition (`editions/<name>.toml`), named after the image size they were
chosen for; suites may share one. Whether a formula exists for each name is left to a test, so
that reading a suite imports no formulas.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from hardy.documents import SUITE_NAME
from hardy.errors import InputError
from hardy.notebook import table_html
from hardy.registry import unknown
from hardy.schema import (
    TABLE,
    TEXT,
    WHOLE,
    Field,
    all_of,
    at_least,
    check_table,
    expect,
    is_text,
    one_of,
)
from hardy.suites.edition_files import LENGTH, Edition, check_name, lacking, with_brought
from hardy.suites.reference import PublishedErrors, PublishedFlips, parse_errors, parse_flips
from hardy.suites.shift import OUTLIERS, SHIFTED, SHIFTS, Shift, parse_shift
from hardy.suites.steps import is_video

ID_RULES = ("file_stem", "row_index", "relative_path")
_MADE = ("corruptions", "perturbations")  # of constants, which editions have
SUITE_KINDS = (*_MADE, SHIFTS, OUTLIERS)
# Which ratio to the reference a suite of corruptions is scored by.
_RATIOS = ("mCE", "relative mCE")

_PROSE = frozenset({"title", "source", "images", "recipe_description"})
_NAMES = Field("a list of names", all_of(is_text))
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
    "side": LENGTH,  # of the images, where it is not the one the constants were chosen for
    "shift": TABLE,  # of shifts and outliers, in the place of what counts
}
RECIPE = {
    "name": Field(
        "a name and a version, as in none@1",
        lambda value: is_text(value) and re.fullmatch(r"[a-z0-9_.]+@[1-9]\d*", value) is not None,
    ),
    "description": TEXT,
}


@dataclass(frozen=True)
class Suite:
    """A benchmark: images, preprocessing, constants, what counts, and the reference."""

    name: str
    version: int
    kind: str  # one of SUITE_KINDS
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
    shift: Shift | None = None  # of natural shifts
    toml: str | None = field(default=None, repr=False, compare=False)  # of one that is not Hardy's

    def __repr__(self) -> str:
        number = "" if self.shift else f"{len(self.counted)} "
        return f"Suite({self.name!r}, version {self.version}, {number}{self.kind})"

    def _repr_html_(self) -> str:
        """What a notebook shows of it: what one has to know to run it, and to quote it."""
        facts = {
            "images": self.images,
            "classes": f"{self.classes:,}",
            "counts": "" if self.shift else ", ".join(self.counted),
            "for tuning": ", ".join(self.validation),
            "severities": f"1 to {len(self.edition.severities(self.counted[0]))}"
            if self.graded
            else "",
            "preparation": f"{self.recipe}: {self.recipe_description}",
            "stored as": self.storage or "",
            "noise stored as": self.noise_storage or "",
            "constants": f"edition {self.edition.name}",
            "source": self.source,
        }
        title = f"{self.title} ({self.name}, version {self.version})"
        return table_html(title, ("", ""), [fact for fact in facts.items() if fact[1]])

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

    def rule_of_ids(self, *, by_path: bool) -> str | None:
        """How images get their ids. Those of classes of their own, of which each may have a file of
        one stem, go `by_path`; where numbered images would do, just those that have one: None."""
        if not by_path:
            return self.id_rule
        return "relative_path" if self.id_rule == "file_stem" else None

    def unrevised(self, version: int) -> Suite:
        """This suite in an earlier version, when all formulas gave the bytes they gave at first."""
        return replace(self, version=version, edition=replace(self.edition, revisions={}))

    def content_hash(self) -> str:
        """sha256 of everything that decides a pixel or a score, the edition's constants included.

        Prose is left out: rewording a title must not make stored results look stale.
        """
        content = _without_prose(asdict(replace(self, shift=None)))
        # The edition's constants of the other kind are none of this suite's business.
        for other in set(_MADE) - {self.kind}:
            del content["edition"][other]
        # Nor are those of names that it has not; and the usual score goes without saying.
        own = self.counted + self.validation
        if self.kind in _MADE:
            constants = content["edition"][self.kind]
            content["edition"][self.kind] = {name: constants[name] for name in own}
        revised = content["edition"].pop("revisions")
        ours = {f"{self.kind}.{name}" for name in own} & revised.keys()
        if ours:
            content["edition"]["revisions"] = {name: revised[name] for name in ours}
        if self.score == _RATIOS[0]:
            del content["score"]
        del content["toml"], content["shift"]
        if self.shift is not None:
            content["shift"] = self.shift.content()
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


def parse_suite(
    data: Mapping[str, Any],
    where: str,
    edition: Callable[[str], Edition],
    editions_of: Callable[[str], Sequence[str] | None] = lambda corruption: None,
) -> Suite:
    """`edition` looks an edition up by name, `editions_of` those that have a corruption."""
    if isinstance(data, dict) and "shift" in data:
        data = {"counted": [SHIFTED], "validation": [], **data}
    check_table(data, SUITE, where, optional=SUITE_TOO)
    check_name(data["name"], where)
    kind, recipe = data.get("kind", SUITE_KINDS[0]), data["recipe"]
    made = kind in _MADE
    expect(("shift" in data) is not made, f"{'no' if made else 'a'} table [shift]", kind, where)
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
        its_edition = with_brought(its_edition, listed, data.get("constants", {}), where)
    known: Iterable[str] = getattr(its_edition, kind) if made else [SHIFTED]
    for name in listed:
        if name not in known:
            if kind == "corruptions" and (having := editions_of(name)) is not None:
                raise InputError(f"{where}: {lacking(name, its_edition.name, having)}")
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
        shift=None if made else parse_shift(data["shift"], f"{where} [shift]"),
    )


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


def _without_prose(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {k: _without_prose(v) for k, v in content.items() if k not in _PROSE}
    if isinstance(content, Iterable) and not isinstance(content, str):
        return [_without_prose(item) for item in content]
    return content
