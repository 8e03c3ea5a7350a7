"""What a tracker is told of a run; `make test-extras` asks W&B and MLflow themselves."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardy
from hardy.errors import HardyError, InputError
from hardy.scores import score_run
from hardy.scores.cell_errors import cell_errors
from hardy.share import tracking
from hardy.share.tracked_run import TrackedRun, tracked
from hardy.suites.cells import CLEAN, Cell
from tests.scores.helpers import errors, write_nothing, write_run, write_sequences

CELLS = errors(images=40)
SESSION = {
    "started": "2026-01-01T00:00:00+00:00",
    "versions": {"python": "3.11", "numpy": "2.4"},
    "gpu": None,
    "platform": "a machine",
    "source": "photos of somebody",
    "warnings": ["net: half of the images are grey"],
}


def net(store: Path, wrong: Any = CELLS, **changes: Any) -> Any:
    return write_run(store, wrong, model="net", session=SESSION, **changes)


def test_numbers_have_the_names_that_trackers_take(tmp_path: Path) -> None:
    scores = score_run(net(tmp_path))
    metrics = tracked(scores).metrics
    low, high = scores["mCE"].interval
    assert metrics["imagenet_c/mCE"] == scores["mCE"].value
    assert (metrics["imagenet_c/mCE_low"], metrics["imagenet_c/mCE_high"]) == (low, high)
    assert metrics["imagenet_c/clean_error"] == scores["clean error"].value
    assert metrics["imagenet_c/clean_error_low"] == scores["clean error"].interval.low
    per_corruption = {name for name in metrics if name.startswith("imagenet_c/CE_")}
    assert per_corruption == {f"imagenet_c/CE_{name}" for name in scores["mCE"].circumstances.names}
    assert metrics["imagenet_c/CE_fog"] == scores["CE fog"].value
    assert all(re.fullmatch(r"[\w./-]+", name, re.ASCII) for name in metrics)
    assert all(isinstance(value, float) for value in metrics.values())


def test_no_two_scores_get_one_name(tmp_path: Path) -> None:
    noise = [Cell("shot_noise", level) for level in (1, 2, 3)]
    steps, _ = write_sequences(tmp_path, [Cell("tilt", 1), *noise])
    for run in (net(tmp_path), steps):
        scores, made = score_run(run), tracked(score_run(run))
        plain = [one for one in scores.values() if one.part != "single"]
        single = [one for some in scores.singles().values() for one in some.values()]
        assert len(made.metrics) == 3 * len(plain) + len(single)
    assert len({tracked(score_run(run)).key for run in (net(tmp_path), steps)}) == 2


def test_the_table_has_every_cell(tmp_path: Path) -> None:
    run = net(tmp_path)
    found = cell_errors(score_run(run))
    assert len(found) == 76
    by_cell = {(one.corruption, one.severity): one for one in found}
    for cell, flags in CELLS.items():
        one = by_cell[cell.name, cell.level]
        assert one.error == pytest.approx(100 * np.mean(flags))
        assert one.low <= one.error <= one.high
        assert one.images == 40
    assert [one[:2] for one in found] == [(cell.name, cell.level) for cell in CELLS]
    table = tracked(score_run(run)).tables["imagenet_c/cells"]
    rows = list(csv.DictReader(io.StringIO(table.as_csv())))
    assert {(row["corruption"], int(row["severity"])) for row in rows} == set(by_cell)
    assert float(rows[-1]["error"]) == found[-1].error


def test_a_cell_has_the_images_that_have_it(tmp_path: Path) -> None:
    """As in a sampled run, or one that was stopped."""
    some = np.where(np.arange(40) < 30, CELLS[Cell("fog", 5)], -1)
    run = net(tmp_path, {**CELLS, Cell("fog", 5): some})
    by_cell = {(one.corruption, one.severity): one for one in cell_errors(score_run(run))}
    assert by_cell["fog", 5].images == by_cell["snow", 1].images == 30
    assert by_cell["fog", 5].error == pytest.approx(100 * np.mean(CELLS[Cell("fog", 5)][:30]))


def test_what_is_to_be_known_travels_with_it(tmp_path: Path) -> None:
    run = net(tmp_path, own_classes=True, subset={"of": 50_000})
    made = tracked(score_run(run))
    assert made.tags == ["hardy", "imagenet_c", "own classes"]
    assert made.settings["classes"] == "own"
    assert made.settings["run_identity"] == run.identity.hash()
    assert made.settings["suite_version"] == 1
    assert made.state["versions.numpy"] == "2.4"
    assert (made.state["images"], made.state["images_of"]) == (40, 50_000)
    assert made.state["sampled"] == "no"
    assert made.words[0].startswith("mean error ")
    assert "with own classes" in made.words[0]
    assert "note: half of the images are grey" in made.words
    result = json.loads(made.result)
    assert result["notes"] == ["half of the images are grey"]
    assert "somebody" not in str(made), "where the images lie is the user's business"


def test_a_sample_is_told_as_such(tmp_path: Path) -> None:
    made = hardy.evaluate(
        "fake:10",
        suite="cifar10_c",
        images=np.random.default_rng(0).integers(0, 256, (3000, 32, 32, 3), np.uint8),
        labels=[n % 10 for n in range(3000)],
        only=["brightness", "contrast"],
        until=2.5,
        store=tmp_path / "runs",
        warn=lambda text: None,
    )
    run = tracked(made.score())
    assert "sampled" in run.tags
    assert re.fullmatch(r"[\d,]+ of 33,000 predictions", run.state["sampled"])
    assert any(line.startswith("note: sampled: ") for line in run.words)
    cells = run.tables["cifar10_c/cells"].rows
    assert len(cells) == 11
    assert sum(row[-1] for row in cells) < 3000
    card = hardy.card(tmp_path / "runs", "fake:10", tmp_path / "README.md")
    assert f"sampled: {run.state['sampled']}\n" in card.read_text(encoding="utf-8")


def test_a_run_keeps_its_key_and_changes_its_digest_when_it_grows(tmp_path: Path) -> None:
    few = {cell: flags for cell, flags in CELLS.items() if cell.name in ("fog", CLEAN.name)}
    before = tracked(score_run(net(tmp_path, few)))
    run = net(tmp_path)
    after = tracked(score_run(run))
    assert before.key == after.key
    assert before.digest != after.digest
    assert tracked(score_run(run)).digest == after.digest
    other = write_run(tmp_path / "b", CELLS, model="net", session={**SESSION, "started": "2027"})
    assert tracked(score_run(other)).key != after.key, "another day, another run"


class FakeTracker:
    label, todo = "The tracker", "ask for it"
    joined = False

    def __init__(self, project: str | None) -> None:
        self.project = project

    def log(self, run: TrackedRun) -> tuple[str, str]:
        if run.model == "broken":
            raise ConnectionError("no route to host\nmore lines")
        return ("skipped" if run.model == "old" else "logged"), f"project {self.project}"


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> type[FakeTracker]:
    monkeypatch.setitem(tracking.TRACKERS, "fake", FakeTracker)
    return FakeTracker


def test_the_command(run, tmp_path: Path, faked: type[FakeTracker]) -> None:
    write_run(tmp_path / "runs", CELLS, model="net")
    write_run(tmp_path / "runs", CELLS, model="old")
    code, out, err = run("log", "runs", "--to", "fake", "--project", "p")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "logged net on imagenet_c: project p",
        "skipped old on imagenet_c: project p, which has it already",
    ]
    code, out, _ = run("log", "runs", "--to", "fake", "--model", "net")
    assert out == "logged net on imagenet_c: project None\n"
    write_nothing(tmp_path / "runs", "new")
    code, out, err = run("log", "runs", "--to", "fake")
    assert code == 1
    assert "1 run could not be scored:\n  the run of new on" in err
    code, _, err = run("log", "runs", "--to", "csv")
    assert (code, err) == (2, 'error: unknown tracker "csv" (all: wandb, mlflow, fake)\n')


def test_what_a_tracker_refuses_is_one_line(tmp_path: Path, faked: type[FakeTracker]) -> None:
    write_run(tmp_path, CELLS, model="broken")
    with pytest.raises(HardyError, match=r"^The tracker did not take broken on imagenet_c \(Conn"):
        hardy.log(tmp_path, to="fake")


def test_an_open_run_takes_one_of_each_suite(
    tmp_path: Path, faked: type[FakeTracker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faked, "joined", True)
    write_run(tmp_path, CELLS, model="net")
    write_sequences(tmp_path, [Cell("tilt", 1)], model="net")
    assert len(hardy.log(tmp_path, to="fake")) == 2
    write_run(tmp_path, CELLS, model="other")
    with pytest.raises(InputError, match="one run on imagenet_c for the open run of The tracker, "):
        hardy.log(tmp_path, to="fake")
    assert len(hardy.log(tmp_path, to="fake", model="other")) == 1


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_missing_package_is_told_before_anything_is_read(
    run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    code, _, err = run("log", "nowhere", "--to", name)
    assert code == 2
    assert re.fullmatch(rf"error: logging to .* needs {name}.*: pip install .*\[{name}\]\"\n", err)


def test_a_folder_of_offline_runs_is_not_taken_for_the_package(run, tmp_path: Path) -> None:
    if "wandb" in sys.modules:
        pytest.skip("the package is installed")
    (tmp_path / "wandb").mkdir()
    sys.path.insert(0, str(tmp_path))
    try:
        code, _, err = run("log", "nowhere", "--to", "wandb")
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("wandb", None)
    assert code == 2
    assert "pip install" in err


def test_a_page_changes_what_there_is_to_tell(tmp_path: Path) -> None:
    scores = score_run(net(tmp_path))
    assert tracked(scores).report is None
    paged = tracked(scores, "<html>")
    assert paged.report == "<html>"
    assert paged.digest != tracked(scores).digest
