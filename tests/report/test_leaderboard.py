from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from hardy.errors import InputError
from hardy.report.gathered import StoreReport
from hardy.report.leaderboard import boards, leaderboard, render_leaderboard
from hardy.report.submitted import find_results
from hardy.scores.result_files import result_of
from tests.report.conftest import LONG, MARKUP, QUOTES
from tests.report.pages import Parsed, check_safe

Data = dict[str, Any]


@pytest.fixture(scope="module")
def results(report: StoreReport) -> list[Data]:
    entries = [entry for section in report.sections for entry in section.entries]
    return [json.loads(json.dumps(result_of(entry.scores))) for entry in entries]


def write(folder: Path, results: list[Data]) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number}.json" for number in range(len(results))]
    for path, result in zip(paths, results, strict=True):
        path.write_text(json.dumps(result))
    return paths


def test_results_made_alike_are_ranked(results: list[Data], tmp_path: Path) -> None:
    corruptions, sequences = boards(find_results(write(tmp_path, results)))
    (ranking,) = corruptions.rankings
    assert [(row.rank, row.result.name) for row in ranking.rows] == [
        (1, MARKUP),
        (2, QUOTES),
        (3, LONG),
    ]
    assert ranking.columns[0] == "mCE"
    assert corruptions.others is None
    assert len(sequences.rankings[0].rows) == 2


def test_others_stand_apart_without_a_rank_and_say_why(results: list[Data], tmp_path: Path) -> None:
    other = deepcopy(results[0])
    other["model"]["name"] = "on other images"
    for score in other["scores"]:
        score["images_hash"] = "of others"
    board = boards(find_results(write(tmp_path, [*results, other])))[0]
    assert board.others is not None
    (row,) = board.others.rows
    assert (row.rank, row.result.name) == (None, "on other images")
    assert row.apart.startswith("different image sets (")
    assert len(board.rankings[0].rows) == 3
    page = render_leaderboard(find_results([tmp_path])).decode()
    assert page.count(">Made differently</button>") == 1
    assert any(row.name == "AugMix" and row.value.text == "65.3" for row in board.published)


def test_classes_of_the_images_own_are_said_and_not_ranked_with_the_suites(
    results: list[Data], tmp_path: Path
) -> None:
    other = deepcopy(results[0])
    other["model"]["name"] = "net"
    other["circumstances"]["labels"] = "own"
    board = boards(find_results(write(tmp_path, [*results, other])))[0]
    assert board.others is not None
    assert board.others.rows[0].apart == "different classes (suite and own)"
    assert board.others.rows[0].name == "net (own classes)"
    alone = find_results(write(tmp_path / "alone", [other]))
    assert not boards(alone)[0].published, "which are of the suite's classes"
    assert "imagenet_c v1 with own classes" in render_leaderboard(alone).decode()


def test_a_score_made_differently_is_not_in_the_column(results: list[Data], tmp_path: Path) -> None:
    changed = deepcopy(results)
    (score,) = [one for one in changed[1]["scores"] if one["name"] == "mean error"]
    score["levels"] = [1, 2, 3]
    found = find_results(write(tmp_path, changed))
    (ranking,) = boards(found)[0].rankings
    column = ranking.columns.index("mean error")
    assert [row.cells[column] is None for row in ranking.rows] == [False, True, False]
    assert ranking.rows[1].odd[column] == "different severities (1, 2, 3, 4, 5 and 1, 2, 3)"
    assert render_leaderboard(found).count(b"made differently</td>") == 1


def test_a_file_given_twice_is_one_result(results: list[Data], tmp_path: Path) -> None:
    paths = write(tmp_path, results)
    assert len(boards(find_results([*paths, tmp_path]))[0].rankings[0].rows) == 3
    other = deepcopy(results[0])
    other["model"]["backbone"] = "ResNet-50"
    write(tmp_path, [*results, other])
    found = find_results([tmp_path])
    assert len(boards(found)[0].rankings[0].rows) == 4, "another statement is another result"
    assert render_leaderboard(found) == render_leaderboard(found[::-1])


def test_page_is_safe_whatever_the_files_say(results: list[Data], tmp_path: Path) -> None:
    stated = deepcopy(results)
    stated[0]["model"] |= {
        "backbone": MARKUP,
        "extra_data": LONG,
        "standalone": False,
        "seen_corruptions": ["fog"],
    }
    page = leaderboard(write(tmp_path, stated), tmp_path / "site").read_bytes()
    assert sorted(path.name for path in (tmp_path / "site").iterdir()) == ["index.html"]
    parsed = Parsed(page)
    check_safe(parsed)
    assert len(parsed.all("script")) == 1
    rows = [row for row in parsed.all("tr") if "data-backbone" in row]
    assert len(rows) == 5
    assert {row["data-standalone"] for row in rows} == {"combined", "not stated"}
    assert rows[0]["data-backbone"] == MARKUP
    assert parsed.text.count(f"{LONG[:35]}…") == 1, "shortened in the list to choose from"
    assert b"://" not in page
    assert page == render_leaderboard(find_results(sorted(tmp_path.glob("*.json"), reverse=True)))


def _drop(*keys: str | int) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in keys[:-1]:
            data = data[key]
        del data[keys[-1]]

    return change


def _put(value: Any, *keys: str | int) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (_drop("model", "name"), "model.name"),
        (_drop("circumstances", "suite_hash"), "circumstances.suite_hash"),
        (_drop("scores", 3, "low"), r"scores\[3\].low"),
        (_put("76.7", "scores", 0, "value"), r"scores\[0\].value"),
        (_put(float("nan"), "scores", 0, "value"), r"scores\[0\].value"),
        (_put(float("inf"), "scores", 1, "high"), r"scores\[1\].high"),
        (_put(2, "hardy_result"), "hardy_result"),
        (_put("yes", "model", "standalone"), "model.standalone"),
        (_put("perturbations", "circumstances", "kind"), "circumstances.kind"),
        (_put(2, "circumstances", "version"), "circumstances.version: expected 1"),
        (_put("0" * 64, "circumstances", "suite_hash"), "circumstances.suite_hash: expected"),
        (_put([MARKUP], "model", "seen_corruptions"), "model.seen_corruptions"),
        (_put(["frog"], "scores", 2, "names"), r'scores\[2\].names: "frog"; did you mean "fog"'),
        (_put([6], "scores", 2, "levels"), r"scores\[2\].levels: expected among"),
        (_put([], "scores", 0, "levels"), r"scores\[0\].levels"),
    ],
)
def test_a_bad_file_is_refused_with_its_field(
    results: list[Data], tmp_path: Path, change: Callable[[Any], None], field: str
) -> None:
    bad = deepcopy(results[0])
    change(bad)
    write(tmp_path, [results[1], bad])
    with pytest.raises(InputError, match=rf"1 of 2 result files.*\n.*1\.json.*{field}"):
        leaderboard([tmp_path], tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_one_file_that_is_bad_is_refused_in_one_line(results: list[Data], tmp_path: Path) -> None:
    bad = deepcopy(results[0])
    _put(10**400, "circumstances", "total")(bad)
    write(tmp_path, [bad])
    with pytest.raises(InputError, match=r"^\S*0\.json: circumstances.total: expected .*file$"):
        leaderboard([tmp_path], tmp_path / "site")


def test_suites_of_ones_own_are_left_out_in_words(results: list[Data], tmp_path: Path) -> None:
    own = deepcopy(results[0])
    own["circumstances"] |= {"suite": "<my_suite>", "suite_hash": "0" * 64}
    (tmp_path / "results.json").write_text(json.dumps([*results, own]))
    found = find_results([tmp_path])
    assert [board.suite for board in boards(found)] == ["imagenet_c", "imagenet_p"]
    page = render_leaderboard([*found, found[-1]]).decode()
    assert page.count("<tr data-text=") == len(results)
    assert page.count("Left out:") == 1
    assert (
        "Left out: 1 result on &lt;my_suite&gt;, which is no suite of Hardy&#39;s: suites of "
        "one&#39;s own cannot be compared here."
    ) in page
    assert "Left out:" not in render_leaderboard(found[:-1]).decode()
    (tmp_path / "results.json").write_text(json.dumps([own]))
    with pytest.raises(InputError, match="got only 1 result on <my_suite>"):
        find_results([tmp_path])


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="hardy score --format json"):
        find_results([tmp_path])


def test_the_site_is_a_folder_outside_runs(results: list[Data], tmp_path: Path) -> None:
    paths = write(tmp_path, results)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(InputError, match="holds the predictions of a run"):
        leaderboard(paths, tmp_path / "run" / "site")
    assert not (tmp_path / "run" / "site").exists()
    with pytest.raises(InputError, match=r"0.json is a file; name a folder"):
        leaderboard(paths, paths[0])
