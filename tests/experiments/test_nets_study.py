"""The comparison of nets: equal cost as it says, and the way from images to a page."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import nets
from experiments.nets import COMPARED, Entry, main, run, size


def test_nets_cost_about_the_same() -> None:
    _, reference = size(COMPARED[0].net)
    for entry in COMPARED:
        assert size(entry.net)[1] == pytest.approx(reference, rel=0.25), entry.name


def test_from_images_to_a_page(tmp_path, monkeypatch, capsys) -> None:
    labels = np.arange(20) % 10
    images = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), np.uint8)
    np.savez(tmp_path / "set.npz", images=images, labels=labels)
    monkeypatch.setattr(nets, "SUITES", ("cifar10_c",) * 2)
    tiny = "msdnet_cifar:exits=2,base=1,step=1,channels=4,growth=2"
    entries = [
        Entry("dense", "densenet_40:depth=7,growth=2", "aggregation"),
        Entry("scales", tiny, "several scales", (":exit=1", ":exit=2")),
    ]
    work, shown = tmp_path / "work", str(tmp_path / "set.npz")
    few = {"epochs": 1, "batch": 10, "device": "cpu", "only": ["contrast"]}
    run(entries, work, shown, shown, [0, 1], **few)
    assert capsys.readouterr().out.count("\n") == 4
    run(entries, work, shown, shown, [0, 1], **few)
    assert capsys.readouterr().out == ""
    assert main(["page", "--work", str(work), "-o", str(tmp_path / "page.md")]) == 0
    lines = (tmp_path / "page.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert [row.split("|")[1].strip() for row in rows] == [
        "`densenet_40:depth=7,growth=2`",
        f"`{tiny} exit=1`",
        f"`{tiny} exit=2`",
    ]
    assert all(row.split("|")[5].strip() == "2" for row in rows)
    assert main(["page", "--work", str(tmp_path / "none")]) == 1
    assert "run it first" in capsys.readouterr().err
