"""The models of an overlap, trained and tested on a cluster, are those of one process."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hardy.design.experiment import run_overlap
from hardy.design.overlap import overlap
from hardy.design.results import FEATURES, MODELS, PREDICTIONS, summarise
from hardy.run.device_places import Sharing
from hardy.store.reader import find_runs
from hardy.train.hyperparameters import Hyperparameters
from tests.cluster.conftest import Nodes
from tests.cluster.noting import Noting
from tests.store.stores import contents_hash
from tests.train.small import write_arrays

HYPER = Hyperparameters(net="wrn_16_4", epochs=1, batch=24)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("images")
    train, test = (str(write_arrays(folder / part, 48)) for part in ("train", "test"))
    return {"data": train, "images": test, "only": ["contrast", "brightness"], "device": "cpu"}


@pytest.fixture(scope="module")
def whole(given: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One thread trains, as each worker has one."""
    out, threads = tmp_path_factory.mktemp("whole") / "out", torch.get_num_threads()
    torch.set_num_threads(1)
    run_overlap("cifar10_c", out=out, hyper=HYPER, **given)
    torch.set_num_threads(threads)
    return out


def check_equal(out: Path, whole: Path) -> None:
    stored, expected = (find_runs(one / PREDICTIONS) for one in (out, whole))
    assert sorted(map(contents_hash, stored)) == sorted(map(contents_hash, expected))
    assert len(stored) == 3
    mine, theirs = (np.load(one / FEATURES) for one in (out, whole))
    assert all(np.array_equal(mine[name], theirs[name]) for name in theirs)
    assert not list(out.glob(f"{MODELS}/*/*.safetensors"))


def test_two_nodes_are_as_one_process(
    nodes: Nodes, given: dict[str, Any], whole: Path, tmp_path: Path
) -> None:
    out, recipe = tmp_path / "out", {"net": HYPER.net, "epochs": 1, "batch": 24}
    found = overlap(out, suite="cifar10_c", on=nodes.address, **given, **recipe)
    check_equal(out, whole)
    assert found.experiment["recipe"] == summarise(whole).experiment["recipe"]


def test_a_node_dies(nodes: Nodes, given: dict[str, Any], whole: Path, tmp_path: Path) -> None:
    out, said, struck = tmp_path / "out", list[str](), list[str]()
    crew = Noting(nodes.address, tmp_path / "notes", once=True, warn=said.append)

    def strike() -> None:
        while len(crew.at_work()) < 2 or len(list(out.glob(f"{MODELS}/*/run.json"))) < 2:
            time.sleep(0.05)
        struck.append(next(iter(crew.at_work().values())))
        nodes.remove(struck[0])

    killer = threading.Thread(target=strike)
    killer.start()
    sharing = Sharing(crew, "cpu", "cpu", 1, 2)
    run_overlap("cifar10_c", out=out, hyper=HYPER, sharing=sharing, **given)
    killer.join()
    assert len(struck) == 1
    assert any("worker failed" in line for line in said)
    check_equal(out, whole)
