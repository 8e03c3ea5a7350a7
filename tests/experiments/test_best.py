"""The experiment behind `hardy train best`: its candidates, its choice, and a tiny run."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import best
from experiments.best import CANDIDATES, FINAL, ON_C, ON_C_BAR, VALIDATED, chosen, main, told
from hardy.errors import InputError
from hardy.suites import load
from hardy.train.method import make_method
from tests.train.small import narrow

__all__ = ["narrow"]

ORDER = ("hybrid", "both", f"{FINAL}hybrid")


def test_candidates_are_understood_and_the_first_is_what_ships() -> None:
    for candidate in CANDIDATES.values():
        made = make_method(candidate.method, candidate.settings)
        counted = {*load("cifar10_c").counted, *load("cifar10_c_bar").counted}
        assert not set(made.seen) & counted  # so no figure of theirs is marked
    assert make_method("best") == make_method("best", CANDIDATES["both"].settings)


def write_record(work: Path, name: str, **figures: float) -> None:
    record = {
        "name": name, "settings": {"jsd": 3}, "seconds": 5.0, "recipe": {"epochs": 2},
        "figures": {key: [value, value - 1, value + 1] for key, value in figures.items()},
    }  # fmt: skip
    (work / "results").mkdir(exist_ok=True)
    (work / "results" / f"{name}.json").write_text(json.dumps(record))


def test_the_choice_falls_on_validation_and_c_bar(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected results of `choose`"):
        chosen(tmp_path)
    for name, validated, on_c_bar in (("both", 20, 11), ("half", 12, 18), ("clean", 16, 16)):
        write_record(tmp_path, name, **{VALIDATED: validated, ON_C_BAR: on_c_bar})
    # What was trained at length is no candidate any more, and -C decides nothing.
    write_record(tmp_path, f"{FINAL}both", **{VALIDATED: 1, ON_C_BAR: 1, ON_C: 1})
    assert chosen(tmp_path) == "half"
    rows = [line.split("|")[1].strip() for line in told(tmp_path).splitlines()[2:]]
    assert rows == [f"{FINAL}both", "half", "both", "clean"]
    assert "| 12.00 [11.00 to 13.00] |" in told(tmp_path)


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, narrow: None) -> list[str]:
    draws = np.random.default_rng(0)
    for split, count in (("train", 40), ("test", 20)):
        images = draws.integers(0, 256, (count, 32, 32, 3), np.uint8)
        np.savez(tmp_path / f"{split}.npz", images=images, labels=np.arange(count) % 10)
    monkeypatch.setattr(best, "COUNTED", ["contrast"])
    monkeypatch.setattr(best, "VALIDATION", ["saturate"])
    monkeypatch.setattr(best, "OF_C_BAR", ["lines"])
    monkeypatch.setattr(best, "PERTURBED", ["brightness"])
    return [
        *("--work", str(tmp_path / "work"), "--net=narrow", "--device=cpu", "--epochs=1"),
        *("--data", str(tmp_path / "train.npz"), "--test", str(tmp_path / "test.npz")),
        *("--batch=20", "--frames-images=4"),
    ]


def test_from_candidates_to_the_final_one(words, tmp_path, monkeypatch, capsys) -> None:
    assert main(["choose", "both", "hybrid", *words]) == 0
    results = tmp_path / "work/results"
    records = {path.stem: json.loads(path.read_bytes()) for path in results.glob("*.json")}
    assert {*records} == {"both", "hybrid"}
    for record in records.values():
        assert {*record["figures"]} == {"clean error", VALIDATED, ON_C_BAR}
        assert record["recipe"]["lr"] == pytest.approx(0.1 * 20 / 128)
        assert record["recipe"]["ema"] == 0.999
        assert "noc_rotation" in record["seen"]
    monkeypatch.setattr(best, "choice_error", lambda record: ORDER.index(record["name"]))
    assert main(["final", *words]) == 0
    final = json.loads((results / f"{FINAL}hybrid.json").read_bytes())
    assert {*final["figures"]} > {ON_C, "flips", VALIDATED}
    assert (tmp_path / f"work/models/{FINAL}hybrid/model.safetensors").exists()
    rows = capsys.readouterr().out.splitlines()[-3:]
    assert tuple(row.split()[1] for row in rows) == ORDER
    monkeypatch.setattr(best.hardy, "train", None)  # nothing is trained again
    assert main(["final", "hybrid", *words]) == 0
    assert main(["choose", "both", *words, "--seed=1"]) == 1
    assert "is of another training; name another --work" in capsys.readouterr().err
    assert main(["choose", "bothh", *words]) == 1
    assert 'unknown candidate "bothh"; did you mean "both"' in capsys.readouterr().err


@pytest.mark.parametrize(("what", "epochs"), [("choose", best.SHORT), ("final", 200)])
def test_candidates_are_trained_shortly_and_the_final_one_at_length(
    what: str, epochs: int, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def train(method: str, **recipe: Any) -> None:
        asked.append(recipe["epochs"])
        raise InputError("that is enough")

    monkeypatch.setattr(best.hardy, "train", train)
    words.remove("--epochs=1")
    assert main([what, "both", *words]) == 1
    assert asked == [epochs]


def test_it_stops_when_the_time_is_over_and_goes_on(words, tmp_path, monkeypatch, capsys) -> None:
    ends: list[Callable[[], None]] = []  # what the clock does when the time is over

    class Clock:
        def __init__(self, seconds, end, arguments):
            assert seconds == 30
            ends.append(partial(end, *arguments))

        def start(self):
            pass

        cancel = start

    def interrupted(steps, total, unit, *sizes):
        for step in steps:
            if len(ends) == 1 and unit.startswith("steps of"):  # of the first command
                ends[0]()
            yield step

    monkeypatch.setattr(best.threading, "Timer", Clock)
    monkeypatch.setattr(best.hardy, "train", partial(best.hardy.train, track=interrupted))
    assert main(["choose", "both", *words, "--at-most=30"]) == 1
    assert "stopped by SIGTERM; what was done is saved" in capsys.readouterr().err
    assert not (tmp_path / "work/results/both.json").exists()
    assert main(["choose", "both", *words, "--at-most=30"]) == 0
    assert (tmp_path / "work/results/both.json").exists()
