"""Stored runs by the names people call them."""

import os
from collections.abc import Iterable, Sequence
from typing import NoReturn

from hardy.errors import InputError, printable
from hardy.places import locate
from hardy.registry import unknown
from hardy.store.reader import StoredRun, find_runs


def readable_runs(store: str | os.PathLike[str]) -> tuple[list[StoredRun], list[str]]:
    """The runs of a store, and why others cannot be read; refused where none can be."""
    faults: list[str] = []
    runs = find_runs(locate(store), faults)
    if not runs:
        raise InputError(faults[0])
    return runs, faults


def choose(runs: Sequence[StoredRun], name: str, suite: str | None = None) -> StoredRun:
    """Find the run that goes by a name: the model's, or one that it had before; with its kind or
    without (`resnet50` for timm:resnet50), the folder's, the one in tables, or the start of any, or
    else any part, where just one has it."""
    fitting = of_suite(runs, suite)
    found = _called(fitting, name)
    if not found:
        raise unknown("model", name, dict.fromkeys(run.model for run in fitting))
    if len(found) > 1:
        _ambiguous(found, name)
    return found[0]


def choose_all(runs: Sequence[StoredRun], names: Iterable[str]) -> list[StoredRun]:
    """The runs of these models, on every suite that they were run on."""
    suites = dict.fromkeys(run.suite for run in runs)
    found: dict[str, StoredRun] = {}
    for name in names:
        there = {run.suite for run in _called(runs, name)}
        if not there:
            choose(runs, name)  # says that nobody is called so
        for suite in suites:
            if suite in there:
                run = choose(runs, name, suite)
                found[run.folder.name] = run
    return list(found.values())


def of_suite(runs: Sequence[StoredRun], suite: str | None) -> list[StoredRun]:
    if suite is None:
        return list(runs)
    fitting = [run for run in runs if run.suite == suite]
    if not fitting:
        raise unknown("suite among these runs", suite, dict.fromkeys(run.suite for run in runs))
    return fitting


def _called(runs: Sequence[StoredRun], name: str) -> list[StoredRun]:
    name = printable(name)  # as it is stored
    exact = [run for run in runs if name in (run.model, run.folder.name, distinct_name(run))]
    if exact or not name:
        return exact
    former = [run for run in runs if name in run.former_names]
    if former:
        return former
    plain = [run for run in runs if name == _plain(run.model)]
    starts = [run for run in runs if any(one.startswith(name) for one in _names(run))]
    return plain or starts or [run for run in runs if any(name in one for one in _names(run))]


def _names(run: StoredRun) -> tuple[str, ...]:
    return run.model, run.folder.name, _plain(run.model)


def first_run(run: StoredRun) -> str:
    """The day and hour of its first session; "" where none says."""
    started = [str(one["started"]) for one in run.details["sessions"] if one.get("started")]
    return started[0][:16].replace("T", " ") if started else ""


def distinct_name(run: StoredRun) -> str:
    """Its name in a table with others of that name: with the start of the run's identity."""
    return f"{run.model} @{run.identity.hash()[:8]}"


def _plain(model: str) -> str:
    """Without what kind it is of."""
    return model.partition(":")[2] or model


def _ambiguous(found: list[StoredRun], name: str) -> NoReturn:
    suites = list(dict.fromkeys(run.suite for run in found))
    models = {run.model for run in found}
    todo = f"name one of the folders: {', '.join(map(_dated_folder, found))}"
    if len(models) == 1 and len(suites) == len(found):
        todo = f"name a suite: {', '.join(suites)}"
    elif len(models) == len(found):
        todo = f"name one of {', '.join(run.model for run in found)}"
    raise InputError(f'expected one run called "{name}", got {len(found)}; {todo}')


def _dated_folder(run: StoredRun) -> str:
    when = first_run(run)
    return run.folder.name + (f" ({when})" if when else "")
