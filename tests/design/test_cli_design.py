"""`hardy overlap` and `hardy design`, as typed."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from hardy import cli_design, cli_overlap
from hardy.design.accuracy import Accuracy, square_csv
from hardy.design.overlap import overlap
from hardy.design.proxy import Agreement, Features, shared_errors, similarities
from hardy.design.results import Results
from hardy.errors import HardyError, InputError, MissingResource
from hardy.metrics import Interval
from hardy.suites import load
from hardy.train.recipe import Recipe
from tests.design.matrices import blocks
from tests.design.test_overlap import three


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command("overlap")(cli_overlap.overlap_corruptions)
    app.command("design")(cli_design.design_suite)

    def run(*arguments: str) -> list[str]:
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output.splitlines()

    return run


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

    monkeypatch.setattr("hardy.cli_options.watch", counted)
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
            "--categories, --measure, got --below and --categories",
        ),
        (("--below", "0.5", "-o", "x.toml"), "expected --suite, which the corruptions come from"),
        (
            ("--suite", "cifar10_c", "-o", "x.toml"),
            "expected --below or --categories, which choose",
        ),
        (
            ("--measure", "cifar10_c", "--suite", "cifar10_c", "-o", "x.toml"),
            "which choose what -o writes, got --measure, which chooses nothing; name one",
        ),
        (("--each", "1"), "expected --each with --categories N, got it without"),
        (("--below", "0.5", "--count", "1"), "expected --count with --categories N, got it"),
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
    for name in ("hardy.design.selection.select", "hardy.design.categories.categorise"):
        monkeypatch.setattr(name, pytest.fail)
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


def fake_results() -> Results:
    accuracy = three()
    similar = {"errors": np.eye(3)}
    made = {"suite": "s", "recipe": {"net": "n", "epochs": 3}, "format": 1}
    overlaps = (overlap(accuracy, "ratio"), overlap(accuracy, "raw"))
    return Results(made, accuracy.names, similar, accuracy, overlaps)


def test_overlap_draws_again(run, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("hardy.design.results.summarise", lambda out: fake_results())
    out = run("overlap", "--out", ".")
    assert out[-1] == "next: hardy design ./overlap_ratio.csv --below 0.5"
    for name in ("overlap_ratio.html", "overlap_raw.png", "accuracy.csv", "overlap.json"):
        assert (tmp_path / name).stat().st_size > 90
    again = (tmp_path / "overlap_ratio.html").read_bytes()
    run("overlap", "--out", ".")
    assert (tmp_path / "overlap_ratio.html").read_bytes() == again


def test_the_stand_in_alone_is_drawn(run, monkeypatch, tmp_path) -> None:
    whole = fake_results()
    alone = Results(whole.experiment, whole.names, whole.similarities)
    monkeypatch.setattr("hardy.design.results.summarise", lambda out: alone)
    line, told, then = run("overlap", "--out", ".")
    assert "similarity_errors.csv, overlap_pairs.csv, overlap.json" in line
    assert told == (
        "similarity_errors.csv stands in for overlap: a guess at what training would show"
    )
    assert then == "next: hardy design ./similarity_errors.csv --below 0.5"
    for form in ("html", "png"):
        assert (tmp_path / f"similarity_errors.{form}").stat().st_size > 1000


def test_what_is_printed_after_the_stand_in_can_be_typed(run, monkeypatch) -> None:
    """With a corruption that costs the clean model nothing; the other similarities are refused."""
    images, costs = 40, {"fog": (0, 12), "snow": (4, 16), "contrast": (20, 30), "frost": (0, 0)}
    correct = np.ones((images, 5), np.uint8)
    for column, (start, end) in enumerate(costs.values(), 1):
        correct[start:end, column] = 0
    shifts = np.array([[[1.0, 0.0]], [[1.0, 0.5]], [[-1.0, 0.2]], [[0.1, 0.1]]])
    features = Features(tuple(costs), shifts, np.array([40.0]), shifts[:, 0] @ shifts[:, 0].T)
    similar = {**similarities(features), "errors": shared_errors(correct, np.ones(5))}
    alone = Results(fake_results().experiment, tuple(costs), similar)
    monkeypatch.setattr("hardy.design.results.summarise", lambda out: alone)
    then = run("overlap", "--out", ".")[-1]
    assert then == "next: hardy design ./similarity_errors.csv --below 0.5 --without frost"
    out = run(*then.removeprefix("next: hardy ").split())
    assert set(out[-1].split(", ")) in ({"fog", "contrast"}, {"snow", "contrast"})
    for kind in ("distance", "shift", "by_class", "by_image"):
        with pytest.raises(InputError, match=r"of a stand-in, take similarity_errors\.csv"):
            run("design", f"similarity_{kind}.csv", "--below", "0.5")
    nothing = {"errors": np.full((2, 2), np.nan)}
    alone = Results(fake_results().experiment, ("fog", "snow"), nothing)
    monkeypatch.setattr("hardy.design.results.summarise", lambda out: alone)
    assert run("overlap", "--out", ".")[-1].startswith("no two corruptions cost the clean model")


def test_agreement_is_told(run, monkeypatch) -> None:
    agreement = Agreement(0.5, Interval(0.25, 0.75), 0.01, 3)
    told = replace(fake_results(), agreements={"raw": {"errors": agreement}})
    monkeypatch.setattr("hardy.design.results.summarise", lambda out: told)
    line = "stand-in (errors) and overlap (raw): Spearman's ρ 0.50 [0.25 to 0.75] over 3 pairs"
    assert any(text.startswith(line) for text in run("overlap", "--out", "."))


def test_what_comes_next_where_some_are_undefined(run, monkeypatch) -> None:
    def drawn(*useless: int) -> str:
        values = three().values.copy()
        for place in useless:
            values[place, place] = values[0, place] / 2  # training with it harms
        overlaps = (overlap(Accuracy(three().names, values), "ratio"),)
        results = replace(fake_results(), overlaps=overlaps)
        monkeypatch.setattr("hardy.design.results.summarise", lambda out: results)
        return run("overlap", "--out", ".")[-1]

    first = three().names[0]
    whole = "next: hardy design ./overlap_ratio.csv --below 0.5"
    assert drawn() == whole
    assert drawn(1) == f"{whole} --without {first}"
    assert drawn(1, 2).startswith("no two corruptions have an overlap: train for longer")


def test_what_cannot_be_told_from_chance_is_named(run, monkeypatch) -> None:
    high = np.ones((3, 3))
    high[0, 1:] = high[1:, 0] = np.inf
    one = replace(overlap(three(), "raw"), low=np.zeros((3, 3)), high=high)
    results = replace(fake_results(), overlaps=(one,))
    monkeypatch.setattr("hardy.design.results.summarise", lambda out: results)
    out = run("overlap", "--out", ".")
    assert (
        "2 overlaps (raw) cannot be told from chance, since training helps too little: "
        "a with all others" in out
    )
    page = Path("overlap_raw.html").read_text()
    assert page.count('"text":"0?"') == 2
    assert page.count('"text":".38?"') == 2
    with Path("overlap_pairs.csv").open() as file:
        assert [row["raw_high"] for row in csv.DictReader(file)] == ["inf", "inf", "1.0"]
    pairs = json.loads(Path("overlap.json").read_text())["pairs"]
    assert [(pair["raw"], pair["raw_high"]) for pair in pairs] == [(0.375, None), (0, None), (0, 1)]


def full(path: Path, **_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_told_with_the_file(run, matrix, monkeypatch) -> None:
    monkeypatch.setattr("hardy.design.results.summarise", lambda out: fake_results())
    monkeypatch.setattr("hardy.resume.whole_file", full)
    told = r"could not be written \(No space left on device\); make room, or name another folder"
    with pytest.raises(HardyError, match=f"similarity_errors.csv {told}"):
        run("overlap", "--out", ".")
    with pytest.raises(HardyError, match=f"mine.toml {told}"):
        run("design", "m.csv", "--below", "0.5", "--suite", "cifar10_c", "-o", "mine.toml")


def test_numbers_come_without_the_libraries_for_pictures(run, monkeypatch, tmp_path) -> None:
    def missing(*_: object) -> bytes:
        raise MissingResource("a page needs plotly")

    monkeypatch.setattr("hardy.design.results.summarise", lambda out: fake_results())
    monkeypatch.setattr("hardy.design.picture.draw", missing)
    out = run("overlap", "--out", ".")
    assert "no overlap_ratio.html: a page needs plotly" in out
    assert (tmp_path / "overlap_raw.csv").exists()


def test_what_is_trained(run, monkeypatch) -> None:
    asked: dict[str, object] = {}

    def fake(suite: str, data: str, out: Path, recipe: object, **others: object) -> None:
        asked.update(suite=suite, data=data, out=out, recipe=recipe, **others)

    monkeypatch.setattr("hardy.design.experiment.run_overlap", fake)
    monkeypatch.setattr("hardy.design.results.summarise", lambda out: fake_results())
    training = ("--suite", "noc_23", "--data", "cifar10", "--net", "resnet_18", "--epochs", "9")
    run("overlap", *training, "--out", ".", "--only", "fog,snow", "--device", "cpu", "--proxy")
    recipe = asked["recipe"]
    assert isinstance(recipe, Recipe)
    assert (recipe.net, recipe.epochs, recipe.precision) == ("resnet_18", 9, "float32")
    assert (asked["suite"], asked["data"], asked["images"]) == ("noc_23", "cifar10", None)
    assert (asked["only"], asked["device"]) == (["fog", "snow"], "cpu")
    assert asked["clean_only"] is True


def test_half_a_request(run) -> None:
    with pytest.raises(InputError, match="expected both --suite and --data to train"):
        run("overlap", "--out", "x", "--suite", "cifar10_c")
