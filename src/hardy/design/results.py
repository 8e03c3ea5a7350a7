"""The folder of an overlap experiment: its record, and the results that follow from it. Neither
torch nor the images are needed.

| name              | what                                                                         |
|-------------------|------------------------------------------------------------------------------|
| `experiment.json` | what is trained and tested; begun once, then only continued                  |
| `SUITE.toml`      | the suite, where it is none of Hardy's or was fitted to the images           |
| `models/NAME/`    | the log of each training; weights until the model has been tested            |
| `predictions/`    | a store, as `hardy eval` makes it                                            |
| `features.npz`    | how corruptions move the clean model's features (`hardy.design.proxy`)       |
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.design.accuracy import Accuracy, Collected, check_names, collect, columns_of, times_right
from hardy.design.overlap_score import FORMS, Overlap, resample_accuracy, resampled_overlap
from hardy.design.proxy import (
    Agreement,
    Features,
    agree,
    read_features,
    shared_errors,
    similarities,
)
from hardy.documents import check_record, read_json
from hardy.errors import InputError
from hardy.files import begin, write_file, write_record
from hardy.metrics.classification import Floats
from hardy.schema import TABLE, TEXT, Field, all_of, is_text, is_whole
from hardy.scores.text_tables import to_csv
from hardy.store.reader import StoredRun, open_run
from hardy.suites.cells import NONE, Cell
from hardy.train.hyperparameters import with_additions
from hardy.variants.disk.manifest import parse_cell

FORMAT = 1
EXPERIMENT, FEATURES, FINISHED = "experiment.json", "features.npz", "finished.json"
MODELS, PREDICTIONS = "models", "predictions"
# What may differ between the sessions of one experiment.
_OF_THE_EXPERIMENT = ("versions", "device", "data", "test", "streamed.decoder")


def begin_overlap(out: Path, wanted: Mapping[str, Any]) -> None:
    """Begin the experiment, or make sure that the one in the folder is the same."""

    def read(path: Path) -> dict[str, Any]:
        found = _read_json(path)
        return {**found, "recipe": with_additions(found.get("recipe"))}

    begin(out / EXPERIMENT, wanted, read, "an overlap", of_the_session=_OF_THE_EXPERIMENT)


def _read_json(path: Path, schema: Mapping[str, Field] | None = None) -> dict[str, Any]:
    """A record of which at least the fields of the schema are used."""
    anew = "begin anew in another folder"
    try:
        found = read_json(path, "JSON", anew)
        # What JSON has no words for, but is read: NaN, 1e999, half a pair of surrogates.
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"expected a folder that `hardy overlap` wrote, but {path} is not there"
        ) from None
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}); {anew}") from error
    return check_record(found, schema or {}, path, "restore the file, or begin anew elsewhere")


def _are_cells(value: Any) -> bool:
    return all_of(_is_cell)(value) and len(set(value)) == len(value)


def _is_cell(value: Any) -> bool:
    return is_text(value) and re.fullmatch(r"\w{1,100}:[0-9]{1,2}", value) is not None


def _is_recipe(value: Any) -> bool:
    return TABLE.fits(value) and is_text(value.get("net")) and is_whole(value.get("epochs"))


# What is used of an experiment's record.
_RECORDED = {
    "format": Field(f"{FORMAT} (update hardy for a later one)", (FORMAT,).__contains__),
    "cells": Field("a list of corruptions with severities, such as fog:3, each once", _are_cells),
    "suite": TEXT,
    "recipe": Field("a table with net, a text, and epochs, a whole number above 0", _is_recipe),
}


@dataclass(frozen=True, eq=False)
class OverlapResults:
    """What an experiment shows: overlaps with their intervals, and how well the stand-in agrees."""

    experiment: Mapping[str, Any]  # as it was begun: suite, data, recipe, versions
    names: tuple[str, ...]
    similarities: Mapping[str, Floats]  # the stand-in's, by kind
    # Empty as long as only the clean model is finished.
    accuracy: Accuracy | None = None
    overlaps: tuple[Overlap, ...] = ()
    agreements: Mapping[str, Mapping[str, Agreement]] = field(default_factory=dict)  # form, kind
    images: int = 0
    resampling: str = ""
    written: tuple[Path, ...] = ()  # the files that `hardy.overlap` wrote
    undrawn: Mapping[str, str] = field(default_factory=dict)  # pictures it could not draw, and why

    @property
    def costless(self) -> tuple[str, ...]:
        """Corruptions that cost the clean model nothing, whose errors are like no other's."""
        own = np.diagonal(self.similarities["errors"])
        return tuple(name for name, one in zip(self.names, own, strict=True) if math.isnan(one))

    def pairs(self) -> Iterator[dict[str, Any]]:
        """A row for each pair of corruptions; None for what is undefined."""
        columns: dict[str, Floats | None] = {}
        for one in self.overlaps:
            columns |= {
                one.form: one.values,
                f"{one.form}_low": one.low,
                f"{one.form}_high": one.high,
            }
        columns |= self.similarities
        for a, b in combinations(range(len(self.names)), 2):
            yield {"first": self.names[a], "second": self.names[b]} | {
                name: None if math.isnan(matrix[a, b]) else float(matrix[a, b])
                for name, matrix in columns.items()
                if matrix is not None
            }


class MeasuredOverlap(NamedTuple):
    """What the results of a finished experiment are computed from."""

    experiment: Mapping[str, Any]
    collected: Collected
    features: Features


def summarise(out: Path) -> OverlapResults:
    """The results of all models, or of the stand-in while only the clean model is finished."""
    experiment, cells, names = _begun(out)
    if any((out / MODELS / name / FINISHED).exists() for name in names):
        return analyse(read_measured(out))
    features = read_features(out / FEATURES, names)
    columns = columns_of(names, cells)
    correct = times_right(_run(out, NONE), columns)
    severities = np.array([len(column) for column in columns])
    return OverlapResults(experiment, names, _stand_in(features, correct, severities))


def read_measured(out: Path) -> MeasuredOverlap:
    """The measurements of an experiment all of whose models are finished."""
    experiment, cells, names = _begun(out)
    features = read_features(out / FEATURES, names)
    missing = [name for name in names if not (out / MODELS / name / FINISHED).exists()]
    if missing:
        raise InputError(
            f"expected all {len(names)} models of {out}, but {len(missing)} are not finished, such "
            f"as that of {missing[0]}; the same `hardy overlap` goes on with them"
        )
    runs = {name: _run(out, name) for name in (NONE, *names)}
    return MeasuredOverlap(experiment, collect(runs, cells, experiment.get("test_hash")), features)


def analyse(measured: MeasuredOverlap) -> OverlapResults:
    experiment, gathered, features = measured
    found = _stand_in(features, gathered.correct[:, 0], gathered.severities)
    replicates = resample_accuracy(gathered.correct, gathered.severities, gathered.how)
    overlaps = tuple(resampled_overlap(gathered.accuracy, replicates, form) for form in FORMS)
    agreements: dict[str, dict[str, Agreement]] = {
        one.form: {
            kind: agreement
            for kind, matrix in found.items()
            if (agreement := agree(matrix, one.values)) is not None
        }
        for one in overlaps
    }
    return OverlapResults(
        experiment,
        gathered.accuracy.names,
        found,
        gathered.accuracy,
        overlaps,
        agreements,
        len(gathered.correct),
        str(gathered.how),
    )


def write_overlap(results: OverlapResults, out: Path) -> list[Path]:
    """The matrices and all pairs as CSV, and everything with its circumstances as JSON."""
    texts = {
        f"similarity_{kind}.csv": square_csv("corruption", results.names, matrix)
        for kind, matrix in results.similarities.items()
    }
    texts["overlap_pairs.csv"] = to_csv(list(results.pairs()))
    if results.accuracy is not None:
        every, values = (NONE, *results.names), results.accuracy.values
        texts["accuracy.csv"] = square_csv("trained_with", every, values)
    for one in results.overlaps:
        texts[f"overlap_{one.form}.csv"] = square_csv("corruption", one.names, one.values)
    for name, text in texts.items():
        write_file(out / name, text.encode())
    write_record(out / "overlap.json", _as_json(results))
    return [out / name for name in (*texts, "overlap.json")]


def square_csv(corner: str, names: Sequence[str], values: Floats) -> str:
    """Names across and down; every digit, and nothing for NaN."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([corner, *names])
    for name, row in zip(names, values, strict=True):
        writer.writerow([name, *("" if np.isnan(value) else repr(float(value)) for value in row)])
    return out.getvalue()


def _begun(out: Path) -> tuple[dict[str, Any], list[Cell], tuple[str, ...]]:
    """The record, its cells, and the corruptions among them."""
    experiment = _read_json(out / EXPERIMENT, _RECORDED)
    cells = [parse_cell(text) for text in experiment["cells"]]
    names = tuple(dict.fromkeys(cell.name for cell in cells))
    try:
        check_names(names)
    except InputError as error:
        raise InputError(f"{out / EXPERIMENT}: {error}") from None
    return experiment, cells, names


def _stand_in(
    features: Features, correct: npt.NDArray[np.uint8], severities: Floats
) -> dict[str, Floats]:
    """The stand-in's similarities, of all kinds; `correct` (images, n + 1) is the clean model's."""
    return {**similarities(features), "errors": shared_errors(correct, severities)}


def _run(out: Path, name: str) -> StoredRun:
    finished = _read_json(out / MODELS / name / FINISHED, {"predictions": TEXT})
    return open_run(out / PREDICTIONS / finished["predictions"])


def _as_json(results: OverlapResults) -> dict[str, Any]:
    return {
        "experiment": dict(results.experiment),
        "images": results.images,
        "resampling": results.resampling,
        "accuracy": results.accuracy and results.accuracy.values.tolist(),
        "undefined": {one.form: list(one.undefined) for one in results.overlaps},
        "agreement": {
            form: {kind: one._asdict() for kind, one in some.items()}
            for form, some in results.agreements.items()
        },
        # JSON has no number for what is unbounded.
        "pairs": [
            {key: None if value == math.inf else value for key, value in pair.items()}
            for pair in results.pairs()
        ],
    }
