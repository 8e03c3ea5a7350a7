"""Result files: the scores of one model on one suite as JSON, to keep, submit and rank.

A file holds one result or a list of them. In a file from elsewhere, a field that is missing,
unknown or of the wrong kind is refused by its name, and so is what no reader could show.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardy.documents import read_json, why_unread
from hardy.errors import InputError
from hardy.metrics import Interval
from hardy.metrics.intervals import LEVEL
from hardy.models.model import DefenceFacts
from hardy.schema import (
    FLAG,
    TABLE,
    TABLES,
    Field,
    all_of,
    brief,
    check_table,
    expect,
    is_number,
    is_whole,
    one_of,
    or_null,
)
from hardy.scores.run_scores import Scores, find_metric, headline_labels
from hardy.scores.score import Circumstances, Score
from hardy.store.reader import StoredRun
from hardy.store.records import LABELLED, defences_of, read_defences
from hardy.suites import load, suite_names
from hardy.suites.suite import SUITE_KINDS

VERSION = 1
SLACK = 1e-6  # of a number: what rounding can do to it
LARGEST = 10**9  # of any number: ratios to a reference come nowhere near, and nothing overflows


class ResultFile(NamedTuple):
    """Scores that were read back have no replicates, so they can be ranked but not compared."""

    model: dict[str, Any]
    scores: dict[str, Score]
    headline: tuple[str, ...]
    notes: tuple[str, ...]
    provenance: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.model["name"])

    @property
    def defences(self) -> tuple[DefenceFacts, ...]:
        return read_defences(self.model["defence"])


def _text(longest: int) -> Field:
    """Something to see, and nothing that no file can hold."""

    def fits(value: Any) -> bool:
        if not isinstance(value, str) or len(value) > longest:
            return False
        seen = any(letter.isprintable() and not letter.isspace() for letter in value)
        return seen and not any("\ud800" <= letter <= "\udfff" for letter in value)

    return Field(f"text of at most {longest:,} letters", fits)


def _list_of(field: Field) -> Field:
    return Field(field.expected.replace("text", "a list of texts", 1), all_of(field.fits))


TEXT, LONG_TEXT = _text(1000), _text(10_000)
TEXTS, LONG_TEXTS = _list_of(TEXT), _list_of(LONG_TEXT)
NUMBER = Field("a number of at most 1e9", lambda v: is_number(v) and abs(v) <= LARGEST)
WHOLE = Field("a whole number above 0", lambda v: is_whole(v) and v <= LARGEST)
_WHOLES = Field("a list of whole numbers above 0", all_of(WHOLE.fits))

_LOWER = "lower_is_better"  # of a score; usual, and then left out
# What people state about a model; null where nobody did.
_STATED = {
    "backbone": or_null(TEXT),
    "standalone": Field("true, false (a combination) or null", or_null(FLAG).fits),
    "extra_data": or_null(TEXT),  # what it was trained on besides the usual
    "seen_corruptions": or_null(TEXTS),  # those of the suite that it was trained on
}
MODEL = {
    "name": TEXT,
    "identity": TEXT,
    "preprocessing": LONG_TEXT,
    "precision": TEXT,
    "defence": defences_of(LONG_TEXT),  # what stands before the model
    "adapted": FLAG,  # to the images of a test
    **_STATED,
}
# Circumstances of all scores, and those of each; together the fields of `Circumstances`.
SHARED = {
    "suite": TEXT,
    "version": WHOLE,
    "suite_hash": TEXT,
    "kind": one_of(SUITE_KINDS),
    "recipe": TEXT,
    "made": TEXT,
    "total": or_null(WHOLE),
}
# Of the suite's classes, and of all predictions, unless it says otherwise.
WHOSE = {
    "labels": one_of(LABELLED),
    "sampled": Field("two whole numbers above 0", lambda v: _WHOLES.fits(v) and len(v) == 2),
}
OWN = {
    "names": TEXTS,
    "levels": _WHOLES,
    "reference": or_null(TEXT),
    "images": WHOLE,
    "images_hash": TEXT,
}
SCORE = {
    "name": TEXT,
    "value": NUMBER,
    "unit": Field('"%" or ""', lambda v: v in ("%", "")),
    "low": NUMBER,
    "high": NUMBER,
    "level": Field(str(LEVEL), lambda v: is_number(v) and v == LEVEL),
    **OWN,
    "resampling": TEXT,
}
_RESULT = {
    "hardy_result": Field(str(VERSION), lambda v: is_whole(v) and v == VERSION),
    "model": TABLE,
    "circumstances": TABLE,
    "headline": TEXTS,
    "scores": Field("a list of scores", TABLES.fits),
    "notes": LONG_TEXTS,
    "provenance": TABLE,
}


def result_of(scores: Scores, stated: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Plain values. `stated` are fields of the model that only its maker knows."""
    details = scores.run.details
    first = scores.headline[0].circumstances
    return {
        "hardy_result": VERSION,
        "model": {
            "name": scores.model,
            "identity": details["model_identity"],
            "preprocessing": details["preprocessing"],
            "precision": details["precision"],
            "defence": [asdict(one) for one in scores.run.defences] or None,
            "adapted": scores.run.adapted,
            **dict.fromkeys(_STATED),
            **_trained(scores.run),
            "seen_corruptions": scores.seen,
            **(stated or {}),
        },
        "circumstances": {name: getattr(first, name) for name in SHARED} | _unusual(first),
        "headline": [score.name for score in scores.headline],
        "scores": [_plain(score) for score in scores.values()],
        "notes": list(scores.notes),
        "provenance": {
            **{name: details[name] for name in ("identity", "labels", "seed", "width")},
            # Not where the images lie: that is nobody's business but the user's.
            "sessions": [
                {key: value for key, value in session.items() if key != "source"}
                for session in details["sessions"]
            ],
        },
    }


def _unusual(around: Circumstances) -> dict[str, Any]:
    said = {name: getattr(around, name) for name in WHOSE}
    return {name: value for name, value in said.items() if value not in ("suite", None)}


def _plain(score: Score) -> dict[str, Any]:
    """Lower is better unless it says otherwise."""
    kept = {name: value for name, value in score.as_dict().items() if name in SCORE}
    return kept if score.lower_is_better else {**kept, _LOWER: False}


def _trained(run: StoredRun) -> dict[str, Any]:
    known = run.trained
    if known is None:
        return {}
    return {"backbone": known.net, "standalone": known.standalone(defended=bool(run.defence))}


def write_scores(scored: Iterable[Scores], tell: Callable[[str], None]) -> str:
    """The text of a file of all that can be ranked. An attack stores answers to clean images alone:
    of such runs there is no result, and each is told."""
    ranked: list[Scores] = []
    clean: list[Scores] = []
    for scores in scored:
        (ranked if scores.headline[0].circumstances.names else clean).append(scores)
    if not ranked:
        raise InputError(
            "expected predictions on a suite's corruptions for a result file, got only clean "
            f"images of {', '.join(dict.fromkeys(scores.model for scores in clean))}; run "
            "`hardy eval` without an attack"
        )
    for scores in clean:
        tell(
            f"left out: {scores.model} on {scores.run.suite}, which holds predictions on clean "
            "images only; run `hardy eval` on the suite's corruptions, without an attack"
        )
    return write_results([result_of(scores) for scores in ranked])


def write_results(results: Sequence[Mapping[str, Any]]) -> str:
    """The text of a file; checked, so that what Hardy writes it also reads."""
    plain = json.loads(json.dumps(results))  # lists for tuples, as a reader has them
    for result in plain:
        parse_result(result, f"result of {result['model']['name']}")
    content = plain[0] if len(plain) == 1 else plain
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_results(path: Path) -> list[ResultFile]:
    try:
        content = read_json(path, "a result file in JSON", "correct the file", pairs=_each_once)
    except OSError as error:
        raise InputError(
            f"{path}: expected a result file in JSON, but {why_unread(error)}"
        ) from error
    if not isinstance(content, list):
        return [parse_result(content, str(path))]
    if not content:
        raise InputError(f"{path}: expected at least one result, got an empty list")
    return [parse_result(one, f"{path} [{place}]") for place, one in enumerate(content)]


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a field that comes twice: readers disagree on which one counts."""
    table: dict[str, Any] = {}
    for name, value in pairs:
        if name in table:
            raise ValueError(f"the field {brief(name)} comes twice in one table")
        table[name] = value
    return table


def parse_result(data: Any, where: str) -> ResultFile:
    if isinstance(data, dict):  # before the fields, which another version may call otherwise
        right, got = _RESULT["hardy_result"], data.get("hardy_result")
        expect(right.fits(got), right.expected, got, f"{where}: hardy_result")
    check_table(data, _RESULT, where)
    check_table(data["model"], MODEL, where, prefix="model.")
    check_table(data["circumstances"], SHARED, where, optional=WHOSE, prefix="circumstances.")
    _check_kind(data["circumstances"], f"{where}: circumstances.kind")
    _check_finite(data["provenance"], f"{where}: provenance")
    labels = data["provenance"].get("labels")  # where files of Hardy 0.1 say it alone
    shared = {"labels": labels if labels in LABELLED else "suite", **data["circumstances"]}
    scores: dict[str, Score] = {}
    for place, entry in enumerate(data["scores"]):
        spot = f"scores[{place}]."
        check_table(entry, SCORE, where, optional={_LOWER: FLAG}, prefix=spot)
        name = entry["name"]
        expect(name not in scores, "each score once", name, f"{where}: {spot}name")
        scores[name] = _score(entry, shared, f"{where}: {spot}")
    _check_headline(data["headline"], data["circumstances"]["kind"], scores, f"{where}: headline")
    notes = tuple(data["notes"])
    return ResultFile(data["model"], scores, tuple(data["headline"]), notes, data["provenance"])


def _check_finite(value: Any, where: str) -> None:
    inner: Iterable[tuple[object, Any]] = ()
    if isinstance(value, dict):
        inner = ((f".{name}", one) for name, one in value.items())
    elif isinstance(value, list):
        inner = ((f"[{place}]", one) for place, one in enumerate(value))
    elif isinstance(value, float):
        expect(math.isfinite(value), "a finite number", value, where)
    for name, one in inner:
        _check_finite(one, f"{where}{name}")


def _check_kind(shared: Mapping[str, Any], where: str) -> None:
    """The kind is that of the suite, where Hardy has the suite; else the file is believed."""
    if shared["suite"] in suite_names():
        kind = load(shared["suite"]).kind
        expect(shared["kind"] == kind, f"{kind}, as {shared['suite']} is", shared["kind"], where)


def _check_numbers(score: Score, where: str) -> None:
    """An interval around the value, of what such a score can be."""
    value, (low, high), around = score.value, score.interval, score.circumstances
    slack = SLACK * max(1, abs(value))
    expect(low <= high, f"at least low, {low}", high, f"{where}high")
    expect(low - slack <= value, f"at least low, {low}", value, f"{where}value")
    expect(value <= high + slack, f"at most high, {high}", value, f"{where}value")
    if not score.signed:
        expect(value >= -slack, "0 or more", value, f"{where}value")
    if score.unit:
        expect(value <= 100 + slack, "at most 100 %", value, f"{where}value")
    if around.names:
        expect(bool(around.levels), "those of its names", [], f"{where}levels")
    for field, values in (("names", around.names), ("levels", around.levels)):
        expect(len(set(values)) == len(values), "each once", list(values), f"{where}{field}")


def _check_headline(quoted: list[str], kind: str, scores: Mapping[str, Score], where: str) -> None:
    """What Hardy quotes, in its order: the first is what ranks. Metrics that somebody added may
    come after it."""
    order = headline_labels(kind)
    expect(bool(quoted), "the name of a score", quoted, where)
    for place, name in enumerate(quoted):
        expect(name in scores, "the name of a score", name, f"{where}[{place}]")
        ours = name in order or (place > 0 and not scores[name].metric)
        expect(ours, f"one of {', '.join(order)}", name, f"{where}[{place}]")
    ranking = scores[quoted[0]]
    expect(bool(ranking.circumstances.names), f"a score of {kind}", ranking.name, f"{where}[0]")
    places = [order.index(name) for name in quoted if name in order]
    once = len(set(quoted)) == len(quoted)
    in_order = once and places == sorted(places)
    expect(in_order, f"each once, in the order {list(order)}", quoted, where)


def _score(entry: Mapping[str, Any], shared: Mapping[str, Any], where: str) -> Score:
    fields = {**shared, **{name: entry[name] for name in OWN}}
    lists = ("names", "levels", "sampled")
    fields |= {name: tuple(fields[name]) for name in lists if name in fields}
    metric, part = find_metric(entry["name"], entry["names"], shared["kind"]) or (None, "")
    lower = entry.get(_LOWER, metric.lower_is_better if metric else True)
    if metric is not None and lower != (usual := metric.lower_is_better):
        expect(False, str(usual).lower(), lower, f"{where}{_LOWER}")
    score = Score(
        entry["name"],
        float(entry["value"]),
        Interval(float(entry["low"]), float(entry["high"])),
        entry["unit"],
        Circumstances(**fields),
        entry["resampling"],
        np.empty(0),
        lower,
        metric is None or metric.signed,
        metric.name if metric else "",
        part,
    )
    _check_numbers(score, where)
    return score
