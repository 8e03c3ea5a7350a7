"""Accuracies that somebody else measured, as a CSV file for `hardy correlate` and `hardy report
--points`."""

import csv
import io
from pathlib import Path
from typing import NamedTuple

from hardy.documents import read_document
from hardy.errors import InputError

ACCURACY_COLUMNS = ("model", "suite", "clean", "accuracy")


class MeasuredModel(NamedTuple):
    """One line: accuracies on clean images and on those of a suite, in shares of 1."""

    model: str
    suite: str
    clean: float
    accuracy: float


def read_accuracies(path: Path) -> list[MeasuredModel]:
    """All lines of a CSV with the columns model, suite, clean and accuracy; others are ignored."""
    try:
        text = read_document(path).decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""))
        lines = [(reader.line_num, line) for line in reader]
        names = list(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path} ({error}); expected a CSV file") from error
    missing = [name for name in ACCURACY_COLUMNS if name not in names]
    if missing:
        raise InputError(
            f"{path}: expected the columns {', '.join(ACCURACY_COLUMNS)}, got no "
            f"{', '.join(missing)}"
        )
    for name in ACCURACY_COLUMNS:
        if names.count(name) > 1:
            raise InputError(
                f"{path}: expected the column {name} once, got it {names.count(name)} times"
            )
    if not lines:
        raise InputError(f"{path}: expected results below the header, got none")
    rows = []
    for number, line in lines:
        try:
            clean, accuracy = float(line["clean"]), float(line["accuracy"])
        except (TypeError, ValueError):
            raise InputError(
                f"{path}, line {number}: expected clean and accuracy as numbers, got "
                f"{line['clean']!r} and {line['accuracy']!r}"
            ) from None
        model, suite = line["model"], line["suite"]
        if not all(name and name.strip() for name in (model, suite)):
            raise InputError(
                f"{path}, line {number}: expected the names of a model and a suite, got {model!r} "
                f"and {suite!r}"
            )
        rows.append(MeasuredModel(model, suite, clean, accuracy))
    return rows


def check_shares(clean: float, accuracy: float, what: str) -> None:
    """Refuse per cents, and whatever else is no share of 1."""
    for name, value in (("clean accuracy", clean), ("accuracy", accuracy)):
        if not 0 <= value <= 1:  # also no number
            todo = "; divide per cents by 100" if 1 < value <= 100 else ""
            raise InputError(
                f"expected the {name} of {what} as a share from 0 to 1, got {value}{todo}"
            )
