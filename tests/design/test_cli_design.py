"""`hardy overlap`, `hardy design` and `hardy correlate`, as typed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from hardy import cli_design
from hardy.design.accuracy import Accuracy, square_csv
from hardy.design.overlap import overlap
from hardy.design.results import Results
from hardy.errors import HardyError, InputError, MissingResource
from hardy.suites import load
from hardy.train.recipe import Recipe
from tests.design.matrices import blocks
from tests.design.test_overlap import three


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command("overlap")(cli_design.overlap_corruptions)
    app.command("design")(cli_design.design_suite)
    app.command("correlate")(cli_design.correlate_shifts)

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


def test_a_largest_set_becomes_a_suite(run, matrix) -> None:
    out = run("design", "m.csv", "--below", "0.5", "--suite", "cifar10_c", "-o", "mine.toml")
    assert "no set of more than 2 has all overlaps below 0.5" in out[3]
    assert out[4] == "fog, contrast"
    assert out[5].startswith("  coverage 1.00 (2 of 2 categories), balance 0.00")
    assert out[6] == "wrote mine.toml"
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
    assert out[-1].startswith("  coverage 1.00")
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
        (("--below", "0.5", "--categories", "2"), "expected one of --below, --categories and"),
        (("--below", "0.5", "-o", "x.toml"), "expected --suite, which the corruptions come from"),
        (("--suite", "cifar10_c", "-o", "x.toml"), "expected --below or --categories"),
        (("--categories", "3"), "but there are 0"),
        (("--categories", "1000000000"), "but there are 0: 2 of 2 categories have 1 or more"),
        (("--categories", "2", "--each", "1000000000"), "but there are 0"),
        (("--categories", "2", "--count", "1000000000"), "sets up to 10,000, got 1,000,000,000"),
        (("--below", "0.5", "--suite", "cifar10_c", "-o", "cifar10_c.toml"), "Hardy's own"),
        (("--without", "fogg"), 'unknown corruption of m.csv "fogg"; did you mean "fog"'),
    ],
)
def test_design_refuses(run, matrix, arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        run("design", "m.csv", *arguments)
    assert list(Path().glob("*.toml")) == []


def test_correlations(run) -> None:
    lines = ["model,suite,clean,accuracy"]
    for k, (one, two) in enumerate(zip(range(5), (1, 0, 2, 4, 3), strict=True)):
        lines += [f"m{k},a,0.9,{0.9 - one / 10}", f"m{k},b,0.9,{0.9 - two / 10}"]
    Path("r.csv").write_text("\n".join(lines) + "\n")
    out = run("correlate", "r.csv", "--with", "b")
    assert any("a and b" in line and "0.80 [" in line for line in out)
    run("correlate", "r.csv", "-o", "out.csv")
    head, row = Path("out.csv").read_text().splitlines()
    assert head.startswith("first,second,suites,models,pearson,pearson_low,pearson_high,spearman")
    assert row.startswith("a,b,1,5,")
    assert float(row.split(",")[4]) == pytest.approx(0.8)
    Path("link.csv").symlink_to("r.csv")
    before = Path("r.csv").read_text()
    for same in ("r.csv", "./r.csv", "link.csv"):
        with pytest.raises(InputError, match=r"cannot write \w+.csv: the results are read from it"):
            run("correlate", "r.csv", "-o", same)
    assert Path("r.csv").read_text() == before


def fake_results() -> Results:
    accuracy = three()
    similar = {"by_image": np.eye(3)}
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


def full(path: Path, **_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_told_with_the_file(run, matrix, monkeypatch) -> None:
    monkeypatch.setattr("hardy.design.results.summarise", lambda out: fake_results())
    monkeypatch.setattr("hardy.resume.whole_file", full)
    told = r"could not be written \(No space left on device\); make room, or name another folder"
    with pytest.raises(HardyError, match=f"similarity_by_image.csv {told}"):
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
