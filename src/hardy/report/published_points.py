"""What others published, in the shape the plots need."""

from collections.abc import Sequence
from typing import NamedTuple

from hardy.metrics import error
from hardy.suites import published
from hardy.suites.published.printed_table import PrintedNumber, PublishedTable


class PublishedPoint(NamedTuple):
    name: str
    accuracy: float  # on clean images, in percent
    value: float
    source: str


class PublishedProfile(NamedTuple):
    """A row of a table with a number per corruption."""

    name: str
    values: dict[str, float]
    source: str


def points(suite: str, metric: str) -> list[PublishedPoint]:
    """Models with both a clean accuracy and that metric; equal numbers once, as first printed."""
    found: dict[tuple[float, float], PublishedPoint] = {}
    for table in _tables(suite):
        if metric not in table.columns:
            continue
        for row, values in table.rows.items():
            accuracy, value = _accuracy(values), values[metric]
            if accuracy is None or value is None or value.is_bound:
                continue
            if table.comparable(row, metric):
                point = PublishedPoint(table.label(row), accuracy, value.value, table.source)
                found.setdefault((round(accuracy, 1), round(value.value, 1)), point)
    return list(found.values())


def profiles(suite: str, metric: str, names: Sequence[str]) -> list[PublishedProfile]:
    """Models with that metric for all of these corruptions; equal rows once."""
    found: dict[tuple[int, ...], PublishedProfile] = {}
    for table in _tables(suite):
        if table.metric != metric or not set(names) <= set(table.entries):
            continue
        for row, values in table.rows.items():
            numbers = {name: value.value for name in names if (value := values[name]) is not None}
            if len(numbers) == len(names) and set(numbers.values()) != {100.0}:  # the reference
                key = tuple(map(round, numbers.values()))
                found.setdefault(key, PublishedProfile(table.label(row), numbers, table.source))
    return list(found.values())


def _tables(suite: str) -> list[PublishedTable]:
    tables = [published.load_table(name) for name in published.table_names()]
    # The paper of the benchmark comes first, so that equal numbers keep the name it gives them.
    tables.sort(key=lambda table: not table.original)
    return [table for table in tables if table.suite == suite and table.verified]


def _accuracy(values: dict[str, PrintedNumber | None]) -> float | None:
    printed, accuracy = values.get(error.clean), values.get("clean accuracy")
    if printed is not None:
        return 100 - printed.value
    return None if accuracy is None else accuracy.value
