"""A defence, and above all adaptation to the test images, is told wherever a score is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hardy.errors import InputError
from hardy.models.model import in_words
from hardy.report.figures import figures
from hardy.report.gathered import gather
from hardy.report.headline import headline_summary
from hardy.report.leaderboard import boards, render_leaderboard
from hardy.report.page import render_report
from hardy.report.submitted import find_results
from hardy.report.words import defence_name, short
from hardy.scores import Scores, compare_runs, score_run
from hardy.scores.listing import score_tables
from hardy.scores.result_files import read_results, result_of, write_results
from hardy.scores.text_tables import to_csv, to_markdown, to_text
from hardy.store.records import read_defences
from tests.scores.helpers import FEW, errors, write_run

MARKED = "mine+bn_adapt:16 (adapted)"
WORDS = "bn_adapt:16: batch norm by the statistics of 64 test images"
TOLD = (
    f"adapted to the images it is tested on, which others never see: {WORDS}; intervals take "
    "images for independent, and those of one batch are not"
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def scored(store: Path) -> list[Scores]:
    """A model, the same behind a filter, and the same adapted."""
    runs = [
        write_run(store, errors(seed=1), model="mine"),
        write_run(store, errors(seed=2), model="mine+clahe", defence="clahe: equalised"),
        write_run(store, errors(seed=3), model=MARKED, defence=WORDS, batches="of these images"),
    ]
    return [score_run(run, how=FEW) for run in runs]


def results(scored: list[Scores]) -> list[dict[str, Any]]:
    return [json.loads(json.dumps(result_of(one))) for one in scored]


def test_printed_scores(scored: list[Scores]) -> None:
    plain, filtered, adapted = scored
    assert "note" not in str(plain)
    assert str(filtered).endswith("\nnote: defended by clahe: equalised")
    assert str(adapted).endswith(f"\nnote: {TOLD}")


def test_tables(scored: list[Scores]) -> None:
    headline, *singles = score_tables(scored)
    assert [row[0] for row in headline.rows] == ["mine", "mine+clahe", MARKED]
    assert f"{MARKED}: {TOLD}" in headline.notes
    assert "mine+clahe: defended by clahe: equalised" in headline.notes
    assert singles
    for table in singles:
        assert table.header[1:] == ("mine", "mine+clahe", MARKED)
    assert "(adapted)" in to_text([headline])
    assert "(adapted)" in to_markdown([headline])
    rows = [row for one in scored for row in one.as_dicts()]
    adapted = [line for line in to_csv(rows).splitlines() if "(adapted)" in line]
    assert len(adapted) == len(scored[2])


def test_comparisons(scored: list[Scores]) -> None:
    table = compare_runs(scored[0], scored[2]).tables()[0]
    assert any(note.startswith(f"B: {MARKED} @") for note in table.notes)
    assert f"B: {TOLD}" in table.notes


def test_result_files(scored: list[Scores], tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(write_results([result_of(one) for one in scored]), encoding="utf-8")
    plain, filtered, adapted = read_results(path)
    assert (plain.model["defence"], plain.model["adapted"]) == (None, False)
    assert (filtered.model["defence"], filtered.model["adapted"]) == (
        [{"name": "clahe", "setting": None, "words": "equalised"}],
        False,
    )
    assert (in_words(adapted.defences), adapted.model["adapted"]) == (WORDS, True)
    assert [one.label for one in adapted.defences] == ["bn_adapt:16"]
    assert TOLD in adapted.notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"adapted": None}, "model.adapted: expected true or false, got None"),
        ({"adapted": "no"}, "model.adapted: expected true or false, got 'no'"),
        (
            {"defence": 3},
            r"model.defence: expected a list of defences \(name, setting, words\), text of at most "
            "10,000 letters or null, got 3",
        ),
    ],
)
def test_wrong_fields(change, message, scored: list[Scores], tmp_path: Path) -> None:
    result = results(scored)[0]
    result["model"] |= change
    path = tmp_path / "result.json"
    path.write_text(json.dumps(result))
    with pytest.raises(InputError, match=message):
        read_results(path)


def test_the_leaderboard_marks_it_whatever_it_is_called(scored, tmp_path: Path) -> None:
    files = results(scored)
    files.append(json.loads(json.dumps(files[2])))
    files[3]["model"] |= {"name": "a plain name", "defence": None}
    for number, result in enumerate(files):
        (tmp_path / f"{number}.json").write_text(json.dumps(result))
    found = find_results([tmp_path])
    (board,) = boards(found)
    assert board.adapted is not None
    rows = (*board.rankings[0].rows, *board.adapted.rows)
    assert {row.name: (row.defence_name, row.defence) for row in rows} == {
        "mine": ("none", "none"),
        "mine+clahe": ("clahe", "clahe: equalised"),
        MARKED: ("bn_adapt:16", f"adapted to the test images: {WORDS}"),
        "a plain name (adapted)": ("not stated", "adapted to the test images: not stated"),
    }
    page = render_leaderboard(found).decode()
    assert f'title="adapted to the test images: {WORDS}">bn_adapt:16</td>' in page
    assert "a plain name (adapted)</bdi>" in page
    assert all("adapted" in row.text for row in board.adapted.rows)


def test_adapted_models_are_never_ranked(scored: list[Scores], tmp_path: Path) -> None:
    files = results(scored)
    files[2]["scores"][0] |= {"value": 1.0, "low": 0.5, "high": 1.5}
    for number, result in enumerate(files):
        (tmp_path / f"{number}.json").write_text(json.dumps(result))
    (board,) = boards(find_results([tmp_path]))
    (ranking,) = board.rankings
    assert {row.name for row in ranking.rows} == {"mine", "mine+clahe"}
    assert [row.rank for row in ranking.rows] == [1, 2]
    assert board.adapted is not None
    assert [(row.name, row.rank, row.apart) for row in board.adapted.rows] == [(MARKED, None, "")]
    page = render_leaderboard(find_results([tmp_path])).decode()
    assert page.index("Ranked by mCE") < page.index("Not ranked: adapted to the test images")
    assert page.index("Not ranked: adapted") < page.index(f">{MARKED}</bdi>")
    assert page.count('<td class="rank">') == 2
    assert "Made differently" not in page, "a column of nothing"
    alone = find_results([tmp_path / "2.json"])
    assert boards(alone)[0].rankings == ()
    assert '<td class="rank">' not in render_leaderboard(alone).decode()


def test_the_report_never_crowns_an_adapted_model(tmp_path: Path) -> None:
    write_run(tmp_path, errors(rate=0.1), model=MARKED, defence=WORDS, batches="of these images")
    (section,) = gather(tmp_path).sections
    assert headline_summary(section).startswith(f"{MARKED}: mCE "), "there is no other"
    write_run(tmp_path, errors(rate=0.8), model="bad")
    (section,) = gather(tmp_path).sections
    told = " Models adapted to the test images are not compared here."
    assert headline_summary(section) == f"bad: mCE {section.entries[0].main.figure()}.{told}"
    write_run(tmp_path, errors(rate=0.4), model="good")
    (section,) = gather(tmp_path).sections
    assert [entry.label for entry in section.entries] == ["good", "bad", MARKED]
    assert headline_summary(section).startswith("good holds up best: mCE ")
    assert "; bad is " in headline_summary(section)
    assert headline_summary(section).endswith(told)


TOLD_APART = " Models adapted to the test images are not compared here."


def captions(store: Path) -> dict[str, str]:
    (section,) = gather(store).sections
    made = {one.name.removeprefix("imagenet-c-"): one.sees for one in figures(section)}
    return made | {"summary": headline_summary(section)}


def test_no_caption_compares_an_adapted_model(tmp_path: Path) -> None:
    """What is said of the others is what would be said without it."""
    for model, seed, rate in (("good", 1, 0.4), ("bad", 2, 0.8)):
        write_run(tmp_path, errors(rate=rate, seed=seed), model=model)
    before = captions(tmp_path)
    best = errors(rate=0.0, clean=0.0)
    write_run(tmp_path, best, model=MARKED, defence=WORDS, batches="of these images")
    after = captions(tmp_path)
    comparing = ("bars-ce", "scatter-mce", "scatter-relative-mce", "calibration", "reliability")
    for name in (*comparing, "summary"):
        assert TOLD_APART in after[name], name
        assert after[name].replace(TOLD_APART, "") == before[name]
        assert TOLD_APART not in before[name]
    assert after["heat"] == before["heat"]
    assert after["curves"].startswith(before["curves"].partition(" The area under")[0])
    assert "good does best" not in after["bars-ce"]
    assert re.search(r"it does best in \d+ of 15\.", after["bars-ce"])


def test_where_all_are_adapted_none_is_best(tmp_path: Path) -> None:
    for model, rate in ((MARKED, 0.1), ("other (adapted)", 0.5)):
        write_run(tmp_path, errors(rate=rate, seed=5), model=model, defence=WORDS, batches="these")
    told = captions(tmp_path)
    assert told["summary"].startswith(f"{MARKED}: mCE ")
    assert told["scatter-mce"].startswith(f"{MARKED} has mCE ")
    assert f"On corrupted images {MARKED} is underconfident by " in told["reliability"]
    for sentence in told.values():
        assert not re.search(r"best|lowest|most accurate|published results?|furthest", sentence)
        assert "other" not in sentence.replace("which others never see", "") or "mAUDE" in sentence


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("clahe: L equalised: clip 2", "clahe"),
        (f"tencrop: ten crops; mean of the probabilities; {WORDS}", "tencrop+bn_adapt:16"),
        ("a remark of somebody's, longer than fits", "a remark of somebody's, longer than…"),
    ],
)
def test_defences_by_name(words: str, name: str) -> None:
    assert defence_name(read_defences(words), adapted=False) == name


def test_plots_shorten_a_name_but_not_its_mark() -> None:
    name = f"timm:a_net_of_so_long_a_name.in1k+{MARKED}"
    assert short(name) == "timm:a_net_of_so_long_a_n… (adapted)"
    assert len(short(name)) == 36
    assert short(name.removesuffix(" (adapted)")) == "timm:a_net_of_so_long_a_name.in1k+m…"


def test_the_report(scored: list[Scores], store: Path) -> None:
    assert scored
    page = render_report(gather(store)).decode()
    assert f"<bdi>{MARKED}</bdi>: {TOLD}</p>" in page
    assert f"<dt>Defence</dt><dd><bdi>adapted to the test images: {WORDS}</bdi></dd>" in page
    assert "<dt>Defence</dt><dd><bdi>clahe: equalised</bdi></dd>" in page
    assert "<dt>Defence</dt><dd><bdi>none</bdi></dd>" in page
