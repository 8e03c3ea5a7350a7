"""`hardy compare` and `describe`, from their arguments to tables, files and exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hardy import progress
from hardy.metrics.ssim import ms_ssim
from hardy.suites import load
from hardy.suites.cells import CLEAN
from tests.scores.commands import BAD, GOOD, ODD, STORED, lines_with, run, store
from tests.scores.helpers import write_run
from tests.suites.helpers import write_rows

__all__ = ["run", "store"]

COMPARE = ("--suite", "imagenet_c")


def test_compare_by_a_sample(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(progress, "mention", told.append)
    rows = write_rows(tmp_path, 1500)
    words = ("compare", tmp_path / "runs", "fake:10", "fake:10:1", "--suite", "cifar10_c")
    code, out, err = run(*words, "--images", rows, "--until", "4", "--at-most", "20000")
    assert code == 0
    assert "no significant regression in mean error" in out
    said = " ".join(out.split())
    assert "predictions that both have" in said
    assert "`hardy eval` without --until completes it" in said
    assert re.match(r"mean error, fake:10:1 − fake:10: .* ± [1-4]\.\d points after", told[-1])
    few = ("--only", "fog", "--severities", "1,3", "--own-classes", "--until", "6")
    code, out, err = run(*words, "--images", rows, *few)
    assert (code, "1 corruption × 2" in out, "with own classes" in out) == (0, True, True), err
    code, _, err = run(*words, "--images", rows)
    assert code == 2
    assert "expected --images with --until, got it alone" in err


def test_compare(run, store: Path) -> None:
    code, out, err = run("compare", store, "good", "[bold]", *COMPARE)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines()[:-2])) <= 80
    (row,) = lines_with(out, "mean error ")
    a, b = (100 * np.mean([some[c] for c in some if c != CLEAN]) for some in (GOOD, BAD))
    assert row[2:6] == [f"{a:.1f}", "%", f"{b:.1f}", "%"]
    assert f"+{b - a:.1f}" in row
    assert row[-2:] == ["≤", "0.002"]
    assert lines_with(out, "CE fog ")
    assert re.search(r"^A: good @[0-9a-f]{8}$", out, re.MULTILINE)
    only = int((BAD[CLEAN] & ~GOOD[CLEAN]).sum())
    assert f"clean images: 0 only A gets wrong, {only} only B; McNemar's exact p = " in out
    found, verdict = out.splitlines()[-2:]
    assert found.startswith(r"[bold]odd[/bold] \x1b[31m is significantly worse in mCE, ")
    assert found.endswith("than good")
    assert verdict == "a regression in mCE and clean error"
    assert "\x1b" not in out


def test_compare_fails_on_a_regression(run, store: Path) -> None:
    assert run("compare", store, "good", ODD, *COMPARE, "--fail-on-regression")[0] == 1
    assert run("compare", store, ODD, "good", *COMPARE, "--fail-on-regression")[0] == 0
    code, out, _ = run("compare", store, "good", "middling", *COMPARE, "--fail-on-regression")
    assert code == 1
    assert out.splitlines()[-2:] == [
        "middling is significantly worse in clean error and significantly better in relative mCE "
        "than good",
        "a regression in clean error, none in mCE",
    ]


def test_a_run_beside_itself_is_told(run, store: Path) -> None:
    code, out, _ = run("compare", store, "good", "good", *COMPARE, "--fail-on-regression")
    assert code == 0
    text = " ".join(out.split())
    assert "A and B are the same run, which cannot differ; name another model" in text
    assert "the interval of B − A" not in text, "what is exactly known has none"
    assert "good was compared with itself" in text


def test_a_retrained_model_is_told_apart_by_its_runs(run, tmp_path: Path) -> None:
    for weights in ("old", "new"):
        write_run(tmp_path / "s", GOOD, model="net", model_identity=weights)
    old, new = sorted(path.name for path in (tmp_path / "s").iterdir())
    _, out, _ = run("compare", "s", old, new)
    assert out.splitlines()[-2] == (
        f"net @{new[-8:]} and net @{old[-8:]} do not differ significantly"
    )


def test_the_whole_row_fits_however_wide(run, tmp_path: Path) -> None:
    for model, hit in (("a", 1), ("b", 2)):
        few = {cell: np.arange(12) < hit for cell in GOOD}
        write_run(tmp_path / "s", few, model=model)
    _, out, _ = run("compare", "s", "a", "b")
    rows = lines_with(out, "clean error ")
    assert "±" in " ".join(rows[0])
    assert len(rows) == 1, "p is in the same line"


def test_fewer_errors_on_clean_images_are_no_regression(run, store: Path) -> None:
    """Relative mCE is worse for it, as from ResNet-18 to ResNet-50 in the paper."""
    code, out, _ = run("compare", store, "middling", "good", *COMPARE, "--fail-on-regression")
    assert code == 0
    assert out.splitlines()[-2:] == [
        "good is significantly worse in relative mCE and significantly better in clean error than "
        "middling",
        "no significant regression in mCE and clean error",
    ]


def test_the_help_says_what_decides(run) -> None:
    _, out, _ = run("compare", "--help")
    text = " ".join(out.split())
    assert (
        "What decides whether it is a regression, as far as it was scored: mCE or else mean error"
        in text
    )


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
    assert content["first_run"].startswith("good--imagenet_c--")
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
    assert "aimed at 0.9 for severity 1" in out


def test_describe_a_suite_without_severities(run, tmp_path: Path) -> None:
    arguments = ("--images", write_rows(tmp_path, 2), "--format", "md")
    code, out, err = run("describe", "cifar10_noc_23", *arguments)
    assert (code, err) == (0, "")
    assert "all strengths" in out
    assert "severity" not in out


def test_describe_takes_the_advice_that_it_gives(run, tmp_path: Path) -> None:
    """Class folders whose files have the same names, as people store photographs of their own."""
    for kind in ("apple", "pear"):
        (tmp_path / "fruit" / kind).mkdir(parents=True)
        Image.new("RGB", (64, 64), "red").save(tmp_path / "fruit" / kind / "1.png")
    arguments = ("describe", "tiny_imagenet_c", "--images", tmp_path / "fruit")
    code, _, err = run(*arguments)
    assert code == 2
    assert "if the classes are the images' own, say --own-classes" in err
    code, out, err = run(*arguments, "--own-classes", "--subset", "2")
    assert (code, err) == (0, "")
    assert "mean over 2 of 2 images" in out


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
