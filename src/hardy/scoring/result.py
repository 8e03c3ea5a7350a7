"""Result files: the scores of one model on one suite as JSON, to keep, submit and rank.

A file holds one result or a list of them. What a file from elsewhere may hold is what is written
here; a field that is missing, unknown or of the wrong kind is refused by its name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardy.errors import InputError
from hardy.metrics import Circumstances, Interval, Score
from hardy.metrics.bootstrap import LEVEL
from hardy.registry import unknown
from hardy.scoring.scores import HEADLINES, VALIDATION_HEADLINES, Scores
from hardy.suites import load, names

VERSION = 1
NAME, PROSE = 1000, 10_000  # letters
MOST = 10**9  # of any number: ratios to a reference come nowhere near, and nothing overflows
SLACK = 1e-6  # of a number: what rounding can do to it


class Result(NamedTuple):
    """Scores that were read back have no replicates, so they can be ranked but not compared."""

    model: dict[str, Any]
    scores: dict[str, Score]
    headline: tuple[str, ...]
    notes: tuple[str, ...]
    provenance: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.model["name"])


class Field(NamedTuple):
    expected: str
    fits: Callable[[Any], bool]


def _is_text(value: Any, longest: int = NAME) -> bool:
    """Something to see, and nothing that no file can hold."""
    if not isinstance(value, str) or len(value) > longest:
        return False
    seen = any(letter.isprintable() and not letter.isspace() for letter in value)
    return seen and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _is_prose(value: Any) -> bool:
    return _is_text(value, PROSE)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST


def _is_whole(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int) and value > 0


def _all(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _or_null(field: Field) -> Field:
    return Field(f"{field.expected} or null", lambda v: v is None or field.fits(v))


TEXT = Field(f"text of at most {NAME:,} letters", _is_text)
TEXTS = Field(f"a list of texts of at most {NAME:,} letters", _all(_is_text))
LONG_TEXT = Field(f"text of at most {PROSE:,} letters", _is_prose)
NUMBER = Field("a number of at most 1e9", _is_number)
FINITE = Field("a finite number", math.isfinite)
WHOLE = Field("a whole number above 0", _is_whole)
WHOLES = Field("a list of whole numbers above 0", _all(_is_whole))
FREE = Field("a table", lambda value: isinstance(value, dict))

# What people state about a model; null where nobody did.
STATED = {
    "backbone": _or_null(TEXT),
    "standalone": Field(
        "true, false (a combination) or null", lambda v: v is None or v is True or v is False
    ),
    "extra_data": _or_null(TEXT),  # what it was trained on besides the usual
    "seen_corruptions": _or_null(TEXTS),  # those of the suite that it was trained on
}
MODEL = {"name": TEXT, "identity": TEXT, "preprocessing": LONG_TEXT, "precision": TEXT, **STATED}
# Circumstances of all scores, and those of each; together the fields of `Circumstances`.
SHARED = {
    "suite": TEXT,
    "version": WHOLE,
    "suite_hash": TEXT,
    "kind": Field(" or ".join(HEADLINES), tuple(HEADLINES).__contains__),
    "recipe": TEXT,
    "made": TEXT,
    "total": _or_null(WHOLE),
}
OWN = {
    "names": TEXTS,
    "levels": WHOLES,
    "reference": _or_null(TEXT),
    "images": WHOLE,
    "images_hash": TEXT,
}
SCORE = {
    "name": TEXT,
    "value": NUMBER,
    "unit": Field('"%" or ""', ("%", "").__contains__),
    "low": NUMBER,
    "high": NUMBER,
    "level": Field(str(LEVEL), lambda v: _is_number(v) and v == LEVEL),
    **OWN,
    "resampling": TEXT,
}
RESULT = {
    "hardy_result": Field(str(VERSION), lambda v: _is_whole(v) and v == VERSION),
    "model": FREE,
    "circumstances": FREE,
    "headline": TEXTS,
    "scores": Field("a list of scores", _all(lambda v: isinstance(v, dict))),
    "notes": Field(f"a list of texts of at most {PROSE:,} letters", _all(_is_prose)),
    "provenance": FREE,
}


def result_of(scores: Scores, stated: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Plain values. `stated` are fields of the model that only its maker knows."""
    details = scores.run.details
    first = scores.headline[0].circumstances
    kept = ("identity", "labels", "seed", "width")
    return {
        "hardy_result": VERSION,
        "model": {
            "name": scores.model,
            "identity": details["model_identity"],
            "preprocessing": details["preprocessing"],
            "precision": details["precision"],
            **dict.fromkeys(STATED),
            **(stated or {}),
        },
        "circumstances": {name: getattr(first, name) for name in SHARED},
        "headline": [score.name for score in scores.headline],
        "scores": [
            {name: value for name, value in score.as_dict().items() if name in SCORE}
            for score in scores.values()
        ],
        "notes": list(scores.notes),
        "provenance": {
            **{name: details[name] for name in kept},
            # Not where the images lie: that is nobody's business but the user's.
            "sessions": [
                {key: value for key, value in session.items() if key != "source"}
                for session in details["sessions"]
            ],
        },
    }


def write_results(results: Sequence[Mapping[str, Any]]) -> str:
    """The text of a file; checked, so that what Hardy writes it also reads."""
    plain = json.loads(json.dumps(results))  # lists for tuples, as a reader has them
    for result in plain:
        parse_result(result, f"result of {result['model']['name']}")
    content = plain[0] if len(plain) == 1 else plain
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_results(path: Path) -> list[Result]:
    try:
        content = json.loads(path.read_bytes(), object_pairs_hook=_each_once)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: expected a result file in JSON, but {error}") from error
    if not isinstance(content, list):
        return [parse_result(content, str(path))]
    if not content:
        raise InputError(f"{path}: expected at least one result, got an empty list")
    return [parse_result(one, f"{path} [{place}]") for place, one in enumerate(content)]


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a field that comes twice, readers disagree on which one counts."""
    table: dict[str, Any] = {}
    for name, value in pairs:
        if name in table:
            raise ValueError(f"the field {_brief(name)} comes twice in one table")
        table[name] = value
    return table


def parse_result(data: Any, where: str) -> Result:
    if isinstance(data, dict):  # before the fields, which another version may call otherwise
        _check_field(RESULT["hardy_result"], data.get("hardy_result"), f"{where}: hardy_result")
    _check(data, RESULT, where, "")
    _check(data["model"], MODEL, where, "model.")
    _check(data["circumstances"], SHARED, where, "circumstances.")
    _check_kind(data["circumstances"], f"{where}: circumstances.kind")
    _check_finite(data["provenance"], f"{where}: provenance")
    scores: dict[str, Score] = {}
    for place, entry in enumerate(data["scores"]):
        spot = f"scores[{place}]."
        _check(entry, SCORE, where, spot)
        name = entry["name"]
        _expect(name not in scores, "each score once", name, f"{where}: {spot}name")
        _check_numbers(entry, f"{where}: {spot}")
        scores[name] = _score(entry, data["circumstances"])
    _check_headline(data["headline"], data["circumstances"]["kind"], scores, f"{where}: headline")
    notes = tuple(data["notes"])
    return Result(data["model"], scores, tuple(data["headline"]), notes, data["provenance"])


def _check_kind(shared: Mapping[str, Any], where: str) -> None:
    """Of a suite we do not have, what it says of itself has to do."""
    if shared["suite"] in names():
        kind = load(shared["suite"]).kind
        _expect(shared["kind"] == kind, f"{kind}, as {shared['suite']} is", shared["kind"], where)


def _check_numbers(entry: Mapping[str, Any], where: str) -> None:
    """An interval around the value, of what such a score can be."""
    value, low, high = entry["value"], entry["low"], entry["high"]
    slack = SLACK * max(1, abs(value))
    _expect(low <= high, f"at least low, {low}", high, f"{where}high")
    _expect(low - slack <= value, f"at least low, {low}", value, f"{where}value")
    _expect(value <= high + slack, f"at most high, {high}", value, f"{where}value")
    # Of values only: the intervals of some, such as the ECE, may reach beyond.
    if "relative" not in entry["name"]:  # a corruption may lower the error
        _expect(value >= -slack, "0 or more", value, f"{where}value")
    if entry["unit"]:
        _expect(value <= 100 + slack, "at most 100 %", value, f"{where}value")
    if entry["names"]:
        _expect(bool(entry["levels"]), "those of its names", [], f"{where}levels")
    for field in ("names", "levels"):
        once = len(set(entry[field])) == len(entry[field])
        _expect(once, "each once", entry[field], f"{where}{field}")


def _check_headline(quoted: list[str], kind: str, scores: Mapping[str, Score], where: str) -> None:
    """What Hardy quotes, in its order: the first is what ranks."""
    order = [*HEADLINES[kind], *VALIDATION_HEADLINES[kind], "clean error"]
    _expect(bool(quoted), "the name of a score", quoted, where)
    for place, name in enumerate(quoted):
        spot = f"{where}[{place}]"
        _expect(name in scores, "the name of a score", name, spot)
        _expect(name in order, f"one of {', '.join(order)}", name, spot)
    ranking = scores[quoted[0]]
    _expect(bool(ranking.circumstances.names), f"a score of {kind}", ranking.name, f"{where}[0]")
    places = [order.index(name) for name in quoted]
    _expect(places == sorted(set(places)), f"each once, in the order {order}", quoted, where)


def _score(entry: Mapping[str, Any], shared: Mapping[str, Any]) -> Score:
    fields = {**shared, **{name: entry[name] for name in OWN}}
    fields |= {"names": tuple(entry["names"]), "levels": tuple(entry["levels"])}
    return Score(
        entry["name"],
        float(entry["value"]),
        Interval(float(entry["low"]), float(entry["high"])),
        entry["unit"],
        Circumstances(**fields),
        entry["resampling"],
        np.empty(0),
    )


def _check(data: Any, schema: Mapping[str, Field], where: str, prefix: str) -> None:
    _expect(isinstance(data, dict), "a table", data, f"{where}: {prefix.rstrip('.') or 'content'}")
    for name in data:
        if name not in schema:
            raise unknown(
                f"field of {where}:", f"{prefix}{name}"[:60], [prefix + n for n in schema]
            )
    for name, field in schema.items():
        if name not in data:
            raise InputError(
                f"{where}: {prefix}{name}: expected {field.expected}, got nothing; add the field"
            )
        _check_field(field, data[name], f"{where}: {prefix}{name}")


def _check_field(field: Field, value: Any, where: str) -> None:
    _expect(field.fits(value), field.expected, value, where)


def _expect(right: bool, expected: str, got: Any, where: str) -> None:
    if not right:
        raise InputError(f"{where}: expected {expected}, got {_brief(got)}; correct the file")


def _check_finite(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _check_finite(inner, f"{where}.{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            _check_finite(inner, f"{where}[{place}]")
    elif isinstance(value, float):
        _check_field(FINITE, value, where)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
