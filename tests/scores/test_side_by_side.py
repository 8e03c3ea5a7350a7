"""All suites side by side: models as rows, and nothing partial that looks whole."""

from dataclasses import replace
from pathlib import Path

import pytest

import hardy
from hardy.scores.part_of_suite import parts_told
from hardy.scores.scoring import ScoredStore
from hardy.scores.side_by_side import beside_tables, side_by_side
from hardy.suites import load
from tests.report.stores import write_run, write_shift_run


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> ScoredStore:
    store = tmp_path_factory.mktemp("beside")
    for model in ("first", "second"):
        write_run(store, model, "imagenet_c", images=60, worst=False)
        write_shift_run(store, model, "imagenet_a", right=20, clean=360)
    write_run(store, "first", "imagenet_p", images=20)
    write_run(store, "third", "imagenet_c", images=60, only=("fog",), worst=False)
    write_shift_run(store, "fourth", "imagenet_v2", right=200, clean=300, images=400)
    write_run(store, "small", "cifar10_c", images=40, classes=10, worst=False)
    return hardy.score(store)


def test_each_model_is_a_row_and_each_suite_a_column(scored):
    (table,) = side_by_side(tuple(scored))  # of cifar10_c alone there is none
    titles = [(one.suite.name, one.score.name, one.direction) for one in table.columns]
    assert set(titles) == {
        ("imagenet_c", "mCE", "↓"),
        ("imagenet_p", "mFR", "↓"),
        ("imagenet_a", "accuracy", "↑"),
        ("imagenet_v2", "accuracy", "↑"),
    }
    assert len(titles) == 5  # imagenet_c was run in two ways
    rows = {row.first.model: row for row in table.rows}
    assert {*rows} == {"first", "second", "third", "fourth"}
    there = {name: sum(run is not None for run in row.runs) for name, row in rows.items()}
    assert there == {"first": 3, "second": 2, "third": 1, "fourth": 1}
    for row in rows.values():
        for column, run in zip(table.columns, row.runs, strict=True):
            assert run is None or (run.run.suite == column.suite.name and run in column.group)


def test_clean_accuracy_is_over_all_classes_or_there_is_none(scored):
    (table,) = side_by_side(tuple(scored))
    clean = {row.first.model: row.clean for row in table.rows}
    of = {one.model: one for one in scored if one.run.suite == "imagenet_c"}
    assert clean["first"].value == pytest.approx(100 - of["first"]["clean error"].value)
    assert not clean["first"].lower_is_better
    assert clean["fourth"].value == 75


def test_a_model_on_some_classes_alone_has_no_clean_accuracy(tmp_path: Path):
    for suite in ("imagenet_a", "imagenet_r"):
        write_shift_run(tmp_path, "one", suite, right=20, clean=360)
    (table,) = side_by_side(tuple(hardy.score(tmp_path)))
    assert [row.clean for row in table.rows] == [None]


def test_what_is_partial_is_marked_in_its_heading(scored):
    (text,) = beside_tables(tuple(scored))
    headings = " | ".join(text.header)
    assert "imagenet_a accuracy ↑ (400 of 7,500 images)" in headings
    assert "imagenet_c mCE ↓ (1 of 2 ways)" in headings
    assert "imagenet_c mCE ↓ (2 of 2 ways, 1 of 15 corruptions)" in headings
    assert "imagenet_p mFR ↓ |" in headings
    assert text.notes[-1] == (
        "ways: runs on one suite that were not made alike, for instance on other images, "
        "corruptions or samples, have a column for each way"
    )
    assert any("–" in row for row in text.rows)
    assert "side by side" in str(scored)


def test_a_sample_is_told_by_its_size(scored):
    whole = next(one for one in scored if one.model == "first" and one.kind == "corruptions")
    around = whole.headline[0].circumstances
    suite = load("imagenet_c")
    assert parts_told(suite, around) == []
    told = parts_told(suite, replace(around, sampled=(5962, 760_000)))
    assert told == ["sampled: 5,962 of 760,000 predictions"]


def test_without_ways_none_are_explained(scored):
    (text,) = beside_tables([one for one in scored if one.model == "first"])
    assert "ways" not in " ".join((*text.header, *text.notes))


def test_one_suite_has_nothing_beside_it(tmp_path: Path):
    write_run(tmp_path, "one", "imagenet_c", images=40, worst=False)
    assert "side by side" not in str(hardy.score(tmp_path))
