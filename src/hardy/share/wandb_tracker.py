"""Runs in Weights & Biases, or for later in a folder, by WANDB_MODE=offline."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from hardy.errors import need
from hardy.share.tracked_run import TrackedRun

_FOLDER = "hardy"  # of a run's files


class WandbTracker:
    """Each stored run is a run there, under an id of its own; where the caller has one open, all
    goes into that, which stays open."""

    label = "Weights & Biases"
    todo = "log in by `wandb login`, or set WANDB_MODE=offline"

    def __init__(self, project: str | None) -> None:
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        need("wandb.sdk", "wandb", "logging to Weights & Biases")  # a folder may be called wandb
        self._wandb = import_module("wandb")
        self.joined = self._wandb.run is not None
        self._project = project

    def log(self, run: TrackedRun) -> tuple[str, str]:
        """What was done, and where it is."""
        if self.joined:
            mine = {"settings": run.settings, "state": run.state, "words": run.words}
            self._wandb.run.config.update({run.suite: mine}, allow_val_change=True)
            self._fill(self._wandb.run, run)
            return "logged", f"the open run {self._wandb.run.name or self._wandb.run.id}"
        known = self._wandb.setup().settings
        before = _kept_offline(Path(known.wandb_dir), run) if known.mode == "offline" else {}
        for folder, digest in before.items():
            if digest == run.digest:
                return "skipped", str(folder)
        opened = self._wandb.init(
            project=self._project or known.project or "hardy",
            id=run.key,
            name=run.name,
            job_type="robustness",
            tags=run.tags,
            notes="\n".join(run.words),
            resume="allow",
            # The machine that logs is not the one that predicted, whose facts are in the state.
            settings=self._wandb.Settings(
                silent=True, console="off", x_disable_stats=True, x_disable_meta=True
            ),
        )
        try:
            where = str(opened.settings.sync_dir) if opened.offline else str(opened.url)
            if opened.resumed and opened.config.get("digest") == run.digest:
                return "skipped", where
            told = {**run.settings, **run.state, "words": run.words, "digest": run.digest}
            opened.config.update(told, allow_val_change=True)
            self._fill(opened, run)
            return "updated" if opened.resumed or before else "logged", where
        finally:
            opened.finish()

    def _fill(self, opened: Any, run: TrackedRun) -> None:
        tables = {
            name: self._wandb.Table(columns=list(one.columns), data=[list(row) for row in one.rows])
            for name, one in run.tables.items()
        }
        opened.log({**run.metrics, **tables})
        if run.report is not None:
            page = self._wandb.Artifact(f"hardy-{run.suite}-{run.key}", type="report")
            with page.new_file("report.html", encoding="utf-8") as file:
                file.write(run.report)
            opened.log_artifact(page)
        folder = Path(opened.dir) / _FOLDER  # what lies in there is sent at the end
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{run.suite}.json").write_text(run.result, encoding="utf-8")
        # Last: without it, the same command logs the run again.
        (folder / f"{run.suite}.digest").write_text(run.digest, encoding="utf-8")


def _kept_offline(folder: Path, run: TrackedRun) -> dict[Path, str]:
    """Where this run was logged into a folder, and if that was completed, a hash of what."""
    found: dict[Path, str] = {}
    # Of two within a second, the second one's name ends in -1.
    for one in sorted(folder.glob(f"offline-run-*-{run.key}*")):
        file = one / "files" / _FOLDER / f"{run.suite}.digest"
        found[one] = file.read_text(encoding="utf-8") if file.is_file() else ""
    return found
