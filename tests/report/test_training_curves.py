"""Trainings in a report: found in a store or named beside it, drawn on the page and for a paper."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hardy
from hardy.errors import InputError
from hardy.progress import untracked
from hardy.report.figures import choose_figure, figures_across
from hardy.report.gathered import gather
from hardy.report.plotly_figures import draw_plotly
from hardy.report.write import as_markdown, render_store
from hardy.train.run_folder import LOG, LOG_COLUMNS, MEASURED, write_log
from tests.report.stores import write_run


def write_training(folder: Path, epochs: int = 4, measured: bool = True, planned: int = 4) -> Path:
    folder.mkdir(parents=True)
    rows = []
    for epoch in range(1, epochs + 1):
        row = dict(zip(LOG_COLUMNS, (epoch, 2 / epoch, 0.1, 10.0, 500.0), strict=True))
        if measured and epoch % 2 == 0:
            row |= dict(zip(MEASURED, (0.8, 0.4 / epoch, 0.3 / epoch, 0.5 / epoch), strict=True))
        rows.append(row)
    write_log(folder, rows)
    robust = {"robust": {"suite": "cifar10_c"}} if measured else {}
    recipe = {"net": "wrn_40_2", "epochs": planned}
    record = {"format": 1, "method": {"name": "augmix"}, "recipe": recipe, **robust}
    (folder / "run.json").write_text(json.dumps(record))
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with two models, and the training of one of them among its folders."""
    for name in ("hardy:nets/augmix", "other"):
        write_run(tmp_path / "runs", name, worst=False, images=20)
    write_training(tmp_path / "runs/augmix")
    return tmp_path / "runs"


def test_what_lies_in_a_store_is_found_and_is_no_run(store: Path) -> None:
    report = gather(store)
    assert report.left_out == ()
    (one,) = report.trainings
    assert (one.label, one.method, one.net, one.suite) == (
        *("augmix", "augmix", "wrn_40_2", "cifar10_c"),
    )
    styles = {entry.label: entry.style for entry in report.sections[0].entries}
    assert one.style == styles["hardy:nets/augmix"]  # that of its model


def test_the_curves(store: Path, tmp_path: Path) -> None:
    other = write_training(tmp_path / "beside/plain", 3, measured=False, planned=9)
    report = gather(store, trained=[tmp_path / "beside"])
    assert [one.label for one in report.trainings] == ["augmix", "plain"]
    assert gather(store, trained=[other]).trainings == report.trainings
    (drawn,) = figures_across(report, "training")
    assert [panel.title for panel in drawn.panels] == [
        "Loss",
        "Accuracy on validation images (%)",
        "Error under cifar10_c (%)",
    ]
    loss, right, wrong = drawn.panels
    assert [one.x for one in loss.series] == [(1, 2, 3, 4), (1, 2, 3)]
    assert right.series[0].y == (80.0, 80.0)
    assert wrong.series[0].y == pytest.approx((20, 10))
    assert wrong.series[0].low == pytest.approx((15, 7.5))
    assert len({one.style for one in loss.series}) == 2
    assert "augmix after 4 epochs: loss 0.5, 80.0 % of the validation images right" in drawn.sees
    assert "plain after 3 epochs of 9: loss 0.667." in drawn.sees
    first = draw_plotly(drawn)[0].to_plotly_json()
    assert first["data"][0]["hovertemplate"].startswith("%{y:.4g} at")
    assert figures_across(report) == []


def test_long_curves_have_few_ticks(tmp_path: Path) -> None:
    short, long = (write_training(tmp_path / f"{n}", n, measured=False, planned=n) for n in (5, 50))
    layouts = []
    for folder in (short, long):
        (drawn,) = figures_across(gather(folder), "training")
        layouts.append(draw_plotly(drawn)[0].to_plotly_json()["layout"]["xaxis"])
    assert layouts[0]["dtick"] == 1
    assert "dtick" not in layouts[1]


def test_page_markdown_and_paper_have_them(store: Path, tmp_path: Path) -> None:
    page = render_store(store).decode()
    assert page.index('id="imagenet-c"') < page.index('<h2 id="training">')
    assert page.index('<h2 id="training">') < page.index('id="circumstances"')
    told = as_markdown(gather(store))
    assert "| augmix | augmix | wrn_40_2 | 4 epochs | 0.5 | 80.0 % | 10.0 % |" in told
    made = hardy.plot(store, "training", tmp_path / "a.svg", track=untracked)
    assert made.title == "Curves of training"
    assert "Epoch" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize("whole", [True, False])
def test_a_training_alone(tmp_path: Path, whole: bool, run) -> None:
    folder = write_training(tmp_path / "nets/net")
    place = folder if whole else folder.parent
    code, _, err = run("report", str(place), "-o", str(tmp_path / "a.html"))
    assert code == 0, err
    page = (tmp_path / "a.html").read_text()
    assert '<h2 id="training">' in page
    assert "Lower is better" not in page
    assert hardy.report(place, tmp_path / "a.png", track=untracked).stat().st_size > 5000
    assert choose_figure(gather(place), "training").score == "training"
    with pytest.raises(
        InputError, match=r"bars can be made of: .*, got trainings alone; these have"
    ):
        choose_figure(gather(place), "bars")
    with pytest.raises(InputError, match=r"for csv, got trainings alone: the log\.csv in each"):
        hardy.report(place, tmp_path / "a.csv", track=untracked)


def test_a_training_without_a_log_is_told(store: Path, tmp_path: Path, run) -> None:
    """It has just begun, or has failed in its first epoch."""
    (write_training(store / "begun") / LOG).unlink()
    report = gather(store)
    assert [one.label for one in report.trainings] == ["augmix"]
    assert report.left_out == (f"{store / 'begun'}: this training has no log yet",)
    (write_training(tmp_path / "nets/begun") / LOG).unlink()
    code, _, err = run("report", str(tmp_path / "nets"), "-o", str(tmp_path / "a.html"))
    assert code == 2
    assert "begun: this training has no log yet" in err
    write_training(tmp_path / "nets/net")
    code, _, err = run("report", str(tmp_path / "nets"), "-o", str(tmp_path / "a.html"))
    assert (code, (tmp_path / "a.html").exists()) == (1, True)  # one could not be shown
    assert "begun: this training has no log yet" in err


def test_folders_that_are_no_trainings(store: Path, tmp_path: Path, run) -> None:
    (tmp_path / "empty").mkdir()
    words = ("plot", str(store), "training", "-o", str(tmp_path / "a.pdf"))
    code, _, err = run(*words, "--trained", str(tmp_path / "empty"))
    assert code == 2
    assert "expected folders of `hardy train` with a log as --trained, got" in err
    (store / "augmix/log.jsonl").write_text("[]\n")
    code, _, err = run(*words)
    assert code == 2
    assert "log.jsonl cannot be read" in err
