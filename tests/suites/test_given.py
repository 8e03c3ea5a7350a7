"""Suites in files of the user's: loaded, run, scored, built and verified like Hardy's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hardy
from hardy import evaluate
from hardy.errors import InputError
from hardy.execute import executor
from hardy.images.opening import open_images
from hardy.predictions.store import find_runs
from hardy.scoring import score
from hardy.suites import given, load, text_of
from hardy.suites.build import build
from hardy.suites.cells import choose_cells
from hardy.suites.manifest import Writer
from hardy.suites.verify import verify
from tests.photos import photos
from tests.suites.helpers import write_rows

MINE = text_of("cifar10_c").replace('"cifar10_c"', '"mine"').replace('"snow", "frost", ', "")


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "SUITES", {})


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    return str(path)


def test_a_file_is_a_suite_and_then_known_by_name(mine) -> None:
    with pytest.raises(InputError, match='unknown suite "mine"'):
        load("mine")
    suite = load(mine)
    assert len(suite.counted) == 13
    assert load("mine") is suite
    assert text_of("mine") == MINE
    assert "mine" not in hardy.suites()


def test_scored_without_the_file(mine, tmp_path) -> None:
    labels = np.arange(8) % 10
    run = evaluate(
        "fake:10", suite=mine, images=photos(32), labels=labels, store=tmp_path / "runs", only="fog"
    )
    assert run.suite == "mine"
    Path(mine).unlink()
    given.SUITES.clear()
    (found,) = find_runs(tmp_path / "runs")
    assert score(found)["mean error"].circumstances.suite == "mine"


def test_built_in_other_processes_and_verified_without_the_file(mine, tmp_path) -> None:
    suite = load(mine)
    source = open_images(write_rows(tmp_path / "rows", 4), id_rule=suite.id_rule)
    out = tmp_path / "built"
    cells = choose_cells(suite, ["contrast"], [1])
    build(suite, source, out, cells, executor=executor(2), seed=0, format=None)
    Path(mine).unlink()
    given.SUITES.clear()
    assert verify(out).fine


@pytest.mark.parametrize(("where", "step"), [(Writer, "begin"), (given, "keep_beside")])
def test_built_after_a_stop_at_the_very_start(where, step, mine, tmp_path, monkeypatch) -> None:
    suite = load(mine)
    source = open_images(write_rows(tmp_path / "rows", 4), id_rule=suite.id_rule)
    cells = choose_cells(suite, ["contrast"], [1])
    out = tmp_path / "built"

    def stop(*args) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(where, step, stop)
        with pytest.raises(KeyboardInterrupt):
            build(suite, source, out, cells, executor=executor(1), seed=0, format=None)
    build(suite, source, out, cells, executor=executor(1), seed=0, format=None)
    given.SUITES.clear()
    assert verify(out).fine


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("cifar10_c", MINE, "cifar10_c is a suite of Hardy's own"),
        ("mine", "counted = ", "mine.toml: expected a TOML file"),
        ("yours", MINE, 'name: expected that of the file, "yours"'),
        ("mine", MINE.replace('"fog"', '"fogg"'), 'unknown .*"fogg"; did you mean "fog"'),
    ],
)
def test_bad_files(tmp_path, name, text, message) -> None:
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load(str(path))


def test_no_file(tmp_path) -> None:
    with pytest.raises(InputError, match="cannot read the suite"):
        load(str(tmp_path / "mine.toml"))
