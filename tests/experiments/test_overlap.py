"""What is kept of an overlap, and that the committed page is what is made from it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from experiments import overlap
from experiments.overlap import main, read_kept, write_kept
from hardy.design.accuracy import from_counts
from hardy.design.matrix import read_matrix
from hardy.errors import InputError
from hardy.metrics import Resampling
from hardy.suites import load
from hardy.train.run_folder import LOG_COLUMNS, write_log
from tests.design.test_results import measured

ROOT = Path(__file__).parent.parent.parent
COMMITTED = ROOT / "results" / "overlap"
LITTLE = ("noc_translation", "noc_gray_scale")  # what training with brings next to nothing
TEXTS = (".md", ".csv", ".json", ".toml")


def same(one, two) -> None:
    assert one.experiment == two.experiment
    assert one.collected.accuracy.names == two.collected.accuracy.names
    pairs = [
        *((getattr(one.collected, part), getattr(two.collected, part))
          for part in ("correct", "severities")),
        (one.collected.accuracy.values, two.collected.accuracy.values),
        *zip(one.features[1:], two.features[1:], strict=True),
    ]  # fmt: skip
    for ours, theirs in pairs:
        assert np.array_equal(ours, theirs)
    assert one.collected.how[:2] == two.collected.how[:2]


def test_all_comes_back(tmp_path) -> None:
    """Several severities, with classes and without."""
    given = measured()
    write_kept(tmp_path / "kept.npz", given)
    found = read_kept(tmp_path / "kept.npz")
    same(found, given)
    assert found.collected.how.strata is None
    assert found.collected.correct.max() == 2
    before = given.collected
    how = Resampling(strata=np.arange(600) % 7)
    counts = from_counts(before.accuracy.names, before.correct, before.severities, how)
    write_kept(tmp_path / "kept.npz", given._replace(collected=counts))
    found = read_kept(tmp_path / "kept.npz")
    assert found.collected.how.strata is not None
    assert found.collected.how.strata.tolist() == (np.arange(600) % 7).tolist()


def test_keeping_a_folder(tmp_path, monkeypatch) -> None:
    given = measured()
    monkeypatch.setattr(overlap, "read_measured", lambda folder: given)
    for place, name in enumerate(("none", "a", "b", "c")):
        (tmp_path / "models" / name).mkdir(parents=True)
        rows = [dict(zip(LOG_COLUMNS, row, strict=True))
                for row in ((1, 2.3, 0.1, place + 0.5, 9), (2, 2, 0.1, 1.25, 9))]  # fmt: skip
        write_log(tmp_path / "models" / name, rows)
    target = tmp_path / "kept.npz"
    assert main(["keep", str(tmp_path), str(target), "--data", "CIFAR-10", "--commit", "abc"]) == 0
    more = {
        "training_seconds": {"none": 1.75, "a": 2.75, "b": 3.75, "c": 4.75},
        "data": "CIFAR-10",
        "commit": "abc",
    }
    same(read_kept(target), given._replace(experiment={**given.experiment, **more}))


def test_other_files_are_refused(tmp_path, monkeypatch) -> None:
    write_kept(tmp_path / "kept.npz", measured())
    whole = (tmp_path / "kept.npz").read_bytes()
    np.savez(tmp_path / "other.npz", about=np.zeros(3))
    with monkeypatch.context() as patch:
        patch.setattr(overlap, "FORMAT", 2)
        write_kept(tmp_path / "later.npz", measured())
    for content in (b"", b"nothing", whole[: len(whole) // 2],
                    (tmp_path / "other.npz").read_bytes(),
                    (tmp_path / "later.npz").read_bytes()):  # fmt: skip
        (tmp_path / "kept.npz").write_bytes(content)
        with pytest.raises(InputError, match=r"expected what `experiments\.overlap keep` writes"):
            read_kept(tmp_path / "kept.npz")


RECORD = {
    "suite": "noc_23",
    "recipe": dict.fromkeys(overlap.OF_RECIPE.split(", "), 1),
    "versions": {"torch": "2", "numpy": "2"},
    "training_seconds": {"none": 1.5},
    "device": "CPU",
    "data": "images",
    "test": "images",
}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("shape", np.array([600, 16, 2])),
        ("shape", np.array([-1, 4, 4, 2])),
        ("severities", np.array([1, 1])),
        ("severities", np.array([1, 0, 2, 1])),
        ("strata", np.zeros(3, np.int64)),
        ("names", np.array(["c", "b"])),
        ("shifts", np.zeros((3, 2))),
        ("sizes", np.array([-1.0, 2.0])),
        ("severities", None),
        ("strata", None),
    ],
)
def test_misshapen_files_are_refused(tmp_path, capsys, part, value) -> None:
    path = tmp_path / "kept.npz"
    write_kept(path, measured()._replace(experiment=RECORD))
    with np.load(path) as held:
        parts = {**held, part: value}
    np.savez(path, **{name: one for name, one in parts.items() if one is not None})
    assert main(["page", str(path), "-o", str(tmp_path / "out")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert "expected what `experiments.overlap keep` writes" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recipe": {"net": "n"}}, "recipe: expected a table with net, epochs"),
        ({"versions": None}, "versions: expected"),
        ({"training_seconds": {"none": "x"}}, "training_seconds: expected"),
        ({"device": 3}, "device: expected text"),
        ({"suite": "nonesuch"}, 'unknown suite "nonesuch"'),
        ({}, "expected 4 corruptions or more"),
    ],
)
def test_what_no_page_can_be_made_of(tmp_path, capsys, change, message) -> None:
    path = tmp_path / "kept.npz"
    write_kept(path, measured()._replace(experiment=RECORD | change))
    assert main(["page", str(path), "-o", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_no_overlap(tmp_path, capsys) -> None:
    assert main(["keep", str(tmp_path), str(tmp_path / "kept.npz")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: expected a folder that `hardy overlap` wrote")


@pytest.fixture(scope="module")
def again(tmp_path_factory) -> Path:
    """The page made again, without its pictures, which take seconds."""
    out = tmp_path_factory.mktemp("overlap")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "_picture", lambda heat: b"")
        assert main(["page", str(COMMITTED / "kept.npz"), "-o", str(out)]) == 0
    return out


def numbers(path: Path) -> tuple[list[str], np.ndarray]:
    """Words and figures of a CSV or JSON file apart; machines may differ in the last digits, and so
    in the sum over all of them."""
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            leaves = [cell for row in csv.reader(file) for cell in row]
    else:
        text = re.sub(r'"sha256": "[0-9a-f]{64}"\s*}\s*$', "", path.read_text())
        leaves = re.findall(r'"[^"]*"|[^\s",:\[\]{}]+', text)
    words, figures = [], []
    for leaf in leaves:
        try:
            figures.append(float(leaf))
        except ValueError:
            words.append(leaf)
    return words, np.array(figures)


def test_what_is_committed_is_what_is_made(again) -> None:
    made = {path.name for path in again.iterdir()}
    assert made | {"kept.npz"} == {path.name for path in COMMITTED.iterdir()}
    for path in again.iterdir():
        committed = COMMITTED / path.name
        if path.suffix in (".csv", ".json"):
            (words, figures), (said, measures) = numbers(path), numbers(committed)
            assert words == said, path.name
            assert len(figures) > 100, path.name
            np.testing.assert_allclose(figures, measures, rtol=1e-9, atol=1e-12)
        elif path.suffix != ".png":
            assert path.read_text() == committed.read_text(), path.name


def test_the_page_shows_what_is_there() -> None:
    page = (COMMITTED / "README.md").read_text()
    linked = re.findall(r"\]\(([^)]*)\)", page)
    assert len(linked) >= 4
    for target in linked:
        assert (COMMITTED / target).exists(), target
    suite = load(str(COMMITTED / "cifar10_apart.toml"))
    matrix = read_matrix(COMMITTED / "overlap_ratio.csv")
    places = [matrix.names.index(name) for name in suite.counted]
    inside = matrix.values[np.ix_(places, places)] - np.eye(len(places))
    assert inside.max() < 0.5
    listed = ", ".join(name.removeprefix("noc_") for name in suite.counted)
    assert re.search(rf"^\* 0.5: {len(places)} \(raw \d+\): {listed}$", page, re.MULTILINE)


def test_no_words_of_a_machine_are_kept() -> None:
    record = json.dumps(dict(read_kept(COMMITTED / "kept.npz").experiment))
    texts = [record, *(p.read_text() for p in COMMITTED.iterdir() if p.suffix in TEXTS)]
    for text in texts:
        assert re.findall(r"(?<![\w./])/\w+", text) == []
    assert "CIFAR-10, lossless" in record


def test_the_documentation_says_what_was_measured() -> None:
    page = (COMMITTED / "README.md").read_text()
    docs = (ROOT / "docs" / "overlap.md").read_text().partition("## What it shows")[2]
    docs = docs.replace("\n", " ").replace("−", "-")

    def measured_as(pattern: str) -> tuple[str, ...]:
        found = re.search(pattern, page, re.MULTILINE)
        assert found, pattern
        return found.groups()

    for told, pattern in (
        ("{} pairs overlap by 0.5 or more, and {} have 0", r"ratio: (.*) pairs .*; (\d+) have 0"),
        ("are {} categories", r"^ratio: (\d+), mean correlation"),
        ("(raw: {}, cut otherwise)", r"^raw: (\d+), mean correlation"),
        ("cover all {} categories", r"ratio: coverage 1.00 \((\d+) of \1 categories\)"),
        ("vertical_artifacts and rain, do by {})", r"largest: vertical_artifacts and rain (.*?);"),
        ("of all sets of eight {} % have a smaller mean", r"sets of 8, (.*) % have a smaller one"),
        ("{} corruptions stay below 0.5", r"^\* 0.5: (\d+) \(raw"),
        ("brings {} and {}:", r"below 3 points: translation (.*?), gray_scale (.*?\])\."),
        ("`by_image` has ρ {} with", r"^\| by_image +\| +(.*?) \|"),
        ("which knows nothing of what corruptions do, has {}.", r"^\| error rates +\| +(.*?) \|"),
        ("ImageNet-C̄ has {}.", r"^\| distance +\| +(.*?) \|"),
        ("`errors` has {} (raw: {})", r"^\| errors +\| +(.*?) \| +[\d.]+ \| +(.*?) \|"),
    ):
        found = [{"5": "five", "6": "six"}.get(group, group) for group in measured_as(pattern)]
        assert told.format(*found) in docs, told


def test_points_lost_are_those_of_the_documentation() -> None:
    docs = (ROOT / "docs" / "overlap.md").read_text().replace("\n", " ")
    with (COMMITTED / "accuracy.csv").open(newline="") as file:
        clean = next(csv.DictReader(file))
    reference = load("noc_23").reference
    assert reference is not None
    assert reference.name == "AlexNet"
    here, there = (
        [f"{100 * loss:.1f}" for loss in losses]
        for losses in (
            [float(clean["none"]) - float(clean[name]) for name in LITTLE],
            [reference.paper[name] - reference.clean_error for name in LITTLE],
        )
    )
    assert f"AlexNet loses {there[0]} and {there[1]} points on ImageNet" in docs
    assert f"anyway, loses {here[0]} and {here[1]}." in docs


def test_the_stand_in_is_told_as_it_is() -> None:
    """That named before reaches less than was wanted, and what was found later is said to be."""
    found = json.loads((COMMITTED / "overlap.json").read_text())["agreement"]["ratio"]
    page = (COMMITTED / "README.md").read_text()
    holds = found["by_image"]["rho"] >= 0.6
    assert page.count("* PASS") == holds
    assert page.count("* FAIL") == (not holds)
    assert "`errors` (0.66 [0.43 to 0.81]) was found afterwards, on this very matrix" in page
