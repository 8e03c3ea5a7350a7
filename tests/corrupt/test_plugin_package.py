"""A corruption from a package of its own: listed, in help, in a suite, scored and reported."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.corrupt.corruption import CORRUPTIONS, corruption
from hardy.suites import keep_beside
from hardy.suites.cells import choose_cells
from hardy.suites.edition_files import BROUGHT
from tests.plugins import forget_later, install_plugin, place_plugin
from tests.suites.helpers import write_rows

CODE = """
    from hardy.corrupt.corruption import corruption


    def draw_gloom(draws, size, *, share):
        return {"gloom": draws.uniform("gloom", (), 0.5, 1.0)}


    @corruption(
        "weather", draw=draw_gloom, rows={"cifar": [{"share": s / 6} for s in range(1, 6)]}
    )
    def dusk(ops, images, fields, *, share):
        'x (1 - share g): less light, on some days more than on others.'
        kept = 1 - share * fields["gloom"][:, None, None, None]
        return ops.to_bytes(ops.unit(images, "float64") * kept)
"""
SUITE = """
name = "evening"
version = 1
title = "Evening"
source = "a test"
edition = "cifar"
images = "images of CIFAR's size"
classes = 10
id_rule = "row_index"
counted = ["dusk", "contrast"]
validation = []

[recipe]
name = "none@1"
description = "as they are"
"""


def test_a_corruption_is_one_file_and_its_rows(tmp_path: Path) -> None:
    run = install_plugin(tmp_path, "hardy.corruptions", "dusk", "dusk", CODE)
    (line,) = [line for line in run("ls", "corruptions").splitlines() if line.startswith("dusk ")]
    assert line.split(maxsplit=2)[1:] == [
        "weather",
        "x (1 - share g): less light, on some days more than on others.",
    ]
    assert "dusk" in run("corrupt", "--help")

    Image.fromarray(np.full((32, 32, 3), 200, np.uint8)).save(tmp_path / "day.png")
    run("corrupt", "day.png", "night.png", "--with", "dusk:3")
    night = np.asarray(Image.open(tmp_path / "night.png"))
    assert 100 <= night.min() == night.max() <= 150

    (tmp_path / "evening.toml").write_text(SUITE)
    images = write_rows(tmp_path, 20)
    told = run("eval", "fake:10", "--suite", "evening.toml", "--images", images)
    assert "2 corruptions × 5, 20 images, evening v1" in told
    (row,) = [line for line in run("score", "runs").splitlines() if line.startswith("dusk ")]
    assert re.search(r"±|\[.* to .*\]", row)
    run("report", "runs", "-o", "report.html")
    assert "dusk" in (tmp_path / "report.html").read_text()

    assert "dusk" not in CORRUPTIONS, "in this process there is no plug-in"
    (scores,) = hardy.score(tmp_path / "runs")
    assert [*scores.singles()["error"]] == ["dusk", "contrast"]
    with pytest.warns(UserWarning, match="^not in the gallery of evening: dusk$"):
        hardy.report(tmp_path / "runs", tmp_path / "again.html", photo=tmp_path / "day.png")
    assert "dusk" in (tmp_path / "again.html").read_text()


def test_a_name_that_is_taken_is_told_before_anything_is_predicted_or_built(
    tmp_path: Path,
) -> None:
    """It may be the last of many in a suite, which can be used without it."""
    run = place_plugin(tmp_path, "bad", {"hardy.corruptions": {"fog": "bad:NUMBER"}}, "NUMBER = 3")
    (tmp_path / "evening.toml").write_text(SUITE.replace('"dusk", "contrast"', '"contrast", "fog"'))
    words = ("evening.toml", "--images", write_rows(tmp_path, 8))
    commands = (("eval", "fake:10", "--suite"), ("build", "--out", "built"))
    for command in commands:
        with pytest.raises(AssertionError, match=r'error: the plug-in corruption "fog" .* bad has'):
            run(*command, *words)
    assert not {"runs", "built"} & {path.name for path in tmp_path.iterdir()}
    for command in commands:
        run(*command, *words, "--only", "contrast")


@pytest.fixture
def dimming(monkeypatch: pytest.MonkeyPatch):
    """Divides the light by the severity, in the editions 64 and cifar."""
    for registry in (CORRUPTIONS, BROUGHT):
        forget_later(monkeypatch, registry)
    rows = [{"factor": 1 / severity} for severity in range(1, 6)]

    @corruption("weather", rows={"64": rows, "cifar": rows})
    def dimming(ops, images, fields, *, factor):
        return ops.to_bytes(ops.unit(images, "float64") * factor)

    return dimming


IMAGE = np.full((1, 40, 48, 3), 100, np.uint8)


def test_its_own_rows_are_used(dimming) -> None:
    assert CORRUPTIONS["dimming"] is dimming
    assert hardy.corruptions()[-1] == "dimming"
    assert (hardy.corrupt(IMAGE, "dimming", 2) == 50).all()
    assert (hardy.corrupt(IMAGE, "dimming", 4, edition="64") == 25).all()


def test_an_edition_it_has_no_row_for_is_named(dimming, tmp_path: Path) -> None:
    message = r'corruption of edition 224 "dimming".*; take edition 64 or cifar, which has, or list'
    with pytest.raises(hardy.InputError, match=message):
        hardy.corrupt(IMAGE, "dimming", 2, edition="224")
    suite = SUITE.replace("dusk", "dimming").replace('edition = "cifar"', 'edition = "224"')
    (tmp_path / "evening.toml").write_text(suite)
    with pytest.raises(hardy.InputError, match=rf"^evening\.toml: no {message}"):
        hardy.suites.load(str(tmp_path / "evening.toml"))


def test_a_corruption_without_rows_is_told_from_one_that_nobody_knows(
    dimming, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = replace(dimming, name="bare", rows={})
    for registry in (CORRUPTIONS, BROUGHT):
        monkeypatch.setitem(registry._objects, "bare", bare)
    message = r'no corruption of edition cifar "bare".*; no edition has: its plug-in brings them'
    with pytest.raises(hardy.InputError, match=message):
        hardy.corrupt(IMAGE, "bare", 2, edition="cifar")
    (tmp_path / "evening.toml").write_text(SUITE.replace("dusk", "bare"))
    with pytest.raises(hardy.InputError, match=message):
        hardy.suites.load(str(tmp_path / "evening.toml"))


def test_a_suite_that_has_others_says_how_to_have_it(dimming) -> None:
    message = (
        r'no corruption of cifar10_c "dimming": it is one, but this suite has others \(.*fog.*\); '
        "list it as counted in a suite file of your own, with edition 64 or cifar"
    )
    with pytest.raises(hardy.InputError, match=message):
        choose_cells(hardy.suites.load("cifar10_c"), ["dimming"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"factor": 1}] * 2, "1 or 5 rows, got '2 rows'"),
        ([{"fact": 1}] * 5, "the formula's parameters factor, got fact"),
    ],
)
def test_rows_that_do_not_fit(dimming, rows: list, message: str) -> None:
    with pytest.raises(hardy.InputError, match=message):

        @corruption("weather", rows={"cifar": rows})
        def another(ops, images, fields, *, factor):
            return images


def test_the_constants_of_its_suite_count(dimming, tmp_path: Path) -> None:
    """Stored predictions must not be taken for those of other rows."""
    (tmp_path / "evening.toml").write_text(SUITE.replace("dusk", "dimming"))
    before = hardy.suites.load(str(tmp_path / "evening.toml"))
    assert before.edition.params("dimming", 5) == {"factor": 0.2}
    dimming.rows["cifar"][4]["factor"] = 0.1
    after = hardy.suites.load(str(tmp_path / "evening.toml"))
    assert after.content_hash() != before.content_hash()


def test_a_copy_of_its_suite_can_be_read_without_it(dimming, tmp_path: Path) -> None:
    (tmp_path / "evening.toml").write_text(SUITE.replace("dusk", "dimming"))
    dimming.rows["cifar"][0]["factor"] = 1  # a whole number stays one, as the hash depends on it
    suite = hardy.suites.load(str(tmp_path / "evening.toml"))
    (tmp_path / "kept").mkdir()
    kept = keep_beside(tmp_path / "kept", suite)
    for registry in (CORRUPTIONS, BROUGHT):
        del registry._objects["dimming"]
    with pytest.raises(hardy.InputError, match='corruption of edition cifar "dimming"'):
        hardy.suites.load(str(tmp_path / "evening.toml"))
    again = hardy.suites.load(kept)
    assert again == suite
    assert again.content_hash() == suite.content_hash()
    assert again.toml == suite.toml, "a copy of the copy is the same"


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ("dusk = 3", "dusk: expected a table of numbers for each severity, got 3"),
        ("dusk = [{share = 'x'}]", "dusk: expected a table of numbers for each severity"),
        ("dusk = [{share = 1}, {share = 2}]", "dusk.*expected 1 or 5 rows, got '2 rows'"),
    ],
)
def test_constants_that_are_none(tmp_path: Path, constants: str, message: str) -> None:
    (tmp_path / "evening.toml").write_text(f"{SUITE}\n[constants]\n{constants}\n")
    with pytest.raises(hardy.InputError, match=message):
        hardy.suites.load(str(tmp_path / "evening.toml"))
