from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import hardy
from hardy.cli import report_commands as cli_report
from hardy.errors import InputError
from hardy.report import gallery
from hardy.report.serve import pages_of
from hardy.report.write import write_gallery
from tests.photos import paths
from tests.report.pages import Parsed
from tests.report.stores import write_run

app = typer.Typer()
app.command("report")(cli_report.report_runs)
app.command("leaderboard")(cli_report.write_board)
app.command("plot")(cli_report.plot_runs)
app.command("view")(cli_report.view_folder)


def run(*words: object) -> str:
    outcome = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder, "model", "cifar10_c", images=30, classes=10)
    return folder


def test_report_in_all_formats(digits: Path, tmp_path: Path) -> None:
    starts = {"html": b"<!doctype html>", "md": b"# Robustness", "csv": b"model,name,value"}
    starts |= {"json": b'{\n "hardy_result": 1', "png": b"\x89PNG"}
    for suffix, start in starts.items():
        target = tmp_path / f"report.{suffix}"
        assert run("report", digits, "-o", target) == f"wrote {target}\n"
        assert target.read_bytes().startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"report.{suffix}" for suffix in starts
    )
    run("report", digits, "-o", tmp_path / "numbers.txt", "--format", "csv")
    assert (tmp_path / "numbers.txt").read_bytes() == (tmp_path / "report.csv").read_bytes()
    with pytest.raises(InputError, match=r"ending in .html, .md, .csv, .json, .png"):
        run("report", digits, "-o", tmp_path / "report.doc")


@pytest.mark.parametrize("suffix", ["html", "md", "csv"])
def test_a_run_that_is_left_out_is_said_and_ends_with_1(suffix: str, tmp_path: Path) -> None:
    write_run(tmp_path / "runs", "model", "cifar10_c", images=30, classes=10)
    (tmp_path / "runs" / "torn").mkdir()
    (tmp_path / "runs" / "torn" / "run.json").write_text("{")
    words = ["report", str(tmp_path / "runs"), "-o", str(tmp_path / f"report.{suffix}")]
    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == 1
    assert "1 run could not be shown:\n" in outcome.output
    assert (tmp_path / f"report.{suffix}").exists()


def test_report_carries_a_gallery_of_the_photo(digits: Path, tmp_path: Path) -> None:
    run("report", digits, "-o", tmp_path / "r.html", "--photo", paths()[1])
    strips = [
        image
        for image in Parsed((tmp_path / "r.html").read_bytes()).all("img")
        if "data-count" in image
    ]
    assert len(strips) == 19


def test_the_photo_is_a_sample_if_there_is_one(
    digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [hardy.report(digits, tmp_path / "sample.html")]
    monkeypatch.setattr(gallery, "find_spec", lambda name: None)
    pages.append(hardy.report(digits, tmp_path / "none.html"))
    images = [Parsed(page.read_bytes()).all("img") for page in pages]
    assert [sum("data-count" in one for one in some) for some in images] == [19, 0]


def test_results_become_a_leaderboard(digits: Path, tmp_path: Path) -> None:
    run("report", digits, "-o", tmp_path / "result.json")
    assert "index.html" in run("leaderboard", tmp_path / "result.json", "-o", tmp_path / "site")
    assert "Ranked by mean error" in (tmp_path / "site" / "index.html").read_text("utf-8")
    result = json.loads((tmp_path / "result.json").read_text("utf-8"))
    own = result | {"circumstances": result["circumstances"] | {"suite": "my_suite"}}
    (tmp_path / "result.json").write_text(json.dumps([result, own]))
    output = run("leaderboard", tmp_path / "result.json", "-o", tmp_path / "site")
    assert "left out: 1 result on my_suite" in output


def test_plot_says_what_to_see(digits: Path, tmp_path: Path) -> None:
    output = run(
        "plot", digits, "heat", "-o", tmp_path / "f.pdf", "--width", 3.3, "--font", "serif"
    )
    assert "The darkest cell of model is" in output
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")


def test_plot_asks_which_of_several_suites(tmp_path: Path) -> None:
    store = tmp_path / "runs"
    for suite in ("cifar10_c", "cifar10_c_bar", "cifar10_p"):
        write_run(store, "model", suite, images=12, classes=10)
    out = ("-o", tmp_path / "f.png")
    with pytest.raises(
        InputError,
        match=r"one suite for the plot bars, got cifar10_c, cifar10_c_bar; name one with `suite`",
    ):
        run("plot", store, "bars", *out)
    assert not (tmp_path / "f.png").exists()
    run("plot", store, "bars", *out, "--suite", "cifar10_c_bar")
    run("plot", store, "stability", *out)  # of sequences there is one suite
    with pytest.raises(InputError, match="unknown score of the plot bars"):
        run("plot", store, "bars", *out, "--score", "nothing")


@pytest.mark.parametrize("kind", ["bars", "curves", "scatter"])
def test_plot_draws_the_way_with_the_most_images_and_names_what_it_leaves_out(
    kind: str, tmp_path: Path
) -> None:
    store = tmp_path / "runs"
    for model in ("small-a", "small-b"):
        write_run(store, model, images=12)
    write_run(store, "large", images=36)
    output = run("plot", store, kind, "-o", tmp_path / "f.svg")
    assert "large" in output.partition(" Drawn is 1 of 2 ways")[0]
    assert "1 of 2 ways in which models were run on ImageNet-C, on 36 images. Left" in output
    left_out = r"Left out: small-\w and small-\w \(different numbers of images \(36 and 12\)\)\."
    assert re.search(left_out, output)
    write_run(tmp_path / "one", "large", images=36)
    assert "ways" not in run("plot", tmp_path / "one", kind, "-o", tmp_path / "f.svg")


def test_gallery_of_a_photo(tmp_path: Path) -> None:
    target = write_gallery(paths()[0], tmp_path / "g.html", suites=["cifar10_c"])
    assert len(Parsed(target.read_bytes()).all("section")) == 1


def test_view_shows_stores_pages_and_sites(digits: Path, tmp_path: Path) -> None:
    page = pages_of(digits, paths()[1])("/")
    assert page is not None
    (tmp_path / "index.html").write_bytes(b"site")
    for path in (tmp_path, tmp_path / "index.html"):
        found = pages_of(path)("/")
        assert found is not None
        assert found[0] == b"site"
    run("report", digits, "-o", tmp_path / "report.html", "--photo", paths()[1])
    assert page[0] == (tmp_path / "report.html").read_bytes()
