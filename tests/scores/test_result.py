"""Result files: what is written is read back, and what is wrong is refused by its name."""

from __future__ import annotations

import copy
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from hardy.errors import InputError
from hardy.scores import result_files as result
from hardy.scores import score_run
from hardy.scores.score import Circumstances
from tests.scores.helpers import FEW, errors, write_run

NAME = '<script>"x"</script> [bold] 😀\n' + 300 * "n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    run = write_run(tmp_path_factory.mktemp("store"), errors(), model=NAME)
    return result.result_of(score_run(run, how=FEW))


def test_written_and_read_back(tmp_path: Path) -> None:
    runs = [write_run(tmp_path, errors(seed=k), model=f"{k}{NAME}") for k in range(2)]
    scored = [score_run(run, how=FEW) for run in runs]
    path = tmp_path / "results.json"
    path.write_text(result.write_results([result.result_of(s) for s in scored]), encoding="utf-8")
    found = result.read_results(path)
    for one, scores in zip(found, scored, strict=True):
        assert one.scores == dict(scores)
        assert one.name == scores.model
        assert one.headline == tuple(s.name for s in scores.headline)
        assert one.model["backbone"] is None
        assert one.provenance["sessions"] == scores.run.details["sessions"]
    stated = {"backbone": "ResNet-50", "standalone": False, "seen_corruptions": ["fog"]}
    path.write_text(result.write_results([result.result_of(scored[0], stated)]), encoding="utf-8")
    (single,) = result.read_results(path)
    assert json.loads(path.read_text(encoding="utf-8"))["hardy_result"] == 1, "one is no list"
    assert {name: single.model[name] for name in stated} == stated


def test_the_fields_of_circumstances_are_all_there() -> None:
    there = {field.name for field in fields(Circumstances)}
    assert {*result.SHARED, *result.WHOSE, *result.OWN} == there
    assert not set(result.SHARED) & set(result.OWN)


def test_classes_of_the_images_own_are_told(tmp_path: Path, made: dict[str, Any]) -> None:
    """A file of 0.1 tells it in its provenance alone; most files need not say it."""
    run = write_run(tmp_path, errors(), own_classes=True)
    own = result.result_of(score_run(run, how=FEW))
    assert own["circumstances"]["labels"] == "own"
    assert "labels" not in made["circumstances"]
    older = changed(own, ["circumstances", "labels"], KeyError)
    for data in (json.loads(json.dumps(own)), older):
        score = result.parse_result(data, "x").scores["mean error"]
        assert "imagenet_c v1 with own classes, " in str(score)
    foreign = changed(older, ["provenance", "labels"], ["own"])
    assert result.parse_result(foreign, "x").scores["mean error"].circumstances.labels == "suite"


def changed(made: dict[str, Any], path: list[str | int], value: Any) -> dict[str, Any]:
    data = copy.deepcopy(json.loads(json.dumps(made)))
    place = data
    for step in path[:-1]:
        place = place[step]  # type: ignore[index]
    if value is KeyError:
        del place[path[-1]]  # type: ignore[arg-type]
    else:
        place[path[-1]] = value  # type: ignore[index]
    return data


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["hardy_result"], 2, "hardy_result: expected 1, got 2"),
        (["hardy_result"], True, "hardy_result: expected 1, got True"),
        (["hardy_result"], KeyError, "hardy_result: expected 1, got None"),
        (["model"], KeyError, "model: expected a table, got nothing; add"),
        (["model"], "resnet", "model: expected a table, got 'resnet'"),
        (["model", "name"], 3, "model.name: expected text of at most 1,000 letters, got 3"),
        (["model", "name"], "", "model.name: expected text of at most 1,000 letters, got ''"),
        (["model", "name"], "\ud800", "model.name: expected text"),
        (
            ["model", "backbone"],
            KeyError,
            "backbone: expected text of at most 1,000 letters or",
        ),
        (["model", "backbon"], None, 'model.backbon"; did you mean "model.backbone"'),
        (["model", "standalone"], "yes", "model.standalone: expected true, false"),
        (["model", "standalone"], 1, "model.standalone: expected true, false"),
        (["model", "seen_corruptions"], "fog", "seen_corruptions: expected a list of texts of at"),
        (["circumstances", "version"], "1", "circumstances.version: expected a whole number"),
        (["circumstances", "version"], 1.0, "circumstances.version: expected a whole number"),
        (
            ["circumstances", "kind"],
            "x",
            "kind: expected corruptions or perturbations or shifts or outliers, got 'x'",
        ),
        (
            ["circumstances", "kind"],
            [],
            "kind: expected corruptions or perturbations or shifts or outliers, got",
        ),
        (["circumstances", "total"], 0, "circumstances.total: expected a whole number above 0 or"),
        (["circumstances", "labels"], "mine", "circumstances.labels: expected suite or own, got"),
        (["headline"], [], "headline: expected the name of a score"),
        (["headline", 0], "mce", r"headline\[0\]: expected the name of a score, got 'mce'"),
        (["scores"], {}, "scores: expected a list of scores"),
        (["scores", 0], 5, "scores: expected a list of scores"),
        (
            ["scores", 2, "value"],
            NAN,
            r"scores\[2\].value: expected a number of at most 1e9, got nan",
        ),
        (
            ["scores", 2, "low"],
            -INF,
            r"scores\[2\].low: expected a number of at most 1e9, got -inf",
        ),
        (["scores", 2, "high"], -5, r"scores\[2\].high: expected at least low"),
        (
            ["scores", 2, "value"],
            "7",
            r"scores\[2\].value: expected a number of at most 1e9, got '7'",
        ),
        (
            ["scores", 2, "value"],
            None,
            r"scores\[2\].value: expected a number of at most 1e9, got None",
        ),
        (["scores", 2, "unit"], [], r"scores\[2\].unit: expected"),
        (["scores", 2, "images"], True, r"scores\[2\].images: expected a whole number"),
        (["scores", 2, "levels"], [1.5], r"scores\[2\].levels: expected a list of whole"),
        (["scores", 2, "name"], "mCE", r"scores\[2\].name: expected each score once, got 'mCE'"),
        (["scores", 2, "interval"], 1, r'unknown field of .* "scores\[2\].interval"'),
        (["model", "name"], " \t\u200b\n", "model.name: expected text"),
        (["model", "name"], "n" * 1001, "model.name: expected text of at most 1,000 letters"),
        (["model", "n" * 10**6], 1, 'unknown field of .* "model.n{54}"'),
        (["headline"], ["clean NLL"], r"headline\[0\]: expected one of mCE, relative mCE, mean"),
        (["headline"], ["clean error"], r"headline\[0\]: expected a score of corruptions"),
        (["headline"], ["mCE", "mCE"], "headline: expected each once, in the order"),
        (["headline"], ["mean error", "mCE"], "headline: expected each once, in the order"),
        (["scores", 2, "level"], 0.5, r"scores\[2\].level: expected 0.95, got 0.5"),
        (["scores", 2, "level"], 10**400, r"scores\[2\].level: expected 0.95, got 1000"),
        (["scores", 2, "value"], 10**400, r"scores\[2\].value: expected a number of at most"),
        (["scores", 2, "value"], 0, r"scores\[2\].value: expected at least low, "),
        (["scores", 2, "value"], 99.9, r"scores\[2\].value: expected at most high, "),
        (["scores", 2, "low"], -1.7e308, r"scores\[2\].low: expected a number of at most"),
        (["scores", 2, "images"], 10**400, r"scores\[2\].images: expected a whole number"),
        (["scores", 2, "levels"], [], r"scores\[2\].levels: expected those of its names"),
        (["scores", 2, "levels"], [1, 1], r"scores\[2\].levels: expected each once"),
        (["scores", 2, "names"], ["fog", "fog"], r"scores\[2\].names: expected each once"),
        (["scores", 0, "names"], [], r"headline\[0\]: expected a score of corruptions"),
        (["notes"], None, "notes: expected a list of texts of at most 10,000"),
        (["provenance", "sessions", 0, "hardy"], NAN, r"provenance.sessions\[0\].hardy: expected"),
        (["more"], 1, 'unknown field of .* "more"'),
    ],
)
def test_a_wrong_field_is_named(
    made: dict[str, Any], tmp_path: Path, path: list[str | int], value: Any, message: str
) -> None:
    file = tmp_path / "r.json"
    file.write_text(json.dumps(changed(made, path, value)))
    with pytest.raises(InputError, match=message):
        result.read_results(file)


@pytest.mark.parametrize("text", ["", "{", "3", '"x"', "[]", "[3]", "null", "[" * 100_000])
def test_other_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"r.json.*expected"):
        result.read_results(path)


@pytest.mark.parametrize(("value", "said"), [(-3, "0 or more"), (150, "at most 100 %")])
def test_errors_are_from_0_to_100_percent(
    made: dict[str, Any], tmp_path: Path, value: float, said: str
) -> None:
    data = copy.deepcopy(made)
    (place,) = [k for k, one in enumerate(data["scores"]) if one["name"] == "mean error"]
    data["scores"][place] |= {"value": value, "low": value - 1, "high": value + 1}
    path = tmp_path / "r.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=rf"scores\[{place}\].value: expected {said}, got {value}"):
        result.read_results(path)


def test_a_field_that_comes_twice_is_refused(made: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(made).replace('"name": ', '"name": "another", "name": ', 1))
    with pytest.raises(InputError, match=r"r.json: expected .* the field 'name' comes twice"):
        result.read_results(path)


def test_the_place_in_a_list_is_named(made: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps([made, changed(made, ["notes"], 1)]))
    with pytest.raises(InputError, match=r"r.json \[1\]: notes: expected"):
        result.read_results(path)
    with pytest.raises(InputError, match=r"missing.json: expected a result file"):
        result.read_results(tmp_path / "missing.json")


def test_nan_is_never_written(made: dict[str, Any]) -> None:
    with pytest.raises(
        InputError, match=r"scores\[1\].value: expected a number of at most 1e9, got nan"
    ):
        result.write_results([changed(made, ["scores", 1, "value"], NAN)])
