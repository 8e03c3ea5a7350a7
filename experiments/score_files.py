"""Scores in JSON, those with replicates to be paired with scores that were made elsewhere.

Replicates of runs on the same images drew the same images, on whatever machine, so that a thousand
numbers are all that a paired interval needs of a run.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from hardy.corrupt import CORRUPTIONS
from hardy.errors import InputError
from hardy.files import whole_file
from hardy.metrics import Interval, error
from hardy.metrics.stability import flips
from hardy.scores import Scores
from hardy.scores.score import Circumstances, Score, score_of

FORMAT = 1
# Names of scores that no suite has.
WITHOUT_NOISE, SHIFT_FLIPS = "error without noise", "shift flips"
# The first to look at of a run.
PAIRED = ("clean error", "mean error", "validation error")
C_BAR_MEAN = "mean error of C̄"
REPEATED_TUNING, AGAIN = "tuning again", "-again"  # a group, and what its names go on with

Records = Mapping[str, Mapping[str, Any]]  # by name


def keep(score: Score, *, replicates: bool = True) -> dict[str, Any]:
    raw = score.replicates.astype("<f4").tobytes() if replicates else b""
    kept = {**score.as_dict(), "metric": score.metric, "part": score.part}
    return {**kept, "replicates": base64.b64encode(raw).decode()}


def restore(entry: Mapping[str, Any]) -> Score:
    around = {f.name: entry[f.name] for f in fields(Circumstances) if f.name in entry}
    around |= {name: tuple(around[name]) for name in ("names", "levels")}
    raw = np.frombuffer(base64.b64decode(entry["replicates"]), "<f4")
    return Score(
        entry["name"],
        entry["value"],
        Interval(entry["low"], entry["high"]),
        entry["unit"],
        Circumstances(**around),
        entry["resampling"],
        raw.astype(np.float64),
        metric=entry.get("metric", ""),
        part=entry.get("part", ""),
    )


def of_corruptions(scores: Scores) -> list[dict[str, Any]]:
    """The means to be paired, and single corruptions without replicates."""
    means = [scores[name] for name in PAIRED if name in scores]
    if "mean error" in scores:
        means.append(without_noise(scores))
    singles = [one for one in scores.values() if (one.metric, one.part) == (error.name, "single")]
    return [keep(score) for score in means] + [keep(score, replicates=False) for score in singles]


def of_c_bar(scores: Scores) -> list[dict[str, Any]]:
    """The mean alone, by a name of its own: that of -C has the plain one."""
    return [keep(replace(scores["mean error"], name=C_BAR_MEAN))]


def of_sequences(scores: Scores) -> list[dict[str, Any]]:
    whole = scores[flips.mean]
    singles = [scores[flips.single_label(name)] for name in whole.circumstances.names]
    return [keep(score) for score in (whole, *singles)]


def without_noise(scores: Scores) -> Score:
    """Over the counted corruptions that are no noise, which some trainings show."""
    whole = scores["mean error"].circumstances
    names = tuple(name for name in whole.names if CORRUPTIONS[name].category != "noise")
    parts = [scores[error.single_label(name)] for name in names]
    return score_of(
        WITHOUT_NOISE,
        float(np.mean([part.value for part in parts])),
        np.mean([part.replicates for part in parts], axis=0),
        replace(whole, names=names),
        parts[0].resampling,
        metric=error,
    )


def write(path: Path, record: Mapping[str, Any] | list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write((json.dumps(record, indent=1) + "\n").encode())


def read(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Records by name, from files of one or of a list, and folders of files; later ones count."""
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            content = _content(file)
            for record in content if isinstance(content, list) else [content]:
                if not isinstance(record, dict) or record.get("format") != FORMAT:
                    raise InputError(f"{file}: expected what `experiments.cifar10 run` writes")
                found[record["name"]] = record
    return found


def repeated_tuning(rounds: Iterable[Records]) -> dict[str, dict[str, Any]]:
    """Records of tuning that was repeated, shown beside those that chose a setting."""
    return {
        (again := f"{name}{AGAIN}{number}"): {**record, "name": again, "group": REPEATED_TUNING}
        for number, records in enumerate(rounds, 1)
        for name, record in records.items()
        if record.get("group") == "tuning"
    }


def has_other_rounds(records: Records) -> bool:
    return any(record.get("group") == REPEATED_TUNING for record in records.values())


def _content(file: Path) -> Any:
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file}: expected JSON that can be read ({error})") from error


def validation_errors(records: Records) -> dict[str, float]:
    """The validation errors of the trainings that settings are chosen from."""
    return {
        name: entry["value"]
        for name, record in records.items()
        if record.get("group") == "tuning"
        for entry in record["scores"]
        if entry["name"] == "validation error"
    }
