"""`hardy design`, as typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy.design.results import square_csv
from hardy.errors import HardyError, InputError
from hardy.suites import load
from tests.design.commands import NO_ROOM, full_disk, run
from tests.design.matrices import blocks

__all__ = ["full_disk", "run"]

NAMES = ("fog", "snow", "frost", "contrast", "brightness")


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    """Fog, snow and frost overlap, and so do contrast and brightness."""
    path = tmp_path / "m.csv"
    path.write_text(square_csv("corruption", NAMES, blocks(3, 2).values))
    return path


def test_categories(run, matrix) -> None:
    first, *groups = run("design", "m.csv")
    assert first.startswith("2 categories, mean correlation within them")
    assert groups == ["  1: fog, snow, frost", "  2: contrast, brightness"]


def test_categories_of_one_are_told_in_words(run, tmp_path) -> None:
    (tmp_path / "m.csv").write_text(square_csv("corruption", NAMES, np.eye(5)))
    first, *groups = run("design", "m.csv")
    assert first == (
        "5 categories, one corruption each: with fewer, the mean correlation within them is 0.5 or "
        "less"
    )
    assert groups == [f"  {number}: {name}" for number, name in enumerate(NAMES, 1)]


def test_categories_are_found_only_where_they_are_shown(run, matrix, monkeypatch) -> None:
    """They take K-means for every K; a largest set does without."""
    tracked: list[int] = []

    def counted(items: list[int], total: int, unit: str) -> Iterator[int]:
        assert (total, unit) == (len(items), "numbers of categories")
        for item in items:
            tracked.append(item)
            yield item

    monkeypatch.setattr("hardy.cli.design_commands.watch", counted)
    run("design", "m.csv", "--below", "0.5")
    assert tracked == []
    for arguments in ((), ("--categories", "2"), ("--below", "0.5", "--picture", "p.html")):
        run("design", "m.csv", *arguments)
        assert tracked == [2]
        tracked.clear()


def test_a_largest_set_becomes_a_suite(run, matrix) -> None:
    out = run("design", "m.csv", "--below", "0.5", "--suite", "cifar10_c", "-o", "mine.toml")
    assert "no set of more than 2 has all overlaps below 0.5" in out[0]
    assert out[1] == "fog, contrast"
    assert out[2] == "wrote mine.toml"
    suite = load("mine.toml")
    assert suite.counted == ("fog", "contrast")
    assert suite.source.startswith(
        "chosen by hardy design from m.csv, a largest set with overlaps below 0.5; Hendrycks"
    )


def test_balanced_sets_become_suites(run, matrix) -> None:
    arguments = ("--categories", "2", "--each", "2", "--count", "3", "--suite", "cifar10_c")
    run("design", "m.csv", *arguments, "-o", "even.toml")
    sets = {load(f"even_{k}.toml").counted for k in (1, 2, 3)}
    assert len(sets) == 3
    assert all({"contrast", "brightness"} < set(one) for one in sets)


def test_any_suite_can_be_measured(run, matrix) -> None:
    run("design", "m.csv", "--below", "0.5", "--suite", "cifar10_c", "-o", "mine.toml")
    out = run("design", "m.csv", "--measure", "mine.toml", "--without", "snow")
    assert out[-1].startswith("  coverage 1.00 (2 of 2 categories), balance 0.00")
    with pytest.raises(InputError, match='unknown corruption of the matrix "gaussian_noise"'):
        run("design", "m.csv", "--measure", "cifar10_c")


def test_pictures(run, matrix) -> None:
    run("design", "m.csv", "--below", "0.5", "--picture", "p.html")
    page = Path("p.html").read_text()
    assert "● fog" in page or "\\u25cf fog" in page
    assert "coverage 1.00" in page
    run("design", "m.csv", "--picture", "p.png")
    with Image.open("p.png") as picture:
        assert min(picture.size) > 500
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 20
    with pytest.raises(InputError, match="expected a picture as"):
        run("design", "m.csv", "--picture", "p.gif")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--below", "0.01"), "leaves two corruptions or more, got 0.01"),
        (
            ("--below", "0.5", "--categories", "2"),
            "expected one of below, categories, measure, got below and categories",
        ),
        (("--below", "0.5", "-o", "x.toml"), "expected the suite that the corruptions come from"),
        (
            ("--suite", "cifar10_c", "-o", "x.toml"),
            "expected below or categories, which choose",
        ),
        (
            ("--measure", "cifar10_c", "--suite", "cifar10_c", "-o", "x.toml"),
            "which choose what output is to hold, got measure, which chooses nothing; name one",
        ),
        (("--each", "1"), "expected each with categories, got it without"),
        (("--below", "0.5", "--count", "1"), "expected count with categories, got it"),
        (("--categories", "2", "--each", "0"), "expected 1 or more categories, corruptions each"),
        (("--categories", "3"), "but there are 0"),
        (("--categories", "1000000000"), "but there are 0: 2 of 2 categories have 1 or more"),
        (("--categories", "2", "--each", "1000000000"), "but there are 0"),
        (("--categories", "2", "--count", "1000000000"), "sets up to 10,000, got 1,000,000,000"),
        (("--below", "0.5", "--suite", "cifar10_c", "-o", "cifar10_c.toml"), "Hardy's own"),
        *(
            (("--below", "0.5", "--suite", "cifar10_c", "-o", name), "small letters, digits and _")
            for name in (".", "/", "", "..")
        ),
        (
            ("--categories", "2", "--count", "3", "--suite", "cifar10_c", "-o", "."),
            "small letters, digits and _ such as my_suite.toml, got .$",
        ),
        (
            ("--below", "0.5", "--suite", "cifar10_c", "-o", "x.toml", "--picture", "bad.exe"),
            "expected a picture as .*, got .exe",
        ),
        (
            ("--below", "0.5", "--suite", "cifar10_c", "-o", "x.toml", "--picture", "no/p.png"),
            "the folder no is not there",
        ),
        (("--below", "0.5", "--suite", "cifar10_p", "-o", "x.toml"), "expected a suite of corrupt"),
        (("--measure", "imagenet_c_bar"), "unknown corruption of the matrix"),
        (("--without", "fogg"), 'unknown corruption of m.csv "fogg"; did you mean "fog"'),
    ],
)
def test_design_refuses(run, matrix, arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        run("design", "m.csv", *arguments)
    assert list(Path().glob("*.toml")) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("--below", "0.5", "--suite", "cifar10_p", "-o", "x.toml"),
        ("--below", "0.5", "--suite", "nope", "-o", "x.toml"),
        ("--measure", "imagenet_c_bar"),
    ],
)
def test_suites_that_do_not_fit_are_refused_before_the_search(
    run, matrix, arguments, monkeypatch
) -> None:
    for name in ("select_independent", "categorise"):
        monkeypatch.setattr(f"hardy.design.designed_suite.{name}", pytest.fail)
    with pytest.raises(InputError):
        run("design", "m.csv", *arguments)


def test_names_are_printed_without_their_escape_codes(run, tmp_path) -> None:
    names = ("fog\x1b[31m", *NAMES[1:])
    (tmp_path / "m.csv").write_text(square_csv("corruption", names, blocks(3, 2).values))
    shown = run("design", "m.csv", "--categories", "2", "--count", "3")
    assert shown[1] == "  1: fog\\x1b[31m, snow, frost"
    assert any(line.startswith("fog\\x1b[31m, ") for line in shown[3:])
    assert "\x1b" not in "".join(shown)


@pytest.mark.parametrize(("number", "warned"), [(50, False), (51, True)])
def test_a_search_that_may_take_long_is_announced(run, tmp_path, number, warned) -> None:
    names = [f"c{place}" for place in range(number)]
    (tmp_path / "m.csv").write_text(square_csv("corruption", names, np.eye(number)))
    first = run("design", "m.csv", "--below", "0.5")[0]
    assert (first == "searching among 51 corruptions, which may take long") == warned
    assert first.startswith("no set of more than") != warned


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_told_with_the_file(run, matrix) -> None:
    with pytest.raises(HardyError, match=f"mine.toml {NO_ROOM}"):
        run("design", "m.csv", "--below", "0.5", "--suite", "cifar10_c", "-o", "mine.toml")
