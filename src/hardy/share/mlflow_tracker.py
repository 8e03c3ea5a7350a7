"""Runs in MLflow, at the tracking URI that it is set to (MLFLOW_TRACKING_URI)."""

from __future__ import annotations

import os
import time
from typing import Any

from hardy.errors import need
from hardy.share.tracked_run import TrackedRun

# Tags: which stored run it is, what was told of it, and where MLflow shows a description.
KEY, DIGEST, DESCRIPTION = "hardy.run", "hardy.digest", "mlflow.note.content"
_LONGEST = 5000  # letters of a parameter or tag; longer text is in the result file too


class MlflowTracker:
    """Each stored run is a run there, known by a tag; where the caller has one open, all goes into
    that, which stays open."""

    label = "MLflow"
    todo = "set MLFLOW_TRACKING_URI to a server, or to a file such as sqlite:///mlflow.db"

    def __init__(self, project: str | None) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        self._mlflow = need("mlflow", "mlflow", "logging to MLflow")
        self.joined = self._mlflow.active_run() is not None
        self._project = project or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "hardy"

    def log(self, run: TrackedRun) -> tuple[str, str]:
        """What was done, and where it is."""
        client = self._mlflow.MlflowClient()
        if self.joined:
            active = self._mlflow.active_run().info
            self._fill(client, active.run_id, run, f"{run.suite}.")
            return "logged", f"the open run {active.run_name}"
        experiment = client.get_experiment_by_name(self._project)
        place = experiment.experiment_id if experiment else client.create_experiment(self._project)
        before = client.search_runs([place], f"tags.`{KEY}` = '{run.key}'")
        where = f"the experiment {self._project} at {self._mlflow.get_tracking_uri()}"
        if before and before[0].data.tags.get(DIGEST) == run.digest:
            return "skipped", where
        opened = before[0] if before else client.create_run(place, run_name=run.name)
        number = opened.info.run_id
        client.set_tag(number, KEY, run.key)
        client.set_tag(number, DESCRIPTION, "\n\n".join(run.words)[:_LONGEST])
        self._fill(client, number, run, "")
        client.set_tag(number, DIGEST, run.digest)  # last: without it, the same command goes on
        client.set_terminated(number)
        return "updated" if before else "logged", where

    def _fill(self, client: Any, number: str, run: TrackedRun, prefix: str) -> None:
        entities, now = self._mlflow.entities, int(time.time() * 1000)
        tags = {**run.state, "words": "\n".join(run.words), "tags": ", ".join(run.tags)}
        client.log_batch(
            number,
            metrics=[entities.Metric(name, one, now, 0) for name, one in run.metrics.items()],
            params=[
                entities.Param(prefix + name, str(one)[:_LONGEST])
                for name, one in run.settings.items()
            ],
            tags=[
                entities.RunTag(prefix + name, str(one)[:_LONGEST]) for name, one in tags.items()
            ],
        )
        for name, table in run.tables.items():
            client.log_text(number, table.as_csv(), f"{name}.csv")
        client.log_text(number, run.result, f"{run.suite}/result.json")
        if run.report is not None:
            client.log_text(number, run.report, f"{run.suite}/report.html")
