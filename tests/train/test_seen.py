"""What `hardy train` has shown a net travels with it: model, store, scores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hardy import evaluate
from hardy.models import Model, load_model
from hardy.models.defences import defend
from hardy.models.model import Trained
from hardy.report.gathered import gather
from hardy.report.leaderboard import find_results, render_leaderboard
from hardy.report.page import render_report
from hardy.report.words import describe_run
from hardy.scores.result_files import result_of, write_results
from hardy.scores.scoring import Run
from hardy.train.loop import run_training
from hardy.train.trained_model import trained_as
from tests.photos import random_images
from tests.records import read_unsealed
from tests.run.runs import one
from tests.train.small import NARROW, described, make_narrow, narrow, small_data

__all__ = ["narrow"]

STILL = replace(NARROW, epochs=1, lr=1e-30)


def seen_in_record(folder: Path) -> list[str] | None:
    return json.loads((folder / "run.json").read_text())["seen_corruptions"]


def evaluated(model: Model, store: Path, **more: object) -> Run:
    settings = {
        "suite": "cifar10_c",
        "images": random_images(8, 32, 32),
        "labels": np.arange(8) % 3,
        "own_classes": True,
        "only": ["gaussian_noise", "contrast"],
        "severities": 1,
        "store": store,
    }
    return one(evaluate(model, **settings | more))


@pytest.mark.parametrize(
    ("method", "seen"), [("gauss_single", ("gaussian_noise", "noc_gaussian")), ("standard", ())]
)
def test_from_training_to_scores(
    narrow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, method: str, seen: tuple[str, ...]
) -> None:
    run_training(method, small_data(tmp_path), tmp_path / "out", replace(NARROW, epochs=1))
    model = load_model(f"hardy:{tmp_path / 'out'}")
    assert model.facts.seen_corruptions == seen
    assert defend(model, "median").facts.seen_corruptions == seen
    assert model.facts.trained_as == Trained("narrow", (method,))
    assert defend(model, "median").facts.trained_as == model.facts.trained_as
    run = evaluated(model, tmp_path / "runs")
    assert run.stored.seen == seen
    assert ("† trained on gaussian_noise" in str(run.score())) == bool(seen)
    assert run.stored.trained == Trained("narrow", (method,))
    # It is no part of what tells runs apart: one that does not say so goes on in the same place.
    model.facts = replace(model.facts, trained_as=None)
    again = evaluated(model, tmp_path / "runs", severities=2)
    assert again.folder == run.folder
    assert len(again.stored.details["sessions"]) == 2
    assert again.stored.trained == run.stored.trained


def test_training_on_takes_nothing_back(narrow, monkeypatch, tmp_path: Path) -> None:
    data, first, second, third = small_data(tmp_path), *map(tmp_path.joinpath, "abc")
    run_training("gauss_single", data, first, STILL)
    run_training("standard", data, second, STILL, init=first / "model.safetensors")
    assert seen_in_record(second) == ["gaussian_noise", "noc_gaussian"]
    named = {"corruption": "contrast"}
    run_training("corrupted", data, third, STILL, settings=named, init=second / "model.safetensors")
    assert seen_in_record(third) == ["gaussian_noise", "noc_gaussian", "contrast"]
    model = load_model(f"hardy:{third}")
    assert model.facts.seen_corruptions == ("gaussian_noise", "noc_gaussian", "contrast")
    assert model.facts.trained_as == Trained("narrow")
    run = evaluated(model, tmp_path / "runs")
    assert "† trained on gaussian_noise, contrast" in str(run.score())


@pytest.mark.parametrize(
    "record",
    [
        None,
        "not json",
        "[]",
        '{"format": 1}',
        '{"format": 2, "seen_corruptions": []}',
        '{"format": 1, "seen_corruptions": null}',
        '{"format": 1, "seen_corruptions": [3]}',
    ],
)
def test_of_other_weights_nobody_says(narrow, tmp_path: Path, record: str | None) -> None:
    torch.save(make_narrow(3).state_dict(), tmp_path / "weights.pt")
    if record is not None:
        (tmp_path / "run.json").write_text(record)
    weights = tmp_path / "weights.pt"
    run_training("standard", small_data(tmp_path), tmp_path / "out", STILL, init=weights)
    assert seen_in_record(tmp_path / "out") is None
    run_training("gauss_single", small_data(tmp_path), tmp_path / "noise", STILL, init=weights)
    assert seen_in_record(tmp_path / "noise") == ["gaussian_noise", "noc_gaussian"]


def test_what_nobody_says_is_not_stated_anywhere(narrow, monkeypatch, tmp_path: Path) -> None:
    torch.save(make_narrow(3).state_dict(), tmp_path / "weights.pt")
    out, store = tmp_path / "out", tmp_path / "runs"
    run_training("standard", small_data(tmp_path), out, STILL, init=tmp_path / "weights.pt")
    model = load_model(f"hardy:{out}")
    assert model.facts.seen_corruptions is None
    assert defend(model, "median").facts.seen_corruptions is None
    run = evaluated(model, store)
    assert run.stored.seen is None
    scores = run.score()
    unknown = "what its first weights had seen is not known, and nothing is marked †"
    assert unknown in scores.notes
    assert "†" not in "".join(score.figure() for score in scores.values())
    path = tmp_path / "results.json"
    path.write_text(write_results([result_of(scores)]))
    (found,) = find_results([path])
    assert found.model["seen_corruptions"] is None
    assert 'data-seen="not stated"' in render_leaderboard([found]).decode()
    report = gather(store)
    (entry,) = report.sections[0].entries
    assert dict(describe_run(entry).facts)["Corruptions it was trained on"] == "not stated"
    assert b"<html" in render_report(report)


def test_the_mark_is_that_of_the_first_session(narrow, tmp_path: Path) -> None:
    """Weights that were moved since, or a record by an earlier Hardy, are no other run."""
    data, first, second = small_data(tmp_path), tmp_path / "first", tmp_path / "second"
    file = first / "model.safetensors"
    run_training("gauss_single", data, first, STILL)
    run_training("standard", data, second, STILL, init=file)
    (first / "run.json").unlink()
    assert run_training("standard", data, second, STILL, init=file).epochs == 0
    assert seen_in_record(second) == ["gaussian_noise", "noc_gaussian"]
    record = read_unsealed(second / "run.json")
    (second / "run.json").write_text(json.dumps(record | {"seen_corruptions": []}))
    assert run_training("standard", data, second, STILL, init=file).epochs == 0


def test_one_that_is_begun_again_keeps_its_mark(narrow, tmp_path: Path) -> None:
    data, first, second = small_data(tmp_path), tmp_path / "first", tmp_path / "second"
    file = first / "model.safetensors"
    run_training("gauss_single", data, first, STILL)
    run_training("standard", data, second, STILL, init=file)
    for saved in set(second.iterdir()) - {second / "run.json"}:  # as if it had been killed early
        saved.unlink()
    (first / "run.json").unlink()
    assert run_training("standard", data, second, STILL, init=file).epochs == 1
    assert seen_in_record(second) == ["gaussian_noise", "noc_gaussian"]


def test_the_mark_is_that_of_the_weights_not_of_where_they_lie(narrow, tmp_path: Path) -> None:
    data, noisy, clean = small_data(tmp_path), tmp_path / "noisy", tmp_path / "clean"
    run_training("gauss_single", data, noisy, STILL)
    run_training("standard", data, clean, STILL)
    link, copy = clean / "start.safetensors", clean / "other.safetensors"
    link.symlink_to(noisy / "model.safetensors")
    copy.write_bytes(link.read_bytes())
    run_training("standard", data, tmp_path / "a", STILL, init=link)
    assert seen_in_record(tmp_path / "a") == ["gaussian_noise", "noc_gaussian"]
    run_training("standard", data, tmp_path / "b", STILL, init=copy)
    assert seen_in_record(tmp_path / "b") is None


@pytest.mark.parametrize(
    ("changes", "methods"),
    [
        ({}, ["ant"]),
        ({"stylised": "a hash"}, ["ant", "stylised images"]),
        ({"recipe": described("narrow", 3, antialias=3)["recipe"]}, ["ant", "antialias 3"]),
        (
            {"recipe": described("narrow", 3, blur_after_conv=True)["recipe"]},
            ["ant", "blur_after_conv"],
        ),
        ({"input": "clahe"}, ["ant"]),  # told as a defence
        ({"init": "a hash"}, None),
        ({"method": None}, None),
        ({"method": {"name": 3}}, None),
    ],
)
def test_all_that_a_record_says_was_to_help(changes, methods) -> None:
    record = {**described("narrow", 3), "method": {"name": "ant"}, "init": None, **changes}
    said = trained_as(record)
    assert said == Trained("narrow", None if methods is None else tuple(methods))
