"""A run that is killed, again and again, ends in the predictions and scores of one that was not."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests.run.halted_run import evaluate_all
from tests.store.stores import contents_hash
from tests.suites.helpers import write_rows
from tests.variants.test_build_killed import start, wait_for

KILLS = 10


def test_ten_kills_change_nothing(tmp_path: Path) -> None:
    images = write_rows(tmp_path, 2000)
    store, chance = tmp_path / "runs", random.Random(4)
    for number in range(KILLS):
        mark = tmp_path / f"mark{number}"
        process = start("tests.run.halted_run", mark, store, images, chance.randint(1, 400))
        assert wait_for(mark.exists, process), process.communicate()
        process.kill()
        process.communicate(timeout=600)
    resumed = evaluate_all(store, images)
    whole = evaluate_all(tmp_path / "whole", images)
    for one, other in zip(resumed, whole, strict=True):
        assert contents_hash(one.stored) == contents_hash(other.stored)
        assert one.score().as_dicts() == other.score().as_dicts()
        worst = [(run.folder / "worst.parquet").read_bytes() for run in (one, other)]
        assert worst[0] == worst[1]


def test_two_at_once(tmp_path: Path) -> None:
    images, mark = write_rows(tmp_path, 100), tmp_path / "mark"
    first = start("tests.run.halted_run", mark, tmp_path / "runs", images, 1)
    assert wait_for(mark.exists, first), first.communicate()
    second = start(
        *("hardy", "eval", "fake:10", "--suite", "cifar10_c", "--images", images),
        *("--store", tmp_path / "runs", "--only", "contrast"),
    )
    _, err = second.communicate(timeout=600)
    assert second.returncode == 2
    assert "another process is writing to" in err
    mark.unlink()
    first.communicate(timeout=600)
    assert first.returncode == 0
    resumed = evaluate_all(tmp_path / "runs", images)
    whole = evaluate_all(tmp_path / "whole", images)
    assert [contents_hash(run.stored) for run in resumed] == [
        contents_hash(run.stored) for run in whole
    ]


def test_interrupted_by_hand(tmp_path: Path) -> None:
    """Ctrl-C keeps what was predicted, says so, and leaves with 130."""
    images = write_rows(tmp_path, 3000)
    process = start(
        *("tests.run.eager_checkpoints", "eval", "fake:10", "--suite", "cifar10_c"),
        *("--images", images, "--store", tmp_path / "runs"),
    )
    if not wait_for(lambda: list(tmp_path.glob("runs/*/parts/*.parquet")), process):
        pytest.fail(str(process.communicate()))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "what is finished is kept" in err
    assert list(tmp_path.glob("runs/*/parts/*.parquet"))
