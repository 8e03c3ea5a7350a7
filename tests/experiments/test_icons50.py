"""The study of icons: from a folder of icons to a page, on a net of a moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from experiments.icons50 import CONTENDERS, Contender, main, run
from hardy.images.icons50.icon_tables import class_names
from hardy.train.nets import make_net
from tests.train.small import narrow

__all__ = ["narrow"]


@pytest.fixture
def icons(tmp_path: Path) -> Path:
    generator = np.random.default_rng(0)
    for kind in class_names():
        (tmp_path / "Icons-50" / kind).mkdir(parents=True)
        for style in ("acme", "other"):
            pixels = generator.integers(0, 256, (32, 32, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "Icons-50" / kind / f"{style}_0_one.png")
    return tmp_path / "Icons-50"


def test_from_icons_to_a_page(
    icons: Path, tmp_path: Path, narrow: None, capsys: pytest.CaptureFixture[str]
) -> None:
    work, page = tmp_path / "work", tmp_path / "out/page.md"
    few = [Contender("plain", "narrow"), Contender("mixed", "narrow", "augmix", times=2)]
    for _ in range(2):  # the second time there is nothing to do
        run(few, work, str(icons), [0], epochs=1, device="cpu", batch=50)
    printed = capsys.readouterr().out
    assert printed.count("\n") == 4
    run(few[:1], work, str(icons), [1], styles=["acme"], epochs=1, device="cpu")
    assert main(["page", "--work", str(work), "-o", str(page)]) == 0
    text = page.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `narrow`")]
    assert [row.split("|")[1].strip() for row in rows] == [
        "`narrow`, augmix, 2 epochs",
        "`narrow`, standard",
    ]
    assert "| acme | other | mean |" in text
    assert text.count("| taken for |") == 1
    with Image.open(page.with_suffix(".png")) as picture:
        assert picture.size == (1100, 1100)
    assert main(["page", "--work", str(tmp_path / "none")]) == 1
    assert "run it first" in capsys.readouterr().err
    assert main(["run", "--work", str(work), "--icons", str(tmp_path / "none")]) == 1


def test_the_nets_are_those_of_icons_50() -> None:
    assert len({one.net for one in CONTENDERS}) == 5
    for net in {one.net for one in CONTENDERS}:
        assert make_net(net, 50) is not None
