"""The runs that `hardy.evaluate` returns, each by the name that it was asked for by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hardy.errors import printable
from hardy.run.groups import ModelGroups
from hardy.run.prepared import Evaluation
from hardy.run.runner import RunOutcome
from hardy.scores.sample_looks import with_scores
from hardy.scores.scoring import Asked, Run, StoredRuns
from hardy.store.reader import StoredRun, open_run


class ModelRuns(StoredRuns):
    """The runs of many models, in the order in which these were asked for."""

    failed: Mapping[str, str]  # why others have none, or not all of it, by their names


def run_asked_for(stored: StoredRun, name: str, faults: Iterable[str], asked: Asked | None) -> Run:
    """The run of a model that was asked for by this name, which may be another's by its own."""
    called = printable(name)
    return Run(stored, tuple(faults), asked, None if called == stored.model else called)


def runs_of_groups(
    groups: ModelGroups,
    conduct: Callable[[Evaluation], RunOutcome],
    unusable: Iterable[str],
    asked: Asked | None,
) -> ModelRuns:
    """Have the work done, group by group; then the runs, one for each name, of which some may have
    the same; without those that failed."""
    folders: dict[Path, None] = {}
    faults = dict.fromkeys(unusable)  # of images, which are the same for all

    def work(evaluation: Evaluation) -> None:
        outcome = conduct(evaluation)
        folders.update(dict.fromkeys(outcome.folders))
        faults.update(dict.fromkeys(outcome.faults))

    groups.work(work)
    runs = [open_run(folder) for folder in dict.fromkeys((*groups.complete, *folders))]
    if asked is None:
        runs = with_scores(runs, groups.known, groups.failures)
    by_identity = {run.details["identity"]: run.sharing(runs[0].ids) for run in runs}
    found = ModelRuns(
        run_asked_for(by_identity[identity], name, faults, asked)
        for identity, name in groups.asked
        if identity in by_identity
    )
    found.failed = dict(groups.failures)
    return found
