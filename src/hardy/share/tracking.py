"""`hardy.log`: stored runs into a tracker of experiments."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hardy.errors import HardyError, InputError, told
from hardy.progress import Track, untracked, watch
from hardy.registry import unknown
from hardy.report.write import write_report
from hardy.scores.effective_robustness import with_effective
from hardy.scores.run_scores import Scores
from hardy.scores.scoring import Run, score
from hardy.share.mlflow_tracker import MlflowTracker
from hardy.share.tracked_run import TrackedRun, tracked
from hardy.share.wandb_tracker import WandbTracker

TRACKERS: dict[str, Callable[[str | None], Any]] = {"wandb": WandbTracker, "mlflow": MlflowTracker}


@dataclass(frozen=True)
class LoggedRun:
    """One run that a tracker has; printed, what was done and where it is."""

    model: str
    suite: str
    done: str  # "logged", "updated", or "skipped": it was there, as it is
    where: str

    def __str__(self) -> str:
        why = ", which has it already," if self.done == "skipped" else ""
        return f"{self.done} {self.model} on {self.suite}: {self.where}{why}".rstrip(",")


class LoggedRuns(list[LoggedRun]):
    """The runs that were logged; `faults` says which could not be scored, and why."""

    faults: tuple[str, ...] = ()


def log(
    store: str | os.PathLike[str] | Run,
    *,
    to: str,
    model: str | Sequence[str] = (),
    suite: str | None = None,
    project: str | None = None,
    report: bool = False,
    track: Track = watch,
    tell: Callable[[str], None] = warnings.warn,
) -> LoggedRuns:
    """Log the runs of a store, or one run, `to` "wandb" or "mlflow".

    Each becomes a run there: scores with the ends of their 95 % intervals, such as
    `imagenet_c/mCE`, `imagenet_c/mCE_low` and `imagenet_c/mCE_high`, a number per corruption, the
    errors of all cells as a table, the run's identity, versions and notes, and its result file.
    Logged again, a run that has grown is updated, and one that has not is skipped. `project` is the
    project of W&B or the experiment of MLflow. With `report`, each has a page about it as an
    artifact, one HTML file. Where a run is open (`wandb.run`,
    `mlflow.active_run()`), all goes into that.

    ```python
    import hardy
    import numpy as np

    images = np.zeros((20, 32, 32, 3), np.uint8)
    hardy.evaluate("fake:10", suite="cifar10_c", images=images, labels=[0] * 20, only=["fog"])
    try:
        for line in hardy.log("runs", to="mlflow", project="robustness"):
            print(line)
    except hardy.MissingResource as missing:
        print(missing)
    ```
    """
    if to not in TRACKERS:
        raise unknown("tracker", to, TRACKERS)
    tracker = TRACKERS[to](project)
    scored = score(store, model=model, suite=suite, track=track, tell=tell)
    tell_of = track(scored, len(scored), "pages") if report else scored
    runs = [tracked(with_effective(one), _page(one, tell) if report else None) for one in tell_of]
    if tracker.joined:
        _refuse_doubles(runs, tracker.label)
    made = LoggedRuns()
    made.faults = scored.faults
    for run in track(runs, len(runs), "runs"):
        try:
            made.append(LoggedRun(run.model, run.suite, *tracker.log(run)))
        except Exception as error:  # of a library, a network, a server
            raise HardyError(
                f"{tracker.label} did not take {run.name} ({told(error)}); {tracker.todo}, and "
                "give the same command again"
            ) from error
    return made


def _page(scores: Scores, tell: Callable[[str], None]) -> str:
    """A report of this one run: it changes with the run alone, whatever else the store has."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        write_report(scores.run.folder, file, track=untracked, tell=tell)
        return file.read_text(encoding="utf-8")


def _refuse_doubles(runs: Sequence[TrackedRun], label: str) -> None:
    suites = [run.suite for run in runs]
    for run in runs:
        if suites.count(run.suite) > 1:
            raise InputError(
                f"expected one run on {run.suite} for the open run of {label}, got "
                f"{suites.count(run.suite)}; choose by `model`, or finish the open run"
            )
