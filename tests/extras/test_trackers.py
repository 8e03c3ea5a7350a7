"""`hardy.log` with Weights & Biases and MLflow themselves, offline. MLflow is read back by its
client, W&B's file by a small reader here and W&B's own messages."""

from __future__ import annotations

import csv
import json
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardy
from hardy.scores import score_run
from hardy.suites.cells import Cell
from tests.scores.helpers import errors, write_run, write_sequences

CELLS = errors(images=40)
SESSION = {"started": "2026-01-01T00:00:00+00:00", "warnings": ["net: half are grey"]}
# These libraries warn of one another, which is no fault of ours.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run, in an empty folder; Python connects to nothing but this machine. (W&B also starts a
    process of its own, which this does not watch.)"""
    monkeypatch.chdir(tmp_path)
    connect = socket.socket.connect

    def here_only(self: socket.socket, address: Any) -> None:
        local = self.family == socket.AF_UNIX or address[0] in ("127.0.0.1", "localhost", "::1")
        assert local, f"a connection to {address}"
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", here_only)
    write_run(tmp_path / "runs", CELLS, model="net", session=SESSION, own_classes=False)
    return tmp_path / "runs"


def grow(store: Path) -> None:
    """More corruptions, as of a run that is resumed."""
    more = errors(images=40, names=("saturate",), clean=None)
    write_run(store, more, model="net", session={**SESSION, "started": "2026-01-02"})


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Any:
    wandb = pytest.importorskip("wandb", reason="needs wandb: make test-extras")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    yield wandb
    wandb.teardown()


def records(file: Path) -> Iterator[bytes]:
    """The records of a file of W&B, which has no reader of its own in Python: after 7 bytes it is a
    log as of LevelDB, blocks of 32 KiB with chunks of (sum, length, kind: 1 whole, 4 last)."""
    content, place, chunks = file.read_bytes(), 7, b""
    assert content[:4] == b":W&B"
    while place + 7 <= len(content):
        if (left := 32_768 - place % 32_768) < 7:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", content, place)
        chunks += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield chunks
            chunks = b""


def read_back(folder: Path) -> dict[str, Any]:
    """A run of W&B as its own messages tell it: configuration, history, facts."""
    import wandb
    from wandb.proto import wandb_internal_pb2

    wandb.teardown()  # what is finished is written by then
    (file,) = folder.glob("run-*.wandb")
    found: dict[str, Any] = {"config": {}, "history": {}, "run": None}
    for data in records(file):
        record = wandb_internal_pb2.Record.FromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            found["run"] = record.run
        config = record.run.config if kind == "run" else record.config
        for name, items in (("config", config.update), ("history", record.history.item)):
            for one in items:
                found[name][one.key or ".".join(one.nested_key)] = json.loads(one.value_json)
    return found


def test_wandb(wandb: Any, store: Path, tmp_path: Path) -> None:
    (logged,) = hardy.log(store, to="wandb", project="robustness")
    assert logged.done == "logged"
    assert wandb.run is None
    found = read_back(Path(logged.where))
    scores = score_run(hardy.runs(store)[0].stored)
    low, high = scores["mCE"].interval
    assert found["history"]["imagenet_c/mCE"] == pytest.approx(scores["mCE"].value)
    assert found["history"]["imagenet_c/mCE_low"] == pytest.approx(low)
    assert found["history"]["imagenet_c/mCE_high"] == pytest.approx(high)
    assert found["history"]["imagenet_c/CE_fog"] == pytest.approx(scores["CE fog"].value)
    assert found["run"].project == "robustness"
    assert found["run"].display_name == "net on imagenet_c"
    assert set(found["run"].tags) == {"hardy", "imagenet_c"}
    assert "note: half are grey" in found["run"].notes
    assert found["config"]["suite_version"] == 1
    assert found["config"]["images"] == 40
    assert "note: half are grey" in found["config"]["words"]
    assert found["history"]["imagenet_c/cells._type"] == "table-file"
    table = Path(logged.where) / "files" / found["history"]["imagenet_c/cells.path"]
    content = json.loads(table.read_text())
    assert content["columns"][:3] == ["corruption", "severity", "error"]
    assert len(content["data"]) == 76
    kept = {(name, severity): share for name, severity, share, *_ in content["data"]}
    assert kept["fog", 3] == pytest.approx(100 * np.mean(CELLS[Cell("fog", 3)]))


def test_wandb_again(wandb: Any, store: Path) -> None:
    (first,) = hardy.log(store, to="wandb")
    (second,) = hardy.log(store, to="wandb")
    assert (second.done, second.where) == ("skipped", first.where)
    assert len(list(Path("wandb").glob("offline-run-*"))) == 1
    grow(store)
    (third,) = hardy.log(store, to="wandb")
    assert third.done == "updated"
    ids = {read_back(Path(one.where))["run"].run_id for one in (first, third)}
    assert len(ids) == 1, "`wandb sync` makes one run of both"
    (fourth,) = hardy.log(store, to="wandb")
    assert fourth.done == "skipped"


def test_wandb_into_the_run_that_is_open(wandb: Any, store: Path) -> None:
    write_sequences(store, [Cell("tilt", 1)], model="net")
    mine = wandb.init(project="training", settings=wandb.Settings(silent=True))
    mine.log({"loss": 0.5})
    logged = hardy.log(store, to="wandb")
    assert [one.done for one in logged] == ["logged", "logged"]
    assert wandb.run is mine, "it stays open"
    folder = Path(mine.settings.sync_dir)
    mine.finish()
    found = read_back(folder)
    assert {"loss", "imagenet_c/mCE", "imagenet_p/mFR"} <= set(found["history"])
    assert found["config"]["imagenet_c"]["state"]["images"] == 40
    assert len(list(Path("wandb").glob("offline-run-*"))) == 1


def test_wandb_without_a_key(
    wandb: Any, store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WANDB_MODE", "online")
    for name in ("WANDB_API_KEY", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    wandb.teardown()
    with pytest.raises(hardy.HardyError, match=r"Weights & Biases did not take net on .*offline"):
        hardy.log(store, to="wandb")


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> Any:
    mlflow = pytest.importorskip("mlflow", reason="needs mlflow: make test-extras")
    pytest.importorskip("sqlalchemy", reason="needs sqlalchemy: make test-extras")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    return mlflow


@pytest.fixture
def client(mlflow: Any, store: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One that reads a file of SQLite."""
    address = f"sqlite:///{store.parent / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    mlflow.set_tracking_uri(address)
    yield mlflow.MlflowClient(address)
    mlflow.set_tracking_uri(None)


def runs_in(client: Any, experiment: str) -> list[Any]:
    number = client.get_experiment_by_name(experiment).experiment_id
    return list(client.search_runs([number]))


def test_mlflow(mlflow: Any, client: Any, store: Path, tmp_path: Path) -> None:
    (logged,) = hardy.log(store, to="mlflow", project="robustness")
    assert logged.done == "logged"
    assert mlflow.active_run() is None
    (run,) = runs_in(client, "robustness")
    assert run.info.run_name == "net on imagenet_c"
    assert run.info.status == "FINISHED"
    scores = score_run(hardy.runs(store)[0].stored)
    low, high = scores["mCE"].interval
    metrics = run.data.metrics
    assert metrics["imagenet_c/mCE"] == pytest.approx(scores["mCE"].value)
    assert metrics["imagenet_c/mCE_low"] == pytest.approx(low)
    assert metrics["imagenet_c/mCE_high"] == pytest.approx(high)
    assert metrics["imagenet_c/clean_error"] == pytest.approx(scores["clean error"].value)
    assert metrics["imagenet_c/CE_fog"] == pytest.approx(scores["CE fog"].value)
    assert run.data.params["suite_version"] == "1"
    assert run.data.params["run_identity"] == hardy.runs(store)[0].stored.identity.hash()
    assert run.data.tags["images"] == "40"
    assert "note: half are grey" in run.data.tags["mlflow.note.content"]
    path = client.download_artifacts(run.info.run_id, "imagenet_c/cells.csv", str(tmp_path))
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 76
    (fog,) = [row for row in rows if (row["corruption"], row["severity"]) == ("fog", "3")]
    assert float(fog["error"]) == pytest.approx(100 * np.mean(CELLS[Cell("fog", 3)]))
    path = client.download_artifacts(run.info.run_id, "imagenet_c/result.json", str(tmp_path))
    assert hardy.leaderboard([path], tmp_path / "board").exists(), "a result file as any other"


def test_mlflow_again(client: Any, store: Path) -> None:
    assert [one.done for one in hardy.log(store, to="mlflow")] == ["logged"]
    (one,) = runs_in(client, "hardy")
    assert [one.done for one in hardy.log(store, to="mlflow")] == ["skipped"]
    grow(store)
    assert [one.done for one in hardy.log(store, to="mlflow")] == ["updated"]
    (same,) = runs_in(client, "hardy")
    assert same.info.run_id == one.info.run_id
    assert "imagenet_c/validation_error" not in one.data.metrics
    assert set(one.data.metrics) < set(same.data.metrics)
    assert [one.done for one in hardy.log(store, to="mlflow")] == ["skipped"]


def test_mlflow_into_the_run_that_is_open(mlflow: Any, client: Any, store: Path) -> None:
    with mlflow.start_run() as mine:
        mlflow.log_metric("loss", 0.5)
        hardy.log(store, to="mlflow")
        hardy.log(store, to="mlflow")
        assert mlflow.active_run().info.run_id == mine.info.run_id
    found = client.get_run(mine.info.run_id)
    assert {"loss", "imagenet_c/mCE"} <= set(found.data.metrics)
    assert found.data.params["imagenet_c.model"] == "net"
    assert client.get_experiment_by_name("hardy") is None


def test_mlflow_that_cannot_be_reached(mlflow: Any, store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/file/mlflow.db")
    with pytest.raises(hardy.HardyError, match=r"^MLflow did not take net on .*TRACKING_URI to a"):
        hardy.log(store, to="mlflow")
    mlflow.set_tracking_uri(None)


def test_the_page_of_a_run_is_an_artifact_of_wandb(store: Path, wandb: Any) -> None:
    (plain,) = hardy.log(store, to="wandb")
    (logged,) = hardy.log(store, to="wandb", report=True)
    assert (plain.done, logged.done) == ("logged", "updated")
    (file,) = Path(logged.where).glob("*.wandb")
    assert any(b"hardy-imagenet_c-" in one and b"report.html" in one for one in records(file))
    (again,) = hardy.log(store, to="wandb", report=True)
    assert again.done == "skipped"


def test_the_page_of_a_run_is_an_artifact_of_mlflow(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow", reason="needs mlflow: make test-extras")
    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    try:
        hardy.log(store, to="mlflow", report=True)
        client = mlflow.MlflowClient()
        experiment = client.get_experiment_by_name("hardy").experiment_id
        (run,) = client.search_runs([experiment])
        file = client.download_artifacts(run.info.run_id, "imagenet_c/report.html")
        hardy.report(store, "report.html")
        assert Path(file).read_bytes() == Path("report.html").read_bytes()
        assert [one.done for one in hardy.log(store, to="mlflow", report=True)] == ["skipped"]
    finally:
        mlflow.set_tracking_uri(None)
