"""Processes that Ray Train starts train the net that as many processes of torchrun do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from hardy.errors import InputError
from hardy.train import training
from hardy.train.run_folder import CHECKPOINT, MODEL, read_run
from tests.cluster.conftest import Nodes
from tests.cluster.driven_training import EPOCHS, HOW, NOTES, begin_saving
from tests.train.small import write_arrays

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")  # of Ray, by Ray


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_arrays(tmp_path_factory.mktemp("images"), 72)


@pytest.fixture(scope="module")
def reference(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes of torchrun make, with one thread each, as it has it."""
    out = tmp_path_factory.mktemp("reference") / "out"
    given = ("net", "epochs", "batch", "lr", "device")
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
        *("-m", "hardy.cli", "train", "standard", "--data", str(images), "--out", str(out)),
        *(word for name in given for word in (f"--{name}", str(HOW[name]))),
    ]
    env = {name: text for name, text in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return out


def check_equal(out: Path, reference: Path) -> None:
    mine, theirs = (load_file(folder / MODEL) for folder in (out, reference))
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)
    assert read_run(out) == read_run(reference)
    assert sorted(path.name for path in out.iterdir()) == sorted(
        path.name for path in reference.iterdir()
    )


def test_two_nodes_are_as_torchrun(
    nodes: Nodes, images: Path, reference: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    trained = training.train(**HOW, data=images, out=out, on=nodes.address, processes=2)
    assert (trained.folder, trained.epochs, trained.rank) == (out, EPOCHS, 0)
    assert [row["epoch"] for row in trained.log] == list(range(1, EPOCHS + 1))
    check_equal(out, reference)


def test_a_process_dies(
    nodes: Nodes,
    images: Path,
    reference: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All begin anew, after the last epoch that was saved."""
    out, notes, said = tmp_path / "out", tmp_path / "notes", list[str]()
    notes.mkdir()
    monkeypatch.setenv(NOTES, str(notes))
    monkeypatch.setattr(training, "_begin_share", begin_saving)

    def strike() -> None:
        while not (out / CHECKPOINT).exists():
            time.sleep(0.02)
        os.kill(int(next(notes.iterdir()).name), signal.SIGKILL)

    killer = threading.Thread(target=strike)
    killer.start()
    how: dict[str, Any] = {**HOW, "on": nodes.address, "processes": 2, "warn": said.append}
    trained = training.train(**how, data=images, out=out)
    killer.join()
    assert len(list(notes.iterdir())) == 4
    assert 0 < trained.epochs < EPOCHS
    (line,) = said
    assert line.startswith("a process failed (")
    check_equal(out, reference)


def test_the_same_command_goes_on_when_the_driver_was_killed(
    nodes: Nodes, images: Path, reference: Path, tmp_path: Path
) -> None:
    out, module = tmp_path / "out", "tests.cluster.driven_training"
    command = [sys.executable, "-m", module, nodes.address, str(images), str(out)]
    with subprocess.Popen(command) as driver:
        while not (out / CHECKPOINT).exists():
            assert driver.poll() is None
            time.sleep(0.02)
        driver.kill()
    assert driver.returncode == -signal.SIGKILL
    subprocess.run(command, check=True)
    check_equal(out, reference)


def test_what_a_process_says_reaches_the_driver(nodes: Nodes, images: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    said = r"^node .*holds other things than a training run"
    with pytest.raises(InputError, match=said):
        training.train(**HOW, data=images, out=tmp_path, on=nodes.address, processes=2)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
