"""`hardy score`, `compare` and `describe`, from their arguments to tables, files and exit codes."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy import cli
from hardy.metrics import ms_ssim, published
from hardy.scoring.result import read_results
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell
from tests.scoring.helpers import errors, write_nothing, write_run, write_sequences
from tests.suites.helpers import write_rows

ODD = "[bold]odd[/bold] \x1b[31m"
STORED = r"[bold]odd[/bold] \x1b[31m"
NAMES = ("fog", "snow")
GOOD = errors(names=NAMES, images=40, rate=0.3, clean=0.1)
BAD = {cell: flags | (np.arange(40) < 20) for cell, flags in GOOD.items()}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models on ImageNet-C, the worst with a strange name; two on ImageNet-P."""
    store = tmp_path_factory.mktemp("store")
    write_run(store, GOOD, model="good")
    write_run(store, {**GOOD, CLEAN: BAD[CLEAN]}, model="middling")
    write_run(store, BAD, model=ODD)
    for seed, model in enumerate(("good", "middling")):
        write_sequences(store, [Cell("tilt", 1), Cell("shot_noise", 1)], model=model, seed=seed)
    return store


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Run `hardy ...` in an empty folder; gives the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hardy", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


def lines_with(text: str, start: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.startswith(start)]


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


def test_score_published(run, store: Path) -> None:
    code, out, _ = run("score", store, "--suite", "imagenet_p", "--published")
    assert code == 0
    assert "published: Clean error, mFR and flip rate per perturbation (Table 3)" in out
    assert ["ResNet-50", "58.0", "23.9"] in lines_with(out, "ResNet-50 ")
    assert ["VGG-19+BN", "65.1", "[1]", "25.8"] in lines_with(out, "VGG-19+BN ")
    (remark,) = published.load("iclr_flip_rate").notes("VGG-19+BN", "mFR")
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
    code, out, err = run("compare", "s", "good", "bad", *COMPARE)
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


COMPARE = ("--suite", "imagenet_c")


def test_compare(run, store: Path) -> None:
    code, out, err = run("compare", store, "good", "[bold]", *COMPARE)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines()[:-2])) <= 80
    (row,) = lines_with(out, "mean error ")
    a, b = (100 * np.mean([some[c] for c in some if c != CLEAN]) for some in (GOOD, BAD))
    assert row[2] == f"{a:.1f}"
    assert row[6 if row[3] == "±" else 8] == f"{b:.1f}"
    assert f"+{b - a:.1f}" in row
    assert row[-2:] == ["≤", "0.002"]
    assert lines_with(out, "CE fog ")
    assert "A: good" in out
    only = int((BAD[CLEAN] & ~GOOD[CLEAN]).sum())
    assert f"clean images: 0 only A gets wrong, {only} only B; McNemar's exact p = " in out
    found, verdict = out.splitlines()[-2:]
    assert found.startswith(r"[bold]odd[/bold] \x1b[31m is significantly worse in mCE, ")
    assert found.endswith("than good")
    assert verdict == "a regression in mCE and clean error (mCE and clean error decide)"
    assert "\x1b" not in out


def test_compare_fails_on_a_regression(run, store: Path) -> None:
    assert run("compare", store, "good", ODD, *COMPARE, "--fail-on-regression")[0] == 1
    assert run("compare", store, ODD, "good", *COMPARE, "--fail-on-regression")[0] == 0
    assert run("compare", store, "good", "good", *COMPARE, "--fail-on-regression")[0] == 0
    code, out, _ = run("compare", store, "good", "middling", *COMPARE, "--fail-on-regression")
    assert code == 1
    assert out.splitlines()[-2:] == [
        "middling is significantly worse in clean error and significantly better in relative mCE "
        "than good",
        "a regression in clean error (mCE and clean error decide)",
    ]


def test_fewer_errors_on_clean_images_are_no_regression(run, store: Path) -> None:
    """Relative mCE is worse for it, as from ResNet-18 to ResNet-50 in the paper."""
    code, out, _ = run("compare", store, "middling", "good", *COMPARE, "--fail-on-regression")
    assert code == 0
    assert out.splitlines()[-2:] == [
        "good is significantly worse in relative mCE and significantly better in clean error than "
        "middling",
        "no regression (mCE and clean error decide)",
    ]


def test_the_help_says_what_decides(run) -> None:
    _, out, _ = run("compare", "--help")
    text = " ".join(out.split())
    assert "Two scores decide whether that is a regression: mCE, or else the mean error" in text


def test_compare_on_the_images_of_both(run, tmp_path: Path) -> None:
    write_run(tmp_path / "s", GOOD, model="a")
    part = {cell: flags[:30] for cell, flags in BAD.items()}
    write_run(tmp_path / "s", part, model="b", subset={"of": 40, "size": 30, "per_class": None})
    code, out, _ = run("compare", "s", "a", "b")
    assert code == 0
    note = "a has 40 images, b has 30 of them: both are scored on these"
    assert note in out
    assert "30 of 40 images" in out
    _, out, _ = run("compare", "s", "a", "b", "--format", "json")
    content = json.loads(out)
    assert note in content["notes"]
    assert content["made"]["images"] == 30


def test_compare_as_data(run, store: Path) -> None:
    code, out, err = run("compare", store, "good", ODD, *COMPARE, "--format", "json")
    assert code == 0
    assert "significantly worse" in err, "beside the data, not in it"
    content: dict[str, Any] = json.loads(out)
    assert (content["first"], content["second"]) == ("good", STORED)
    assert "mCE" in content["significantly_worse"]
    assert content["decided_by"] == content["regressions"] == ["mCE", "clean error"]
    assert content["clean_mcnemar"]["only_first"] == 0
    _, out, _ = run("compare", store, "good", ODD, *COMPARE, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out, newline="")))
    assert [row["name"] for row in rows] == [one["name"] for one in content["comparisons"]]
    assert [row["headline"] for row in rows] == ["True"] * 4 + ["False"] * 2
    for row, one in zip(rows, content["comparisons"], strict=True):
        assert float(row["difference"]) == pytest.approx(one["difference"])
        assert float(row["second"]) - float(row["first"]) == pytest.approx(one["difference"])
    code, out, _ = run("compare", store, "good", ODD, *COMPARE, "--format", "md", "-o", "c.md")
    assert code == 0
    assert "| mCE |" in Path("c.md").read_text(encoding="utf-8")


def test_compare_refuses_unlike_runs(run, tmp_path: Path) -> None:
    write_run(tmp_path / "s", GOOD, model="a")
    write_run(tmp_path / "s", GOOD, model="b", ids=range(1, 41))
    code, out, err = run("compare", "s", "a", "b", "--fail-on-regression")
    assert (code, out) == (2, "")
    assert "expected two scores made alike, got different image sets" in err


def test_describe(run, tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 3)
    arguments = ("describe", "cifar10_c", "--images", rows, "--subset", "2", "--format")
    code, out, err = run(*arguments, "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert len(found) == 19 * 5
    suite = load("cifar10_c")
    assert [(one["corruption"], one["severity"]) for one in found[:2]] == [
        (suite.counted[0], 1),
        (suite.counted[0], 2),
    ]
    assert {one["images"] for one in found} == {2}
    code, out, _ = run(*arguments, "table")
    assert code == 0
    fog = {one["severity"]: one["ms_ssim"] for one in found if one["corruption"] == "fog"}
    assert lines_with(out, "fog ") == [["fog", *(f"{fog[s]:.3f}" for s in range(1, 6))]]
    assert "mean over 2 of 3 images" in out


def test_describe_measures_what_is_scored(run, tmp_path: Path) -> None:
    """The suite's own bytes: seed 0, ids of the source."""
    import hardy

    path = write_rows(tmp_path, 3)
    images = np.load(path)["images"]
    _, out, _ = run("describe", "cifar10_c", "--images", path, "--format", "csv")
    rows = csv.DictReader(io.StringIO(out, newline=""))
    (found,) = [row for row in rows if (row["corruption"], row["severity"]) == ("contrast", "3")]
    made = hardy.corrupt(images, "contrast", 3, ids=[0, 1, 2], edition="cifar")
    assert float(found["ms_ssim"]) == pytest.approx(ms_ssim(made, images).mean())
    assert float(found["standard_error"]) == pytest.approx(
        ms_ssim(made, images).std(ddof=1) / np.sqrt(3)
    )
