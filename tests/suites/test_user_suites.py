"""Suites in files of the user's: loaded, run, scored, built and verified like Hardy's own."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import hardy
from hardy import evaluate
from hardy.errors import HardyError, InputError
from hardy.execute import executor
from hardy.images.readers import open_images
from hardy.report.gathered import gather
from hardy.run.selection import open_subject
from hardy.scores import score_run
from hardy.scores.scored_cells import suite_of
from hardy.store.reader import find_runs
from hardy.suites import keep_beside, load, parse, text_of
from hardy.suites.cells import choose_cells
from hardy.variants.disk import build as building
from hardy.variants.disk.build import build_cells
from hardy.variants.disk.manifest import ManifestWriter
from hardy.variants.disk.verify import verify
from hardy.variants.generated import Generated
from hardy.variants.stored import open_stored
from tests.photos import photos
from tests.suites.helpers import write_rows

MINE = text_of(load("cifar10_c")).replace('"cifar10_c"', '"mine"').replace('"snow", "frost", ', "")


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    return str(path)


def test_a_file_is_a_suite_by_its_path_alone(mine) -> None:
    """A name is Hardy's: of files there may be several that are called the same."""
    suite = load(mine)
    assert len(suite.counted) == 13
    assert text_of(suite) == MINE
    assert suite.content_hash() != load("cifar10_c").content_hash()
    Path(mine).write_text(f"# A remark.\n{MINE}")
    assert load(mine).content_hash() == suite.content_hash()
    assert "mine" not in hardy.suites()
    with pytest.raises(InputError, match='unknown suite "mine"'):
        load("mine")


def test_scored_without_the_file(mine, tmp_path) -> None:
    labels = np.arange(8) % 10
    run = evaluate(
        "fake:10", suite=mine, images=photos(32), labels=labels, store=tmp_path / "runs", only="fog"
    )
    assert run.suite == "mine"
    Path(mine).unlink()
    (found,) = find_runs(tmp_path / "runs")
    assert score_run(found)["mean error"].circumstances.suite == "mine"


def test_runs_of_two_suites_of_one_name(mine, tmp_path) -> None:
    """Each is scored by its own copy, whatever was read last."""
    labels = np.arange(8) % 10
    for text in (MINE, MINE.replace('"fog", ', "")):
        Path(mine).write_text(text)
        evaluate(
            "fake:10",
            suite=mine,
            images=photos(32),
            labels=labels,
            store=tmp_path / "runs",
            only="contrast",
        )
    runs = find_runs(tmp_path / "runs")
    counted = sorted(len(suite_of(run).counted) for run in runs)
    assert counted == [12, 13]
    assert len({score_run(run)["mean error"].circumstances.suite_hash for run in runs}) == 2
    report = gather(tmp_path / "runs")
    assert report.left_out == ()
    assert sorted(len(section.suite.counted) for section in report.sections) == [12, 13]


def test_built_in_other_processes_and_verified_without_the_file(mine, tmp_path) -> None:
    suite = load(mine)
    source = open_images(write_rows(tmp_path / "rows", 4), id_rule=suite.id_rule)
    out = tmp_path / "built"
    cells = choose_cells(suite, ["contrast"], [1])
    build_cells(suite, source, out, cells, executor=executor(2), seed=0, format=None)
    Path(mine).unlink()
    assert verify(out).fine


def test_other_processes_build_what_was_read(mine, tmp_path) -> None:
    """Not what the file says by the time that they begin."""
    suite = load(mine)
    source = open_images(write_rows(tmp_path / "rows", 4), id_rule=suite.id_rule)
    Path(mine).write_text("no suite at all")
    cells = choose_cells(suite, ["contrast"], [1])
    build_cells(suite, source, tmp_path / "built", cells, executor=executor(2), seed=0, format=None)
    assert verify(tmp_path / "built").fine


def test_files_that_were_built_from_another_of_that_name(mine, tmp_path) -> None:
    suite = load(mine)
    source = open_images(write_rows(tmp_path / "rows", 4), id_rule=suite.id_rule)
    out = tmp_path / "built"
    build_cells(suite, source, out, choose_cells(suite, ["contrast"]), executor=executor(1))
    Path(mine).write_text(MINE.replace('"fog", ', ""))
    with pytest.raises(InputError, match="holds mine with other contents than this mine"):
        open_stored(out, load(mine))


@pytest.mark.parametrize(("where", "step"), [(ManifestWriter, "begin"), (building, "keep_beside")])
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
            build_cells(suite, source, out, cells, executor=executor(1), seed=0, format=None)
    build_cells(suite, source, out, cells, executor=executor(1), seed=0, format=None)
    assert verify(out).fine


def test_a_copy_that_cannot_be_written(mine, tmp_path) -> None:
    with pytest.raises(HardyError, match=r"mine\.toml could not be written \(.*make room"):
        keep_beside(Path(mine), load(mine))


def test_a_copy_that_was_edited(mine, tmp_path) -> None:
    run = evaluate(
        "fake:10",
        suite=mine,
        images=photos(32),
        labels=np.arange(8) % 10,
        store=tmp_path / "runs",
        only="contrast",
    )
    copy = run.folder / "mine.toml"
    copy.write_text(MINE.replace('"fog", ', ""))
    (found,) = find_runs(tmp_path / "runs")
    with pytest.raises(InputError, match=r"mine\.toml, the copy of the suite .* was changed"):
        suite_of(found)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("cifar10_c", MINE, "cifar10_c is a suite of Hardy's own"),
        ("mine", "counted = ", "mine.toml: expected a TOML file"),
        ("yours", MINE, 'name: expected that of the file, "yours"'),
        ("mine", MINE.replace('"fog"', '"fogg"'), 'unknown .*"fogg"; did you mean "fog"'),
        (
            "mine",
            MINE.replace('"fog"', '"dusk"'),
            r'^mine\.toml: unknown corruption of edition cifar "dusk"; install the plug-in',
        ),
        ("mine", MINE.replace('"fog"', '["fog"]'), r"counted: expected a list of names, got \["),
        ("mine", MINE.replace('"fog"', "{a = 1}"), r"counted: expected a list of names, got \["),
        ("mine", re.sub("counted = .*?]", "counted = []", MINE, flags=re.S), "at least one corrup"),
        (
            "mine",
            re.sub("title = .*", f"title = 0x{'f' * 10_000}", MINE),
            "got a number of too many",
        ),
        ("mine", f"name = '{'m' * 201}'", "name: expected the name of a suite, up to 200 letters"),
        ("mine", "counted = " + "[" * 5000 + "]" * 5000, "expected a TOML file, but it is nested"),
    ],
)
def test_bad_files(tmp_path, name, text, message) -> None:
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load(str(path))


def test_a_recipe_that_nobody_knows_is_refused_before_images_are_read(tmp_path) -> None:
    suite = parse(MINE.replace("none@1", "nonesuch@1"), "mine")
    source = open_images(write_rows(tmp_path / "rows", 4))
    with pytest.raises(InputError, match='unknown recipe "nonesuch@1"'):
        Generated(suite, source)


def test_a_recipe_that_nobody_knows_is_refused_before_images_are_listed() -> None:
    suite = parse(MINE.replace("none@1", "nonesuch@1"), "mine")
    with pytest.raises(InputError, match='unknown recipe "nonesuch@1"'):
        open_subject(suite, images="nowhere")


def test_no_file(tmp_path) -> None:
    with pytest.raises(InputError, match="cannot read the suite"):
        load(str(tmp_path / "mine.toml"))
