"""Stored runs by the names people call them."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from hardy.errors import InputError, printable
from hardy.places import locate
from hardy.registry import unknown
from hardy.store.claims import Claims
from hardy.store.reader import StoredRun, find_runs
from hardy.store.records import CLAIMS
from hardy.store.run_names import label_of, place_of


def readable_runs(store: str | os.PathLike[str]) -> tuple[list[StoredRun], list[str]]:
    """The runs of a store, and why others cannot be read; refused where none can be."""
    faults: list[str] = []
    runs = find_runs(locate(store), faults)
    if not runs:
        raise InputError(faults[0])
    return runs, faults


def choose(runs: Sequence[StoredRun], name: str, suite: str | None = None) -> StoredRun:
    """Find the run that goes by a name: the model's, another that it is evaluated by, one that it
    had before, the folder's or the one in tables.

    A name may lack its kind (`resnet50` for timm:resnet50). Where no run has it whole, it may be
    the start of one, or else any part, if just one run has that. MODEL@FILE may be written as it
    was typed for `hardy eval`.
    """
    fitting = of_suite(runs, suite)
    found = _called(fitting, name)
    if not found:
        if others := _called(fitting, name, anywhere=True):
            raise InputError(
                f'expected the run of "{name}", whose file lies here, got one of a file that is '
                "called alike, in another folder or with other weights; evaluate this one, or name "
                f"the folder of the other: {', '.join(map(_dated_folder, others))}"
            )
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


def _called(runs: Sequence[StoredRun], name: str, *, anywhere: bool = False) -> list[StoredRun]:
    """Those that go by a name; if it names a file that lies here, this one, or one `anywhere`."""
    wanted = _typed(printable(name))  # as it is stored
    claims = Claims(run.details for run in runs)
    if not anywhere:
        runs = _by_file_here(runs, wanted, claims)

    def held(run: StoredRun, names: Iterable[str]) -> list[str]:
        return [name for name in names if claims.hold(run.details, name)]

    def typed(run: StoredRun) -> list[str]:
        return held(run, (*run.names, *run.details[CLAIMS]))

    for names_of in (
        lambda run: [*typed(run), run.folder.name, distinct_name(run)],
        lambda run: held(run, run.former_names),
        lambda run: _without_kind(typed(run)),
    ):
        found = [run for run in runs if wanted in map(_typed, names_of(run))]
        if found or not wanted:
            return found
    names = [
        (run, [_typed(one) for one in (*own, run.folder.name, *_without_kind(own))])
        for run in runs
        for own in [held(run, run.names)]
    ]
    starts = [run for run, its in names if any(one.startswith(wanted) for one in its)]
    return starts or [run for run, its in names if any(wanted in one for one in its)]


def _by_file_here(runs: Sequence[StoredRun], wanted: str, claims: Claims) -> Sequence[StoredRun]:
    """The runs without those of files that are called like one that lies here, and are others."""
    file = wanted.rpartition("@")[2]
    if "@" not in wanted or not os.path.isfile(file):
        return runs
    place = place_of(file)

    def is_meant(name: str) -> bool:
        return wanted in (_typed(name), _typed(label_of(name)))

    return [run for run in runs if claims.is_of_file(run.details, place, is_meant)]


def _typed(name: str) -> str:
    """MODEL@FILE as it is typed, the shortest way; tables have spaces in it."""
    model, at, file = name.replace(" @ ", "@").rpartition("@")
    return f"{model}{at}{Path(file)}" if at and os.path.dirname(file) else f"{model}{at}{file}"


def _without_kind(names: Iterable[str]) -> list[str]:
    return [name.partition(":")[2] or name for name in names]


def other_names(run: StoredRun, typed: Iterable[str]) -> list[str]:
    """Which of the names that were typed are others of the run than its own."""
    every = (*run.names, *run.former_names, *run.details[CLAIMS])
    others = {_typed(one) for one in every if run.model not in (one, label_of(one))}
    return [name for name in map(printable, typed) if _typed(name) in others]


def stored_as(called: str | None, name: str) -> str:
    """A run's name, behind that which it was asked for by, if it is another."""
    return name if called is None else f"{called}, stored as {name}"


def overtaken(runs: Sequence[StoredRun]) -> dict[str, str]:
    """Runs whose own name means another one by now, by folder, and what to call them."""
    claims = Claims(run.details for run in runs)
    return {
        run.folder.name: distinct_name(run)
        for run in runs
        if not claims.hold(run.details, run.model)
    }


def first_run(run: StoredRun) -> str:
    """The day and hour of its first session; "" where none says."""
    started = [str(one["started"]) for one in run.details["sessions"] if one.get("started")]
    return started[0][:16].replace("T", " ") if started else ""


def distinct_name(run: StoredRun) -> str:
    """Its name in a table with others of that name: with the start of the run's identity."""
    return f"{run.model} @{run.identity.hash()[:8]}"


def _ambiguous(found: list[StoredRun], name: str) -> NoReturn:
    suites = list(dict.fromkeys(run.suite for run in found))
    models = {run.model for run in found}
    todo = f"name one of the folders: {', '.join(map(_dated_folder, found))}"
    if len(models) == 1 and len(suites) == len(found):
        todo = f"name a suite: {', '.join(suites)}"
    elif len(models) == len(found) and all(len(_called(found, one)) == 1 for one in models):
        todo = f"name one of {', '.join(run.model for run in found)}"
    raise InputError(f'expected one run called "{name}", got {len(found)}; {todo}')


def _dated_folder(run: StoredRun) -> str:
    when = first_run(run)
    return run.folder.name + (f" ({when})" if when else "")
