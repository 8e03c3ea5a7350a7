"""`hardy score`, from its arguments to tables, files and exit codes."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hardy.scores.result_files import read_results
from hardy.suites import load, published
from hardy.suites.cells import CLEAN, Cell
from tests.scores.commands import BAD, GOOD, ODD, STORED, lines_with, run, store
from tests.scores.helpers import write_nothing, write_run, write_sequences
from tests.suites.helpers import write_rows

__all__ = ["run", "store"]


def test_score_prints_a_table_per_suite(run, store: Path) -> None:
    code, out, err = run("score", store)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    titles = [line for line in out.splitlines() if line.startswith("imagenet_")]
    assert titles == [
        "imagenet_c",
        "imagenet_c: CE, corruption by corruption",
        "imagenet_p",
        "imagenet_p: FR, perturbation by perturbation",
    ]
    good = lines_with(out, "good ")[0]
    assert f"{100 * np.mean([GOOD[c] for c in GOOD if c != CLEAN]):.1f}" in good
    assert "\n[bold]odd[/bold]" in out
    assert "\x1b" not in out
    assert "AlexNet reference, 2 corruptions × 5, 40 images, imagenet_c v1" in out
    assert len(lines_with(out, "fog ")) == 1
    assert len(lines_with(out, "tilt ")) == 1
    _, out, _ = run("score", store, "--format", "md", "--suite", "imagenet_p")
    assert "### imagenet_p: T5D, perturbation by perturbation" in out, "there is room for all"


def test_score_chooses(run, store: Path) -> None:
    code, out, _ = run("score", store, "--model", "good", "--suite", "imagenet_c")
    assert code == 0
    assert "good" in out
    assert "middling" not in out
    assert "imagenet_p" not in out
    code, out, _ = run("score", store, "--model", "good", "--model", "[b")
    assert "imagenet_p" in out
    assert "odd" in out
    assert "middling" not in out


def test_score_csv(run, store: Path) -> None:
    code, out, _ = run("score", store, "--format", "csv", "--suite", "imagenet_c")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out, newline="")))
    by_name = {(row["model"], row["name"]): row for row in rows}
    assert len(by_name) == len(rows)
    assert {model for model, _ in by_name} == {"good", "middling", STORED}
    row = by_name["good", "error fog"]
    mean = np.mean([GOOD[Cell("fog", s)] for s in range(1, 6)])
    assert float(row["value"]) == pytest.approx(100 * mean)
    assert float(row["low"]) < float(row["value"]) < float(row["high"])
    assert (row["names"], row["levels"], row["reference"]) == ("fog", "1 2 3 4 5", "")
    assert by_name["good", "mCE"]["reference"] == "AlexNet"


def test_score_json_is_a_result_file(run, store: Path) -> None:
    code, out, _ = run("score", store, "--format", "json", "-o", "deep/r.json")
    assert (code, out) == (0, f"wrote {Path('deep/r.json')}\n")
    found = read_results(Path("deep/r.json"))
    assert len(found) == 5
    by_model = {(r.name, r.scores[r.headline[0]].circumstances.suite): r for r in found}
    assert by_model[STORED, "imagenet_c"].headline[0] == "mCE"
    assert by_model["good", "imagenet_p"].headline[0] == "mFR"
    assert [p.name for p in Path("deep").iterdir()] == ["r.json"]
    code, out, _ = run("score", store, "--format", "json", "--model", ODD)
    assert json.loads(out)["model"]["name"] == STORED


def test_results_leave_out_what_an_attack_stored(run, tmp_path: Path) -> None:
    """Answers to clean images alone: there is nothing to rank them by."""
    write_run(tmp_path / "s", {CLEAN: GOOD[CLEAN]}, model=ODD)
    code, out, err = run("score", "s", "--format", "json", "-o", "r.json")
    assert (code, out) == (2, "")
    assert err == (
        "error: expected predictions on a suite's corruptions for a result file, got only clean "
        f"images of {STORED}; run `hardy eval` without an attack\n"
    )
    assert not Path("r.json").exists()
    damaged = write_run(tmp_path / "s", GOOD, model="damaged")
    for part in damaged.folder.glob("parts/*"):
        part.write_bytes(b"nothing")
    code, _, err = run("score", "s", "--format", "json", "-o", "r.json")
    assert code == 2
    assert "1 run could not be scored:" in err
    assert err.index("is damaged") < err.index("got only clean images of")
    shutil.rmtree(damaged.folder)
    write_run(tmp_path / "s", GOOD, model="good")
    code, _, err = run("score", "s", "--format", "json", "-o", "r.json")
    assert code == 0
    assert err == (
        f"left out: {STORED} on imagenet_c, which holds predictions on clean images only; run "
        "`hardy eval` on the suite's corruptions, without an attack\n"
    )
    assert [one.name for one in read_results(Path("r.json"))] == ["good"]
    code, out, err = run("score", "s", "--format", "csv")
    assert (code, err) == (0, "")
    assert STORED in out


def test_score_markdown_marks_the_best(run, store: Path) -> None:
    code, out, _ = run("score", store, "--format", "md", "--suite", "imagenet_c")
    assert code == 0
    (good,) = [line for line in out.splitlines() if line.startswith("| good |")]
    (odd,) = [line for line in out.splitlines() if line.startswith(r"| \[bold\]odd")]
    assert good.count("**") == 6, "all but relative mCE"
    assert "**" not in odd


def test_of_scores_made_differently_none_is_best(run, tmp_path: Path) -> None:
    write_run(tmp_path / "s", GOOD, model="a")
    write_run(tmp_path / "s", BAD, model="b", ids=range(1, 41))
    code, out, _ = run("score", "s", "--format", "md")
    assert code == 0
    assert "**" not in out


def test_score_with_a_reference(run, store: Path) -> None:
    arguments = ("score", store, "--suite", "imagenet_c", "--format", "csv", "--reference")
    _, out, _ = run(*arguments, "good")
    rows = {(r["model"], r["name"]): r for r in csv.DictReader(io.StringIO(out, newline=""))}
    assert float(rows["good", "mCE"]["value"]) == pytest.approx(100)
    assert rows["good", "mCE"]["reference"].startswith("good@")
    _, out, _ = run(*arguments, "none")
    assert not [row for row in csv.DictReader(io.StringIO(out)) if "CE" in row["name"].split()]
    code, _, err = run(*arguments, "goof")
    assert code == 2
    assert 'unknown model "goof"; did you mean "good"?' in err


def test_score_published(run, store: Path, tmp_path: Path) -> None:
    code, out, err = run("score", store, "--suite", "imagenet_p", "--published")
    assert (code, "published:" in out) == (0, False)
    why = "they are means over all 10 perturbations, these over 2"
    assert err == f"Published numbers are left out: {why}\n"
    whole = [Cell(name, 1) for name in load("imagenet_p").counted]
    write_sequences(tmp_path / "whole", whole)
    code, out, err = run("score", tmp_path / "whole", "--published")
    assert (code, err) == (0, "")
    assert "published: Clean error, mFR and flip rate per perturbation (Table 3)" in out
    assert ["ResNet-50", "58.0", "23.9"] in lines_with(out, "ResNet-50 ")
    assert ["VGG-19+BN", "65.1", "[1]", "25.8"] in lines_with(out, "VGG-19+BN ")
    (remark,) = published.load_table("iclr_flip_rate").notes("VGG-19+BN", "mFR")
    assert f"[1] {remark}" in out.replace(" \n", " ").replace("\n", " ").replace("  ", " ")
    assert "source: Hendrycks & Dietterich" in out
    code, _, err = run("score", store, "--published", "--format", "json")
    assert code == 2
    assert "--published with table or md, got json" in err


def test_what_cannot_be_scored_is_listed_and_the_rest_shown(run, tmp_path: Path) -> None:
    write_run(tmp_path / "s", GOOD, model="good")
    holes = {cell: flags.astype(int) for cell, flags in GOOD.items()}
    holes[Cell("fog", 1)][:20] = -1
    holes[Cell("fog", 2)][20:] = -1
    write_run(tmp_path / "s", holes, model="holes")
    code, out, err = run("score", "s")
    assert code == 1
    assert lines_with(out, "good ")
    assert err.splitlines()[0] == "1 run could not be scored:"
    assert "  expected images of holes on imagenet_c with all" in err
    code, out, err = run("score", "s", "--model", "holes")
    assert (code, out) == (2, "")
    assert err.startswith("error: expected images of holes")


def test_runs_without_predictions_or_of_another_version_are_listed(run, tmp_path: Path) -> None:
    write_run(tmp_path / "s", GOOD, model="good")
    write_run(tmp_path / "s", BAD, model="bad")
    write_nothing(tmp_path / "s", "begun")
    details = write_run(tmp_path / "s", GOOD, model="old").folder / "run.json"
    details.write_text(json.dumps({**json.loads(details.read_text()), "store": 0}))
    code, out, err = run("score", "s")
    assert code == 1
    assert lines_with(out, "good ")
    assert err.splitlines()[0] == "2 runs could not be scored:"
    assert "old--imagenet_c" in err
    assert "  the run of begun on imagenet_c holds no predictions yet; the same" in err
    code, out, err = run("compare", "s", "good", "bad", "--suite", "imagenet_c")
    assert code == 0
    assert lines_with(out, "mCE ")
    assert err.splitlines()[0] == "1 run could not be read:"
    for model in ("good", "bad", "begun"):
        (folder,) = (tmp_path / "s").glob(f"{model}--*")
        (folder / "run.json").unlink()
    code, out, err = run("score", "s", "--suite", "imagenet_c")
    assert (code, out) == (2, "")
    assert "old--imagenet_c" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("score", "nowhere"), "nowhere"),
        (("score", "{}", "--model", "goof"), 'unknown model "goof"; did you mean "good"'),
        (("score", "{}", "--suite", "imagenet"), 'unknown suite among these runs "imagenet"'),
        (("compare", "{}", "good", "nobody", "--suite", "imagenet_c"), 'unknown model "nobody"'),
        (("compare", "{}", "good", "middling"), "name a suite: imagenet_c, imagenet_p"),
        (("describe", "cifar10_p", "--images", "rows.npz"), "expected a suite of corruptions"),
        (("describe", "imagenet", "--images", "rows.npz"), 'unknown suite "imagenet"'),
    ],
)
def test_mistakes_are_one_message_and_code_2(
    run, store: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    write_rows(tmp_path)
    code, out, err = run(*(str(store) if word == "{}" else word for word in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert "Traceback" not in err
