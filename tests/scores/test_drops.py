"""Correlations of accuracy drops between suites."""

from __future__ import annotations

import numpy as np
import pytest

from hardy import evaluate
from hardy.errors import InputError
from hardy.metrics.statistics import fisher_interval, pearson, spearman
from hardy.scores.drops import ModelDrop, correlate_drops, drop, read_drops, stored_drops
from hardy.store.reader import find_runs
from hardy.suites.cells import CLEAN, Cell
from tests.photos import photos

HEAD = "model,suite,clean,accuracy\n"


def rows_of(drops: dict[str, list[float]]) -> list[ModelDrop]:
    return [
        ModelDrop(f"m{place}", suite, value)
        for suite, values in drops.items()
        for place, value in enumerate(values)
    ]


NATURAL = [0.10, 0.30, 0.20, 0.50, 0.45, 0.05, 0.33]
DRAWN = {
    "noc_1": [0.11, 0.32, 0.15, 0.40, 0.47, 0.10, 0.30],
    "noc_2": [0.30, 0.20, 0.25, 0.35, 0.15, 0.20, 0.40],
    "noc_3": [0.05, 0.35, 0.45, 0.20, 0.60, 0.15, 0.10],
}


FEW = {"b": NATURAL[:4]}
# Seven models each, of which four are the same.
HALVES = [ModelDrop(f"m{k + 3 * (s == 'b')}", s, v) for s in "ab" for k, v in enumerate(NATURAL)]


def test_one_pair() -> None:
    (found,) = correlate_drops(rows_of({"noc_1": DRAWN["noc_1"], "natural": NATURAL}))
    assert (found.first, found.second, found.suites, found.models) == ("noc_1", "natural", 1, 7)
    assert found.pearson == pytest.approx(pearson(DRAWN["noc_1"], NATURAL))
    assert found.spearman == pytest.approx(spearman(DRAWN["noc_1"], NATURAL))
    assert found.pearson_interval == fisher_interval(found.pearson, 7)
    assert found.spearman_interval == fisher_interval(found.spearman, 7, ranks=True)
    assert found.as_dict()["pearson_low"] == found.pearson_interval.low


def test_a_family_is_the_mean_of_all_of_its_members() -> None:
    """The original keeps the last one's."""
    rows = rows_of({**DRAWN, "natural": NATURAL})
    (found,) = correlate_drops(rows, "natural", "noc_*")
    each = [pearson(values, NATURAL) for values in DRAWN.values()]
    assert found.pearson == pytest.approx(sum(each) / 3)
    assert found.pearson != pytest.approx(each[-1])
    assert (found.first, found.suites) == ("noc_*", 3)
    assert found.pearson_interval.low < found.pearson < found.pearson_interval.high
    assert correlate_drops(rows, "natural", "noc_*") == [found]


def test_a_family_of_the_same_suite_has_that_suites_interval_by_bootstrap() -> None:
    twice = {"noc_1": DRAWN["noc_1"], "noc_2": DRAWN["noc_1"], "natural": NATURAL}
    (found,) = correlate_drops(rows_of(twice), "natural", "noc_*")
    drawn = np.random.Generator(np.random.PCG64(0)).integers(7, size=(1000, 7))
    one, two = np.array(DRAWN["noc_1"]), np.array(NATURAL)
    expected = np.quantile(
        [pearson(one[some], two[some]) for some in drawn], [0.025, 0.975], method="weibull"
    )
    assert found.pearson_interval == pytest.approx(tuple(expected))


def test_all_pairs_and_all_with_one() -> None:
    rows = rows_of({**DRAWN, "natural": NATURAL})
    assert len(correlate_drops(rows)) == 6
    with_one = correlate_drops(rows, "natural")
    assert [one.first for one in with_one] == ["noc_1", "noc_2", "noc_3"]
    assert {one.second for one in with_one} == {"natural"}


def test_models_that_one_suite_lacks_do_not_count() -> None:
    rows = rows_of({"noc_1": DRAWN["noc_1"], "natural": NATURAL})
    (found,) = correlate_drops([*rows, ModelDrop("m9", "natural", 0.9)])
    assert found.models == 7


def test_what_has_too_few_models_is_left_out_and_named() -> None:
    told: list[str] = []
    full = rows_of({"noc_1": DRAWN["noc_1"], "natural": NATURAL})
    one = ModelDrop("m0", "tiny", 0.1)
    found = correlate_drops([*full, *rows_of(FEW), one], tell=told.append)
    assert found == correlate_drops(full)
    assert told == ["b (4 models), tiny (1 model); a correlation takes 5 or more"]
    # A suite may have enough, but of other models than the second suite.
    told.clear()
    rows = [*HALVES, *rows_of({"c": [*NATURAL, 0.2, 0.3, 0.4]})]
    found = correlate_drops(rows, tell=told.append)
    assert [(one.first, one.second, one.models) for one in found] == [("a", "c", 7), ("b", "c", 7)]
    assert told == ["a with b (4 models); a correlation takes 5 or more"]


def test_drops_are_shares() -> None:
    assert drop(0.9, 0.7, "m") == pytest.approx(0.2)
    for clean, accuracy in ((90, 0.7), (0.9, 70)):
        with pytest.raises(InputError, match=r"of m as a share from 0 to 1.*divide per cents"):
            drop(clean, accuracy, "m")
    for accuracy in (float("nan"), float("inf"), -0.1):
        with pytest.raises(InputError, match=rf"of m as a share from 0 to 1, got {accuracy}$"):
            drop(0.9, accuracy, "m")


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        (
            rows_of({"a": NATURAL[:4], "b": NATURAL[:4]}),
            (),
            r"of 5 models .*, got a \(4 models\), b \(4",
        ),
        (
            rows_of({"a": NATURAL}),
            (),
            r"expected results on two suites or more, .* got a \(7 models\)",
        ),
        (rows_of({"a": NATURAL, "b": [0.1] * 7}), (), "expected models to differ on b"),
        (rows_of({"a": NATURAL, "b": NATURAL}), ("c",), 'unknown suite among the results "c"'),
        (
            rows_of({"a": NATURAL, **FEW}),
            ("b",),
            "expected 5 models or more on b, got 4; of so few",
        ),
        (rows_of({"a": NATURAL, "c": NATURAL, **FEW}), ("a", "b*"), "5 models or more on b, got 4"),
        (HALVES, (), "5 models or more on both a and b, got 4; of so few any"),
        ([*HALVES, *rows_of({"c": NATURAL + NATURAL[:3]})], ("b", "a*"), "on both a. and b, got 4"),
        (rows_of({"a": NATURAL, "b": NATURAL}), ("b", "x*"), 'fit the pattern "x'),
        (rows_of({"a": NATURAL}) * 2, (), "each model once on a, got m0 twice"),
    ],
)
def test_too_little(rows, arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        correlate_drops(rows, *arguments)


def test_from_a_file(tmp_path) -> None:
    path = tmp_path / "results.csv"
    path.write_text(HEAD + "m,s,0.9,0.6\nn,s,0.8,0.8\n")
    assert read_drops(path) == [ModelDrop("m", "s", pytest.approx(0.3)), ModelDrop("n", "s", 0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the columns model, suite, clean, accuracy"),
        ("model,suite\nm,s\n", "got no clean, accuracy"),
        (HEAD, "expected results below the header, got none"),
        ("accuracy," + HEAD + "0.1,m,s,0.9,0.6\n", "expected the column accuracy once, got it 2 t"),
        (HEAD + "m,s,0.9,\n", r"line 2: expected clean and accuracy as numbers, got '0.9' and ''"),
        (HEAD + "m,s,0.9\n", "line 2: expected clean and accuracy"),
        (
            "suite,clean,accuracy,model\ns,0.9,0.6,m\n\ns,0.9,0.6\n",
            "line 4: expected the names of a model and a suite, got None and 's'",
        ),
        (HEAD + "m, ,0.9,0.6\n", "line 2: expected the names of a model and a suite, got 'm' and"),
        (HEAD + ",s,0.9,0.6\n", "line 2: expected the names of a model and a suite, got '' and"),
        (HEAD + "m,s,76.1,39\n", "clean accuracy of m on s as a share from 0 to 1, got 76.1"),
    ],
)
def test_bad_files(tmp_path, text, message) -> None:
    path = tmp_path / "results.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_drops(path)


def test_from_a_store(tmp_path) -> None:
    labels = np.arange(8) % 10
    for model in ("fake:10", "fake:10:1"):
        evaluate(
            model, suite="cifar10_c", images=photos(32), labels=labels, store=tmp_path, only="fog"
        )
    one, two = stored_drops(tmp_path)
    assert (one.model, two.model) == ("fake:10", "fake:10:1")
    assert one.suite == "cifar10_c"
    run = find_runs(tmp_path)[0]
    right = [
        (run.read(cells, ["rank"])["rank"] == 0).mean()
        for cells in ([CLEAN], [Cell("fog", level) for level in (1, 2, 3, 4, 5)])
    ]
    assert one.drop == pytest.approx(right[0] - right[1])
    assert one.drop != two.drop


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": photos(32)[::-1]}, r"image sets \("),
        ({"images": photos(32)[:6], "labels": np.arange(6)}, r"numbers of images \(8 and 6\)"),
        ({"only": "snow"}, "only the second has snow"),
        ({"severities": [1, 2]}, "severities"),
        ({"seed": 1}, "ways of making the images"),
    ],
)
def test_models_that_were_run_differently_are_not_put_together(tmp_path, change, message) -> None:
    usual = {"images": photos(32), "labels": np.arange(8) % 10, "only": "fog"}
    for store, model, other in (("a", "fake:10", {}), ("b", "fake:10:1", change)):
        evaluate(model, suite="cifar10_c", store=tmp_path / store, **usual | other)
    rows = [*stored_drops(tmp_path / "a"), *stored_drops(tmp_path / "b")]
    with pytest.raises(InputError, match=f"fake:10 and fake:10:1 alike on cifar10_c.*{message}"):
        correlate_drops(rows)
