"""Effective robustness: which models predict, what a user adds, and what tables say."""

import csv
from pathlib import Path

import pytest

import hardy
from hardy.errors import InputError
from hardy.scores.effective_robustness import (
    effective_robustness,
    published_line,
    read_points,
    refuse_idle,
)
from hardy.scores.result_files import read_results
from hardy.suites import load, published, suite_names
from hardy.suites.published import parse_file
from tests.report.stores import write_run, write_shift_run

SHIFTED = [name for name in suite_names() if load(name).kind == "shifts"]
# Nobody publishes accuracies of several models on these.
UNPUBLISHED = {"imagenet_real", *(name for name in SHIFTED if name.startswith("icons50_"))}


@pytest.mark.parametrize("suite", [name for name in SHIFTED if name not in UNPUBLISHED])
def test_standard_models_of_the_testbed_predict_and_others_do_not(suite):
    known = published_line(suite)
    counted = [point.model for point in known.points if point.counts]
    assert known.line is not None
    # A ResNet-50 chose the images of ImageNet-A: 0.00 has no logit.
    assert known.line.number == len(counted) == (8 if suite == "imagenet_a" else 9)
    assert ("ResNet-50" in counted) is (suite != "imagenet_a")
    assert not any(word in name for name in counted for word in ("AugMix", "SIN", "CLIP"))
    assert "imagenet-testbed" in known.points[0].source


def test_models_trained_for_robustness_are_beyond_the_line_of_imagenet_r():
    known = published_line("imagenet_r")
    beyond = {one.model: one.accuracy - known.line.predict(one.clean) for one in known.points}
    assert beyond["ResNet-50"] == pytest.approx(-1.0, abs=0.1)
    assert beyond["ResNet-50 DeepAugment+AugMix"] == pytest.approx(9.9, abs=0.1)


def test_labels_of_real_have_no_line_and_say_why():
    assert "no effective robustness: expected at least 5 models" in (
        published_line("imagenet_real").describe()
    )


def test_standard_names_rows_of_its_tables():
    table = {"name": "t", "title": "t", "suite": "imagenet_a", "csv": "model,accuracy\na,1.0"}
    with pytest.raises(InputError, match="standard to name rows of the tables, got b"):
        parse_file({"source": "s", "table": [table], "standard": ["a", "b"]}, "x.toml")
    assert len(published.load_table("testbed_imagenet_a").standard) == 9
    assert published.load_table("testbed_imagenet_a").standard[0] == "AlexNet"


def points_file(folder: Path, *lines: str) -> Path:
    path = folder / "points.csv"
    path.write_text("\n".join(["model,suite,clean,accuracy", *lines]))
    return path


def test_points_of_a_file_count_and_replace_published_ones_of_their_name(tmp_path):
    brought = read_points(
        points_file(tmp_path, "AlexNet,imagenet_v2,0.5652,0.5", "mine,imagenet_v2,0.9,0.8")
    )
    known = published_line("imagenet_v2", brought)
    assert known.line.number == 10
    assert known.line.high == 90
    (alexnet,) = [one for one in known.points if one.model == "AlexNet"]
    assert alexnet.accuracy == 50
    assert published_line("imagenet_r", brought) == published_line("imagenet_r")


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("mine,imagenet_v2,80,70", "as a share from 0 to 1, got 80.0; divide per cents by 100"),
        ("mine,imagenet_v3,0.8,0.7", 'unknown suite "imagenet_v3"; did you mean "imagenet_v2"'),
        ("mine,imagenet_c,0.8,0.7", r"on a natural shift of this store, .* mine on imagenet_c"),
        ("mine,imagenet_v2,0.8,", "line 2: expected clean and accuracy as numbers, got '0.8' and"),
    ],
)
def test_points_that_cannot_be_used_are_refused(tmp_path, line, match):
    with pytest.raises(InputError, match=match):
        refuse_idle(read_points(points_file(tmp_path, line)), ["imagenet_v2"])


def test_a_run_is_measured_against_the_line_by_its_own_clean_accuracy(tmp_path):
    write_shift_run(tmp_path, "one", "imagenet_v2", right=280, clean=304)
    write_shift_run(tmp_path, "blind", "imagenet_v2", right=280, clean=None)
    known = published_line("imagenet_v2")
    one, blind = sorted(hardy.score(tmp_path), key=lambda scores: scores.model, reverse=True)
    found = effective_robustness(one, known)
    assert found.value == pytest.approx(70 - known.line.predict(76))
    assert found.interval.low < found.value < found.interval.high
    assert not found.beyond
    assert effective_robustness(blind, known) is None  # no clean images
    text = " ".join(str(hardy.score(tmp_path)).split())
    assert "effective robustness" in text
    assert f"{found.value:+.1f} ±" in text
    assert "over 9 models of standard training, which lie 0.6 points around it" in text


def test_a_line_that_is_drawn_out_is_marked(tmp_path):
    write_shift_run(tmp_path, "one", "imagenet_v2", right=340, clean=360)
    text = hardy.score(tmp_path).render("md")
    assert "* the line is drawn out, as its models have 56.5 to 78.3 % clean accuracy" in (
        text.replace("\\", "")
    )


def test_corruptions_alone_have_none(tmp_path):
    write_run(tmp_path, "one", "imagenet_c", images=40, worst=False)
    assert "effective" not in str(hardy.score(tmp_path))


def test_it_is_among_the_numbers_of_csv_and_json(tmp_path):
    write_shift_run(tmp_path / "runs", "net", "imagenet_r", right=150, clean=300)
    scored = hardy.score(tmp_path / "runs")
    (scores,) = scored
    known = effective_robustness(scores, published_line(scores.run.suite))
    text = scored.write(tmp_path / "scores.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    (row,) = [one for one in rows if one["name"] == "effective robustness"]
    ends = [float(row[name]) for name in ("value", "low", "high")]
    assert ends == pytest.approx([known.value, *known.interval])
    assert "the line: Student's t over its models" in row["resampling"]
    (result,) = read_results(scored.write(tmp_path / "result.json"))
    kept = result.scores["effective robustness"]
    assert (kept.value, kept.interval) == (known.value, known.interval)
    assert not kept.lower_is_better
    assert any("logit(accuracy) =" in note for note in result.notes)
    assert "effective robustness" not in result.headline
