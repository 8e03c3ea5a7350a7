"""What a model was trained on is marked wherever its numbers are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hardy.report.gathered import gather
from hardy.report.headline import headline_summary
from hardy.report.leaderboard import find_results, render_leaderboard
from hardy.report.page import render_report
from hardy.report.words import describe_run
from hardy.scores import compare_runs, score_run
from hardy.scores.listing import score_tables
from hardy.scores.result_files import result_of, write_results
from hardy.scores.run_scores import Scores
from hardy.scores.text_tables import to_csv
from hardy.store.reader import StoredRun
from tests.records import read_unsealed
from tests.report.pages import Parsed
from tests.scores.helpers import FEW, errors, run_in, write_run

NOTE = "† trained on gaussian_noise: not unseen by this model"


def with_seen(run: StoredRun, *seen: object) -> StoredRun:
    """As if the sessions had said so; None is a session that says nothing."""
    path = run.folder / "run.json"
    details = read_unsealed(path)
    details["sessions"] = [
        {"subset": None} if one is None else {"subset": None, "seen_corruptions": one}
        for one in seen
    ]
    path.write_text(json.dumps(details))
    return run_in(run.folder)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def scored(store: Path) -> list[Scores]:
    """One that has seen noise, also one that the suite does not have; one that nobody knows of."""
    runs = [write_run(store, errors(seed=k), model=name) for k, name in enumerate("ab")]
    runs[0] = with_seen(runs[0], ["gaussian_noise", "hail"])
    return [score_run(run, how=FEW) for run in runs]


def test_printed_scores_are_marked(scored: list[Scores]) -> None:
    seen, unknown = scored
    assert f"mCE {seen['mCE'].figure()} † (AlexNet reference, " in str(seen)
    assert f"mean error {seen['mean error'].figure()} †, clean error " in str(seen)
    assert f"clean error {seen['clean error'].figure()}\n" in str(seen)
    assert f"{seen['mCE'].figure()} †</td>" in seen._repr_html_()
    assert f"{seen['clean error'].figure()}</td>" in seen._repr_html_()
    assert "†" not in str(unknown) + unknown._repr_html_()


def test_sessions_say_it(scored: list[Scores]) -> None:
    seen, unknown = scored
    assert seen.run.seen == ("gaussian_noise", "hail")
    assert seen.seen == ("gaussian_noise",)
    assert unknown.seen is None
    # A later session may know less: the same weights by another name.
    assert with_seen(seen.run, ["fog"], None).seen == ("fog",)
    assert with_seen(seen.run, []).seen == ()
    assert with_seen(seen.run, "fog").seen is None


def test_tables_mark_the_numbers_that_count_it(scored: list[Scores]) -> None:
    headline, singles = score_tables(scored)
    marked = {
        (row[0], name)
        for row in headline.rows
        for name, cell in zip(headline.header, row, strict=True)
        if "†" in cell
    }
    assert marked == {("a", name) for name in ("mCE", "relative mCE", "mean error")}
    assert f"a: {NOTE}" in headline.notes
    assert [row[0] for row in singles.rows if "†" in row[1]] == ["gaussian_noise"]
    assert not any("†" in row[2] for row in singles.rows)
    assert str(scored[0]).endswith(f"note: {NOTE}")
    assert "†" not in str(scored[1])


def test_nothing_is_marked_where_the_seen_one_was_not_run(store: Path) -> None:
    run = with_seen(write_run(store, errors(names=("fog", "snow"))), ["gaussian_noise"])
    scores = score_run(run, how=FEW)
    assert scores.seen == ("gaussian_noise",)
    assert "†" not in str(scores)
    assert not any(
        "†" in cell for table in score_tables([scores]) for row in table.rows for cell in row
    )


def test_comparisons_and_csv(scored: list[Scores]) -> None:
    table = compare_runs(*scored).tables()[0]
    by_name = {row[0]: row for row in table.rows}
    assert by_name["CE gaussian_noise"][1].endswith("†")
    assert not by_name["CE gaussian_noise"][2].endswith("†")
    assert "†" not in by_name["CE fog"][1]
    assert f"A: {NOTE}" in table.notes
    lines = to_csv(scored[0].as_dicts()).splitlines()
    assert lines[0].endswith(",seen")
    (line,) = [line for line in lines if line.startswith("a,CE gaussian_noise,")]
    assert line.endswith(",gaussian_noise")


def test_result_files_and_the_leaderboard(scored: list[Scores], tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(write_results([result_of(one) for one in scored]))
    found = find_results([path])
    assert [one.model["seen_corruptions"] for one in found] == [["gaussian_noise"], None]
    assert found[0].provenance["sessions"][0]["seen_corruptions"] == ["gaussian_noise", "hail"]
    page = render_leaderboard(found).decode()
    rows = [line.partition("</tr>")[0] for line in page.split("<tr ") if "data-seen=" in line]
    assert [row.count(" †") for row in rows if 'data-seen="some"' in row] == [3]
    assert [row.count(" †") for row in rows if 'data-seen="not stated"' in row] == [0]
    # What somebody states goes before what we know.
    assert result_of(scored[0], {"seen_corruptions": ["fog"]})["model"]["seen_corruptions"] == [
        "fog"
    ]


def test_the_report(scored: list[Scores], store: Path) -> None:
    report = gather(store)
    facts = {
        entry.label: dict(describe_run(entry).facts)["Corruptions it was trained on"]
        for entry in report.sections[0].entries
    }
    assert facts == {"a": "gaussian noise, hail", "b": "not stated"}
    page = render_report(report)
    text = " ".join(Parsed(page).text)
    assert NOTE in text
    assert "a †" in headline_summary(report.sections[0])
    assert "b †" not in headline_summary(report.sections[0])
    # The sentence, the headline's three with mAUDE and ECE, three of calibration, CE, and the note.
    assert text.count("†") == 11
    drawn = next(script for script in Parsed(page).scripts if script.startswith('{"imagenet'))
    (trace,) = [
        trace
        for trace in json.loads(drawn)["imagenet-c-bars-ce-0"]["data"]
        if (trace["type"], trace["name"]) == ("bar", "a")
    ]
    assert [
        name for name, hover in zip(trace["y"], trace["customdata"], strict=True) if "†" in hover
    ] == ["gaussian noise"]
