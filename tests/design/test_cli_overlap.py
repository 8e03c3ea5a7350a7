"""`hardy overlap`, as typed."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hardy.design.accuracy import Accuracy
from hardy.design.overlap_score import score_overlap
from hardy.design.proxy import Agreement, Features, shared_errors, similarities
from hardy.design.results import OverlapResults
from hardy.errors import HardyError, InputError, MissingResource
from hardy.metrics import Interval
from hardy.train.hyperparameters import Hyperparameters
from tests.design.commands import NO_ROOM, full_disk, run
from tests.design.test_overlap_score import three

__all__ = ["full_disk", "run"]


def fake_results() -> OverlapResults:
    accuracy = three()
    similar = {"errors": np.eye(3)}
    made = {"suite": "s", "recipe": {"net": "n", "epochs": 3}, "format": 1}
    overlaps = (score_overlap(accuracy, "ratio"), score_overlap(accuracy, "raw"))
    return OverlapResults(made, accuracy.names, similar, accuracy, overlaps)


def test_overlap_draws_again(run, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("hardy.design.overlap.summarise", lambda out: fake_results())
    out = run("overlap", "--out", ".")
    assert out[-1] == "next: hardy design ./overlap_ratio.csv --below 0.5"
    for name in ("overlap_ratio.html", "overlap_raw.png", "accuracy.csv", "overlap.json"):
        assert (tmp_path / name).stat().st_size > 90
    again = (tmp_path / "overlap_ratio.html").read_bytes()
    run("overlap", "--out", ".")
    assert (tmp_path / "overlap_ratio.html").read_bytes() == again


def test_the_stand_in_alone_is_drawn(run, monkeypatch, tmp_path) -> None:
    whole = fake_results()
    alone = OverlapResults(whole.experiment, whole.names, whole.similarities)
    monkeypatch.setattr("hardy.design.overlap.summarise", lambda out: alone)
    line, told, then = run("overlap", "--out", ".")
    assert "similarity_errors.csv, overlap_pairs.csv, overlap.json" in line
    assert told == (
        "similarity_errors.csv stands in for overlap: a guess at what training would show"
    )
    assert then == "next: hardy design ./similarity_errors.csv --below 0.5"
    for form in ("html", "png"):
        assert (tmp_path / f"similarity_errors.{form}").stat().st_size > 1000


def test_what_is_printed_after_the_stand_in_can_be_typed(run, monkeypatch) -> None:
    """One corruption costs the clean model nothing; the other similarities are refused."""
    images, costs = 40, {"fog": (0, 12), "snow": (4, 16), "contrast": (20, 30), "frost": (0, 0)}
    correct = np.ones((images, 5), np.uint8)
    for column, (start, end) in enumerate(costs.values(), 1):
        correct[start:end, column] = 0
    shifts = np.array([[[1.0, 0.0]], [[1.0, 0.5]], [[-1.0, 0.2]], [[0.1, 0.1]]])
    features = Features(tuple(costs), shifts, np.array([40.0]), shifts[:, 0] @ shifts[:, 0].T)
    similar = {**similarities(features), "errors": shared_errors(correct, np.ones(5))}
    alone = OverlapResults(fake_results().experiment, tuple(costs), similar)
    monkeypatch.setattr("hardy.design.overlap.summarise", lambda out: alone)
    then = run("overlap", "--out", ".")[-1]
    assert then == "next: hardy design ./similarity_errors.csv --below 0.5 --without frost"
    out = run(*then.removeprefix("next: hardy ").split())
    assert set(out[-1].split(", ")) in ({"fog", "contrast"}, {"snow", "contrast"})
    for kind in ("distance", "shift", "by_class", "by_image"):
        with pytest.raises(InputError, match=r"of a stand-in, take similarity_errors\.csv"):
            run("design", f"similarity_{kind}.csv", "--below", "0.5")
    nothing = {"errors": np.full((2, 2), np.nan)}
    alone = OverlapResults(fake_results().experiment, ("fog", "snow"), nothing)
    monkeypatch.setattr("hardy.design.overlap.summarise", lambda out: alone)
    assert run("overlap", "--out", ".")[-1].startswith("no two corruptions cost the clean model")


def test_agreement_is_told(run, monkeypatch) -> None:
    agreement = Agreement(0.5, Interval(0.25, 0.75), 0.01, 3)
    told = replace(fake_results(), agreements={"raw": {"errors": agreement}})
    monkeypatch.setattr("hardy.design.overlap.summarise", lambda out: told)
    line = "stand-in (errors) and overlap (raw): Spearman's ρ 0.50 [0.25 to 0.75] over 3 pairs"
    assert any(text.startswith(line) for text in run("overlap", "--out", "."))


def test_what_comes_next_where_some_are_undefined(run, monkeypatch) -> None:
    def drawn(*useless: int) -> str:
        values = three().values.copy()
        for place in useless:
            values[place, place] = values[0, place] / 2  # training with it harms
        overlaps = (score_overlap(Accuracy(three().names, values), "ratio"),)
        results = replace(fake_results(), overlaps=overlaps)
        monkeypatch.setattr("hardy.design.overlap.summarise", lambda out: results)
        return run("overlap", "--out", ".")[-1]

    first = three().names[0]
    whole = "next: hardy design ./overlap_ratio.csv --below 0.5"
    assert drawn() == whole
    assert drawn(1) == f"{whole} --without {first}"
    assert drawn(1, 2).startswith("no two corruptions have an overlap: train for longer")


def test_what_cannot_be_told_from_chance_is_named(run, monkeypatch) -> None:
    high = np.ones((3, 3))
    high[0, 1:] = high[1:, 0] = np.inf
    one = replace(score_overlap(three(), "raw"), low=np.zeros((3, 3)), high=high)
    results = replace(fake_results(), overlaps=(one,))
    monkeypatch.setattr("hardy.design.overlap.summarise", lambda out: results)
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


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_told_with_the_file(run, monkeypatch) -> None:
    monkeypatch.setattr("hardy.design.overlap.summarise", lambda out: fake_results())
    with pytest.raises(HardyError, match=f"similarity_errors.csv {NO_ROOM}"):
        run("overlap", "--out", ".")


def test_numbers_come_without_the_libraries_for_pictures(run, monkeypatch, tmp_path) -> None:
    def missing(*_: object) -> bytes:
        raise MissingResource("a page needs plotly")

    monkeypatch.setattr("hardy.design.overlap.summarise", lambda out: fake_results())
    monkeypatch.setattr("hardy.design.overlap.draw_heat", missing)
    out = run("overlap", "--out", ".")
    assert "no overlap_ratio.html: a page needs plotly" in out
    assert (tmp_path / "overlap_raw.csv").exists()


def test_what_is_trained(run, monkeypatch) -> None:
    asked: dict[str, object] = {}

    def fake(suite: str, data: str, out: Path, recipe: object, **others: object) -> None:
        asked.update(suite=suite, data=data, out=out, recipe=recipe, **others)

    monkeypatch.setattr("hardy.design.experiment.run_overlap", fake)
    monkeypatch.setattr("hardy.design.overlap.summarise", lambda out: fake_results())
    training = ("--suite", "noc_23", "--data", "cifar10", "--net", "resnet_18", "--epochs", "9")
    run("overlap", *training, "--out", ".", "--only", "fog,snow", "--device", "cpu", "--proxy")
    recipe = asked["recipe"]
    assert isinstance(recipe, Hyperparameters)
    assert (recipe.net, recipe.epochs, recipe.precision) == ("resnet_18", 9, "float32")
    assert (asked["suite"], asked["data"], asked["images"]) == ("noc_23", "cifar10", None)
    assert (asked["only"], asked["device"]) == (["fog", "snow"], "cpu")
    assert asked["clean_only"] is True


def test_half_a_request(run) -> None:
    with pytest.raises(InputError, match="expected both suite and data to train"):
        run("overlap", "--out", "x", "--suite", "cifar10_c")
