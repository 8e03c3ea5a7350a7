from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hardy.errors import InputError
from hardy.metrics import proportion_interval
from hardy.report.gathered import StoreReport, gather
from hardy.report.words import section_title
from hardy.report.write import render_store
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell
from tests.report.conftest import LONG, MARKUP, QUOTES
from tests.report.stores import write_run


def test_sections_are_suites_with_the_best_model_first(report: StoreReport) -> None:
    assert [(part.suite.name, part.of) for part in report.sections] == [
        ("imagenet_c", 1),
        ("imagenet_p", 1),
    ]
    assert [entry.label for entry in report.sections[0].entries] == [MARKUP, QUOTES, LONG]


def test_a_model_keeps_its_style_in_every_suite(report: StoreReport) -> None:
    styles = [{e.label: e.style for e in part.entries} for part in report.sections]
    assert styles[1].items() <= styles[0].items()
    assert len(set(styles[0].values())) == 3


def test_grid_is_the_share_of_wrong_answers(report: StoreReport) -> None:
    entry = report.sections[0].entries[1]
    grid = entry.grid
    assert grid is not None
    run = entry.run
    ranks = run.read([CLEAN, Cell("fog", 4)], ["rank"])["rank"]
    wrong = (ranks > 0).sum(axis=0)
    assert grid.clean is not None
    assert grid.clean[0] == 100 * wrong[0] / 60
    row = grid.names.index("fog")
    assert grid.errors[row][3] == 100 * wrong[1] / 60
    low, high = proportion_interval(int(wrong[1]), 60)
    assert grid.intervals[row][3] == (100 * low, 100 * high)


def test_reliability_adds_up_to_the_accuracy(report: StoreReport) -> None:
    for entry in report.sections[0].entries:
        assert entry.calibration is not None
        one = entry.calibration.corrupted
        accuracy = np.dot(one.accuracy, one.share) / sum(one.share)
        assert accuracy == pytest.approx(100 - entry.scores["mean error"].value, abs=1.0)
        assert entry.calibration.ece[0] == pytest.approx(entry.scores["clean ECE"].value)
        mean = np.mean(entry.calibration.ece[1:])
        assert mean == pytest.approx(entry.scores["ECE"].value)


def test_what_was_made_differently_stands_apart(tmp_path: Path) -> None:
    write_run(tmp_path, "one", images=40, classes=10)
    write_run(tmp_path, "two", images=40, classes=10)
    write_run(tmp_path, "other images", images=50, classes=10)
    write_run(tmp_path, "fog only", images=40, classes=10, only=("fog",))
    parts = gather(tmp_path).sections
    assert [sorted(entry.label for entry in part.entries) for part in parts] == [
        ["one", "two"],
        ["fog only"],
        ["other images"],
    ]
    assert len({part.slug for part in parts}) == 3
    title = load("imagenet_c").title
    first, fog, others = map(section_title, parts)
    assert first == f"{title}, 1 of 3: 40 images, 15 corruptions"
    assert fog.startswith(f"{title}, 2 of 3: 40 images, 1 corruption; different corruptions (only ")
    assert others == f"{title}, 3 of 3: 50 images, 15 corruptions"


def test_long_titles_end_between_words(tmp_path: Path) -> None:
    write_run(tmp_path, "one", images=40, classes=10)
    (section,) = gather(tmp_path).sections
    unlike = "different intervals (" + "bootstrapped over many images, " * 9
    title = section_title(replace(section, number=2, of=2, apart=(unlike,)))
    assert len(title) < 160
    assert f"{title.removesuffix(' …')} " in f"{title.split(';')[0]}; {unlike}"
    assert title.endswith(" …")


def test_titles_say_whose_classes_they_are(tmp_path: Path) -> None:
    write_run(tmp_path, "model", images=20, classes=10, labels="own", only=("fog",))
    (section,) = gather(tmp_path).sections
    assert section_title(section) == f"{section.suite.title} corruptions, own classes"


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    for weights in ("first weights", "other weights"):
        write_run(tmp_path, "resnet", images=40, classes=10, weights=weights)
    labels = [entry.label for part in gather(tmp_path).sections for entry in part.entries]
    assert len(set(labels)) == 2
    assert all(label.startswith("resnet @") for label in labels)


def test_a_run_without_scores_is_named_and_the_others_shown(tmp_path: Path) -> None:
    write_run(tmp_path, "whole", images=20, classes=10)
    empty = write_run(tmp_path, "stopped at once", images=20, classes=10)
    for part in (empty / "parts").iterdir():
        part.unlink()
    report = gather(tmp_path)
    assert [entry.label for entry in report.sections[0].entries] == ["whole"]
    assert "stopped at once" in report.left_out[0]
    for part in tmp_path.glob("*/parts/*"):
        part.unlink()
    with pytest.raises(InputError, match="hardy eval"):
        gather(tmp_path)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("log_prob", None, "its column log_prob is missing"),
        ("label", "a cat", "its column label is missing or holds something else"),
        ("corrupted", b"no picture", "a picture cannot be decoded;"),
    ],
)
def test_worst_images_that_are_none_are_refused(
    tmp_path: Path, column: str, value: object, said: str
) -> None:
    path = write_run(tmp_path, "model", images=20, classes=10, only=("fog",)) / "worst.parquet"
    (row,) = pq.read_table(path).to_pylist()
    rows = [{**row, column: value} if value else {k: v for k, v in row.items() if k != column}]
    pq.write_table(pa.Table.from_pylist(rows), path)
    with pytest.raises(InputError, match=rf"worst.parquet: expected .*{said}.*delete it"):
        render_store(tmp_path)


def test_a_run_that_cannot_be_read_is_named_and_the_others_shown(tmp_path: Path) -> None:
    write_run(tmp_path, "whole", images=20, classes=10)
    broken = write_run(tmp_path, "broken", images=20, classes=10)
    (broken / "run.json").write_text("{")
    report = gather(tmp_path)
    assert [entry.label for entry in report.sections[0].entries] == ["whole"]
    assert "run.json: expected JSON" in report.left_out[0]
    assert b"Left out: " in render_store(tmp_path)


def test_clean_error_of_sequences_is_the_same_models(report: StoreReport) -> None:
    corruptions, sequences = report.sections
    for entry in sequences.entries:
        own = next(one for one in corruptions.entries if one.label == entry.label)
        assert entry.clean_error is own.scores["clean error"]


@pytest.mark.parametrize(
    ("suite", "labels", "found"),
    [("cifar10_c", "suite", False), ("imagenet_c", "own", False), ("imagenet_c", "suite", True)],
)
def test_clean_error_is_never_of_another_dataset(
    tmp_path: Path, suite: str, labels: str, found: bool
) -> None:
    write_run(tmp_path, "model", suite, images=20, classes=10, labels=labels, only=("fog",))
    write_run(tmp_path, "model", "imagenet_p", images=12, classes=10)
    (sequences,) = [part for part in gather(tmp_path).sections if part.kind == "perturbations"]
    assert (sequences.entries[0].clean_error is not None) == found


def test_confidence_is_compared_with_accuracy_over_all_images(tmp_path: Path) -> None:
    """Also where bins of few images are left out of the figure."""
    write_run(tmp_path, "timm:one", "cifar10_c", images=21, classes=10, only=("fog", "snow"))
    (section,) = gather(tmp_path).sections
    (entry,) = section.entries
    assert entry.calibration is not None
    cells = [cell for cell in entry.run.cells if cell != CLEAN]
    got = entry.run.read(cells, ["rank", "confidence"])
    expected = 100 * (got["confidence"].mean() - (got["rank"] == 0).mean())
    corrupted = entry.calibration.corrupted
    assert corrupted.excess == pytest.approx(expected, abs=1e-3)
    assert sum(corrupted.share) < 1
