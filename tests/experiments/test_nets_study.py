"""The comparison of nets and methods: equal cost as it says, and the way from images to a page."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments import nets, plan, runs
from experiments.nets import COMPARED, Entry, main, products, weights
from experiments.nets_page import CONVERTED, Row, _drawn
from hardy.train.nets import make_net
from tests.train.small import narrow

__all__ = ["narrow"]

TINY = "msdnet_cifar:exits=2,base=1,step=1,channels=4,growth=2"
ENTRIES = (
    Entry("dense", "densenet_40:depth=7,growth=2", "aggregation"),
    Entry("scales", TINY, "several scales", (":exit=1", ":exit=2")),
    Entry("condensed", "condensenet_86:layers=1,growth=4,groups=2", "condensing", ("", CONVERTED)),
)


def test_nets_cost_about_the_same() -> None:
    reference = products(COMPARED[0].net)
    for entry in COMPARED:
        assert products(entry.net) == pytest.approx(reference, rel=0.25), entry.name


def test_what_a_view_costs() -> None:
    """An exit costs the layers that it goes through, without the exits before it."""
    costs = [products(TINY, f":exit={number}") for number in (1, 2)]
    whole = products(TINY)
    net = make_net(TINY, 10)
    spent: list[int] = []  # in the first exit: a product for each weight and place
    for part in net.classifiers["1"].modules():
        if isinstance(part, torch.nn.Conv2d | torch.nn.Linear):
            part.register_forward_hook(
                lambda part, given, made: spent.append(
                    part.weight.numel() * math.prod(made.shape[2:])
                )
            )
    with torch.no_grad():
        net.eval()(torch.zeros(1, 3, 32, 32))
    assert costs[1] == pytest.approx(whole - sum(spent) / 1e6)
    assert costs[0] < costs[1]
    condensed = ENTRIES[2].net
    assert products(condensed, CONVERTED) < products(condensed)
    assert weights("wrn_40_2") == pytest.approx(2.243546)


@pytest.fixture
def small_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, narrow) -> list[str]:
    """Few nets and methods, few images and cells; the words of the command."""
    draws = np.random.default_rng(0)
    for split, count in (("train", 40), ("test", 20)):
        images = draws.integers(0, 256, (count, 32, 32, 3), np.uint8)
        np.savez(tmp_path / f"{split}.npz", images=images, labels=np.arange(count) % 10)
    monkeypatch.setattr(nets, "COMPARED", ENTRIES[1:])
    monkeypatch.setattr(nets, "FEWER", {"cifar10_p": 4})
    cells = {"cifar10_c": ["contrast"], "cifar10_c_bar": ["lines"], "cifar10_p": ["brightness"]}
    monkeypatch.setattr(nets, "SHOWN", cells)
    monkeypatch.setattr(runs, "COUNTED", cells["cifar10_c"])
    monkeypatch.setattr(runs, "VALIDATION", [])
    monkeypatch.setattr(runs, "OF_C_BAR", cells["cifar10_c_bar"])
    monkeypatch.setattr(runs, "PERTURBED", cells["cifar10_p"])
    monkeypatch.setattr(plan, "PAPER", {"net": "narrow", "epochs": 1})
    monkeypatch.setattr(plan, "STUDIED", ("standard",))
    monkeypatch.setattr(plan, "COMBINED", ("trivial_augment",))
    monkeypatch.setattr(plan, "SEEDS", 2)
    where = [f"--{split}={tmp_path / file}" for split, file in
             (("data", "train.npz"), ("test", "test.npz"), ("work", "work"))]  # fmt: skip
    return [*where, "--device=cpu", "--epochs=2", f"--out={tmp_path / 'nets.md'}"]


def test_the_whole_study_by_one_command(small_study, tmp_path, capsys) -> None:
    words = ["study", *small_study, "--seeds", "0", "1"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "failed" not in said
    lines = (tmp_path / "nets.md").read_text().splitlines()
    shown = [line for line in lines if line.startswith("| `")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown]
    named = {row[0].strip("`"): row for row in rows}
    assert list(named) == [
        *("condensenet_86:layers=1,growth=4,groups=2",),
        *("condensenet_86:layers=1,growth=4,groups=2 converted=yes",),
        *(f"{TINY} exit=1", f"{TINY} exit=2", "afa+trivial_augment", "standard"),
    ]
    for name, row in named.items():
        assert row[-5] == "2", name  # seeds
        assert all(" to " in figure for figure in row[-4:])  # clean, -C, C̄, -P
    assert (tmp_path / "nets.png").read_bytes()[:4] == b"\x89PNG"
    record = json.loads((tmp_path / "work/results/scales-1.json").read_text())
    means = [row["cifar10_c mean error"][0] for row in record["rows"]]
    told = named[f"{TINY} exit=1"][-3]
    other = json.loads((tmp_path / "work/results/scales-0.json").read_text())
    both = [means[0], other["rows"][0]["cifar10_c mean error"][0]]
    assert told == f"{np.mean(both):.1f} ({min(both):.1f} to {max(both):.1f})"
    page = (tmp_path / "nets.md").read_bytes()
    assert main(words) == 0  # nothing is left to do
    assert (tmp_path / "nets.md").read_bytes() == page


def test_trainings_too_short_to_time_are_drawn() -> None:
    row = Row("`standard`", "", 0.0, 0.0, seconds=0.0, figures=[[(8.0, 7.0, 9.0)]] * 2)
    assert _drawn([], [row])[:4] == b"\x89PNG"


def test_a_net_that_fails_costs_the_others_nothing(small_study, monkeypatch, capsys) -> None:
    wrong = Entry("wrong", "densenet_40:depth=8", "nothing")
    monkeypatch.setattr(nets, "COMPARED", (wrong, ENTRIES[0]))
    assert main(["run", *small_study, "--seeds", "0"]) == 1
    said = capsys.readouterr().out
    assert "wrong-0: failed: expected a depth" in said
    assert "dense-0: {" in said


def test_bad_words(small_study, tmp_path, capsys) -> None:
    assert main(["page", "--work", str(tmp_path / "none")]) == 1
    assert "run it first" in capsys.readouterr().err
    assert main(["run", *small_study, "--only", "scale"]) == 1
    assert 'unknown net "scale"; did you mean "scales"' in capsys.readouterr().err
