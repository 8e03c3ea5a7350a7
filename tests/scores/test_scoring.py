"""`hardy.score`, `hardy.compare` by names, and what direction a score has."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hardy
from hardy.errors import InputError
from hardy.scores import compare_runs, score_run
from hardy.scores.listing import score_tables
from hardy.scores.paired_scores import compare_scores
from hardy.scores.scored_cells import suite_of
from hardy.scores.similarity import Description
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell
from tests.scores.helpers import FEW, errors, write_nothing, write_run

HIGHER = {"lower_is_better": False}
NAMES = ("fog", "snow")
GOOD = errors(names=NAMES, images=40, rate=0.3, clean=0.1)
BAD = {cell: flags | (np.arange(40) < 20) for cell, flags in GOOD.items()}

DESCRIBED = Description(
    load("cifar10_c"), (Cell("fog", 1), Cell("fog", 2)), np.ones((2, 2)), "two images"
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    write_run(tmp_path, GOOD, model="kind:good")
    write_run(tmp_path, BAD, model="kind:bad")
    return tmp_path


def test_all_runs_of_a_store(store: Path) -> None:
    write_nothing(store, "begun")
    scored = hardy.score(store)
    assert [scores.model for scores in scored] == ["kind:bad", "kind:good"]
    assert len(scored) == 2
    (fault,) = scored.faults
    assert "begun on imagenet_c holds no predictions yet" in fault
    assert str(scored).startswith("imagenet_c\n")
    assert "imagenet_c: CE, corruption by corruption" in str(scored)
    titles = [table.title for table in scored.tables()]
    assert titles == [table.title for table in score_tables(list(scored))]


def test_some_of_them(store: Path) -> None:
    (only,) = hardy.score(store, model="good")
    assert only.model == "kind:good"
    (same,) = hardy.score(only.run)
    assert same["mCE"] == only["mCE"]
    against = hardy.score(store, model=["good"], reference="bad")
    assert next(iter(against))["mCE"].circumstances.reference.startswith("kind:bad@")
    assert "mCE" not in next(iter(hardy.score(store, model="good", reference="none")))
    with pytest.raises(InputError, match='unknown model "worse"'):
        hardy.score(store, model="worse")


def test_runs_as_a_table(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one of pandas, else of polars, else plain columns."""
    write_nothing(store, "begun")
    found = hardy.runs(store)
    assert isinstance(found, list)
    frames = {one: SimpleNamespace(DataFrame=partial(dict, of=one)) for one in ("pandas", "polars")}
    for name, frame in frames.items():
        monkeypatch.setitem(sys.modules, name, frame)
    assert found.table()["of"] == "pandas"
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert found.table()["of"] == "polars"
    monkeypatch.setitem(sys.modules, "polars", None)
    table = found.table()
    assert table["model"] == ["begun", "kind:bad", "kind:good"]
    assert "holds no predictions yet" in table["fault"][0]
    assert table["fault"][1:] == [None, None]
    score = found[2].score()["mCE"]
    row = [table[name][2] for name in ("suite", "images", "mCE", "mCE low", "mCE high")]
    assert row == ["imagenet_c", 40, score.value, *score.interval]
    assert table["mCE"][0] is None


def test_models_are_sorted(store: Path) -> None:
    write_run(store, {c: GOOD[c] for c in GOOD if c.name != "clean"}, model="Kind:unclean")
    order = {by: [one.model for one in hardy.score(store, sort=by)] for by in ("name", "mCE")}
    assert order["name"] == ["kind:bad", "kind:good", "Kind:unclean"]
    assert order["mCE"][-1] == "kind:bad"
    last = [one.model for one in hardy.score(store, sort="clean error")]
    assert last == ["kind:good", "kind:bad", "Kind:unclean"]
    with pytest.raises(InputError, match='unknown score to sort by "mce"; did you mean "mCE"'):
        hardy.score(store, sort="mce")


def test_many_models_are_the_rows_of_every_table(store: Path) -> None:
    few = hardy.score(store).tables()[1]
    assert few.header == ("", "kind:bad", "kind:good")
    for model in ("three", "four"):
        write_run(store, BAD, model=model)
    many = hardy.score(store).tables()[1]
    assert many.header == ("model", "snow", "fog")
    assert [row[0] for row in many.rows] == ["four", "kind:bad", "kind:good", "three"]
    cells = {(row[0], name): row[i] for row in few.rows for i, name in enumerate(few.header)}
    for row in many.rows[1:3]:
        assert row[1:] == tuple(cells[name, row[0]] for name in many.header[1:])
    assert many.best == {(2, 1), (2, 2)}


def test_a_note_is_printed_once_and_names_its_models(tmp_path: Path) -> None:
    for model, defence in (("a", "x: y"), ("b", "x: y"), ("c", None)):
        write_run(tmp_path, GOOD, model=model, defence=defence)
    notes = hardy.score(tmp_path).tables()[0].notes
    assert "a, b: defended by x: y" in notes
    (shared,) = hardy.score(tmp_path, model=["a", "b"]).tables()[0].notes[1:]
    assert shared == "all models: defended by x: y"
    (alone,) = hardy.score(tmp_path, model="a").tables()[0].notes[1:]
    assert alone == "a: defended by x: y"


def test_what_others_published_stands_beside_what_it_compares_with(tmp_path: Path) -> None:
    write_run(tmp_path, errors(), model="whole")
    plain, beside = (hardy.score(tmp_path, published=one).tables() for one in (False, True))
    assert beside[: len(plain)] == plain
    published = beside[len(plain) :]
    assert published
    assert all(table.title.startswith("published: ") for table in published)
    write_run(tmp_path, GOOD, model="part")
    told: list[str] = []
    both = hardy.score(tmp_path, published=True, tell=told.append).tables()
    assert [table for table in both if table.title.startswith("published: ")] == published
    why = "they are means over all 15 corruptions, these over 2"
    assert told == [f"Published numbers cannot be compared with those of part: {why}"]


def test_published_numbers_are_told_from_those_of_a_part_of_the_images(tmp_path: Path) -> None:
    write_run(tmp_path, errors(), model="few", subset={"of": 50000})
    told: list[str] = []
    tables = hardy.score(tmp_path, published=True, tell=told.append).tables()
    assert [table for table in tables if table.title.startswith("published: ")]
    assert told == ["Published numbers are of all images, those of few of 20 of 50,000"]


@pytest.mark.parametrize(
    ("cells", "settings", "why"),
    [
        (GOOD, {}, "they are means over all 15 corruptions, these over 2"),
        (
            errors(severities=(1, 3)),
            {},
            "they are of the severities 1, 2, 3, 4, 5, these of 1, 3",
        ),
        (
            {CLEAN: GOOD[CLEAN]},
            {},
            "they are of corruptions, these of clean images only",
        ),
        (errors(), {"own_classes": True}, "these images have classes of their own"),
    ],
)
def test_what_others_published_is_left_out_beside_a_part_of_the_suite(
    tmp_path: Path, cells: Any, settings: dict[str, Any], why: str
) -> None:
    write_run(tmp_path, cells, **settings)
    told: list[str] = []
    tables = hardy.score(tmp_path, published=True, tell=told.append).tables()
    assert not [table for table in tables if table.title.startswith("published: ")]
    assert told == [f"Published numbers are left out: {why}"]


def test_results_are_written_in_the_format_of_the_suffix(store: Path) -> None:
    """One way for scores and comparisons, and for what `hardy describe` tells."""
    for made in (hardy.score(store), hardy.compare("good", "bad", store=store), DESCRIBED):
        for name, format in (("a.csv", "csv"), ("a.JSON", "json"), ("a.md", "md"), ("a", "table")):
            target = made.write(store / "new" / name)
            assert target == store / "new" / name
            assert target.read_text() == made.render(format)
        assert made.write(store / "b.csv", "json").read_text() == made.as_json()
        with pytest.raises(InputError, match='unknown format of a table "xls"'):
            made.write(store / "c.csv", "xls")
        assert not (store / "c.csv").exists()


def test_each_says_what_it_is_on_one_line(store: Path) -> None:
    compared = hardy.compare("good", "bad", store=store)
    bad, good = hardy.runs(store)
    assert repr(good) == f"Run('kind:good', 'imagenet_c', 40 images, {str(good.folder)!r})"
    assert str(good) == repr(good)
    assert repr(hardy.score(store)) == "ScoredStore(2 runs on imagenet_c)"
    assert repr(hardy.score(good)) == "ScoredStore(1 run on imagenet_c)"
    scores = compared.first
    mce = scores["mCE"].figure()
    assert repr(scores) == f"Scores('kind:good', imagenet_c: mCE {mce})"
    assert repr(scores["mCE"]) == f"Score(mCE {mce} ({scores['mCE'].circumstances}))"
    assert repr(compared) == (f"Compared('kind:good', 'kind:bad', imagenet_c: {compared.verdict})")
    assert repr(DESCRIBED) == "Description(cifar10_c, 2 images × 2 cells)"
    assert repr(suite_of(bad.stored)) == "Suite('imagenet_c', version 1, 15 corruptions)"


def test_compare_by_names(store: Path) -> None:
    compared = hardy.compare("good", "bad", store=store)
    assert (compared.first.model, compared.second.model) == ("kind:good", "kind:bad")
    assert str(compared) == str(compare_runs(compared.first, compared.second))
    with pytest.raises(InputError, match='expected a run or its scores, got "good"; name the st'):
        hardy.compare("good", "bad")


def test_higher_may_be_better(store: Path) -> None:
    """The same numbers under a metric of the other direction."""
    good, bad = (
        replace(score_run(run, how=FEW)["mean error"], lower_is_better=False)
        for run in (hardy.score(store, model=name).scores[0].run for name in ("good", "bad"))
    )
    assert bad.loss < good.loss
    compared = compare_scores(good, bad)
    assert compared.difference > 0 > compared.loss
    two = [hardy.score(store, model=name).scores[0] for name in ("good", "bad")]
    turned = [
        replace(one, scores={**one.scores, "mean error": replace(one["mean error"], **HIGHER)})
        for one in two
    ]
    (table, *_) = score_tables(turned)
    column = table.header.index("mean error")
    assert {row for row, place in table.best if place == column} == {1}
    assert "mean error" in [one.first.name for one in compare_runs(*turned).better]
    assert "mean error" in [one.first.name for one in compare_runs(*two).worse]


def test_a_score_says_what_it_is_of(store: Path) -> None:
    (scores,) = hardy.score(store, model="good")
    parts = {name: (one.metric, one.part) for name, one in scores.items()}
    assert parts["mCE"] == ("CE", "mean")
    assert parts["relative CE fog"] == ("relative CE", "single")
    assert parts["clean error"] == ("error", "clean")
    assert scores["relative mCE"].signed
    assert not scores["mCE"].signed


def test_what_cannot_be_compared_is_said_and_differences_are_points(tmp_path: Path) -> None:
    """As many images, but others; the same, but of other classes."""
    images = np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), np.uint8)
    what: dict[str, Any] = {"suite": "cifar10_c", "only": ["contrast"], "labels": range(6)}
    what |= {"store": tmp_path / "runs"}
    hardy.evaluate("fake:10", images=images, **what)
    hardy.evaluate("fake:10:1", images=images[::-1].copy(), **what)
    hardy.evaluate("fake:6", images=images, own_classes=True, **what)
    words = " ".join(str(hardy.score(tmp_path / "runs")).split())
    end = "than fake:10, so their numbers cannot be compared"
    assert f"fake:10:1: other images {end}" in words
    assert f"fake:6: other classes {end}" in words
    hardy.evaluate("fake:10:2", images=images, **what)
    compared = hardy.compare("fake:10", "fake:10:2", store=tmp_path / "runs")
    assert compared.headline[0].figure().endswith(" points")


def test_own_classes_are_said_where_the_number_stands(tmp_path: Path) -> None:
    for own, title in ((True, "imagenet_c, own classes"), (False, "imagenet_c")):
        write_run(tmp_path / str(own), errors(images=40), model="net", own_classes=own)
        assert hardy.score(tmp_path / str(own)).tables()[0].title == title
