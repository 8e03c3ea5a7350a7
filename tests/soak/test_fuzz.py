"""A seeded slice of `make soak`; and that the harness would notice what it is there for."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hardy.errors import InputError
from soak import harness
from soak.fuzz import cases
from soak.harness import Accepted, Tally, Work, run_cases
from soak.mutations import mutate
from soak.readers import TARGETS, make_reading, names

FEW = 3  # inputs for each reader
# Inputs that once ended otherwise than by an error of Hardy's.
FOUND = (
    ("models", 4),
    ("models", 94),
    ("session", 59),
    ("set .arrow", 7000137),
    ("onnx", 23000114),
    ("set .parquet", 23000259),
    ("image .jp2", 11000488),
    ("image .png", 11001252),
    ("label map .mat", 41000139),
    ("overlap features", 2026007053),
    ("sampled session", 2028006239),
)

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")


def test_a_slice_of_the_attack() -> None:
    tally = Tally()
    found = [(name, (name, seed)) for name, seed in FOUND if name in names()]
    run_cases(make_reading, [*found, *cases(names(), 19, inputs=FEW)], 1, tally)
    assert tally.failures == []
    assert all(tally.cases[name] >= FEW for name in names())
    assert tally.refused.total() > tally.cases.total() / 2
    last = list(tally.rows()[-1])
    assert last == ["all", f"{tally.cases.total():,}", f"{tally.refused.total():,}", "0"]


def test_the_same_seed_is_the_same_damage() -> None:
    for target in TARGETS.values():
        folder = target.source.parent if not target.file else target.source
        file = sorted(folder.glob(target.file or target.source.name))[0]
        whole = file.read_bytes()
        made = [mutate(whole, target.kind, seed) for seed in (1, 1, 2, 3)]
        assert made[0] == made[1]
        assert len({*made, whole}) > 2


def misbehave() -> Work:
    def one(case: str, folder: Path) -> None:
        if case == "refused":
            raise InputError("refused")
        if case == "foreign":
            raise KeyError("x" * 10_000)
        if case == "accepted":
            raise Accepted("other numbers")
        if case == "died":
            os._exit(3)
        if case == "large":
            bytearray(4 * harness.MEMORY)
        if case == "long":
            while True:
                pass
        if case == "asleep":
            time.sleep(600)
        if case == "busy":  # it waits for its turn, as on a machine with much to do
            time.sleep(1.5)

    return one


def test_what_counts_as_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "SECONDS", 1.0)
    monkeypatch.setattr(harness, "WAIT", 5.0)
    tally = Tally()
    failing = ("foreign", "accepted", "died", "large", "long", "asleep")
    wanted = ("fine", "refused", *failing, "busy", "fine")
    run_cases(misbehave, [(case, case) for case in wanted], 1, tally)
    assert tally.cases.total() == len(wanted)
    assert tally.refused == {"refused": 1} | dict.fromkeys(set(wanted) - {"refused"}, 0)
    failed = {name: what for name, _, what in tally.failures}
    assert failed.keys() == {*failing}
    assert "KeyError" in failed["foreign"]
    assert max(map(len, failed["foreign"].splitlines())) <= 300
    assert failed["accepted"] == "accepted: other numbers"
    assert failed["died"] == "the process died (3)"
    assert "MemoryError" in failed["large"]
    assert failed["long"] == failed["asleep"] == "took more than 1 s of a processor, or 5 s in all"
