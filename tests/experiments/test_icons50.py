"""The study of icons: from a folder of icons to a page, on a net of a moment."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from experiments import icons50, icons50_page
from experiments.icons50 import CONTENDERS, Contender, main, run
from hardy.errors import InputError
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


FEW = [Contender("wrn", "narrow"), Contender("mixed", "narrow", "augmix", times=2)]


def test_from_icons_to_a_page(
    icons: Path, tmp_path: Path, narrow: None, capsys: pytest.CaptureFixture[str]
) -> None:
    work, page = tmp_path / "work", tmp_path / "out/page.md"
    for _ in range(2):  # the second time there is nothing to do
        run(FEW, work, str(icons), [0], epochs=1, device="cpu", batch=50)
    printed = capsys.readouterr().out
    assert printed.count("\n") == 4
    run(FEW[:1], work, str(icons), [1], styles=["acme"], epochs=1, device="cpu")
    assert main(["page", "--work", str(work), "-o", str(page)]) == 0
    text = page.read_text()
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| `narrow`")]
    names = ["`narrow`, standard", "`narrow`, augmix, 2 epochs"]
    assert [row[0].strip() for row in rows] == [*names, *names, names[1]]
    accuracies = dict(zip(names, rows, strict=False))
    assert " to " in accuracies[names[0]][1]  # of two seeds
    assert "one seed" in accuracies[names[0]][2]
    pairs = rows[-1]
    assert pairs[-1].strip() == "2"
    assert text.count("taken for |") == 1
    assert "--only mixed --icons Icons-50 --styles acme other --seeds 0 --epochs 2 --same" in text
    with Image.open(page.with_suffix(".png")) as picture:
        assert picture.size == (1100, 1100)
    assert main(["page", "--work", str(tmp_path / "none")]) == 1
    assert "run it first" in capsys.readouterr().err
    assert main(["run", "--work", str(work), "--icons", str(tmp_path / "none")]) == 1
    assert main(["run", "--work", str(work), "--only", "wrm"]) == 1
    assert 'unknown net of the study "wrm"' in capsys.readouterr().err
    with pytest.raises(InputError, match=r"wrn-acme-0 was run with epochs 1, not with 2"):
        run(FEW, work, str(icons), [0], epochs=2, device="cpu")
    written = sorted((work / "results").iterdir())
    with pytest.raises(InputError, match="was run with epochs 1"):  # before any other is begun
        run(FEW[:1], work, str(icons), [2, 0], epochs=2, device="cpu")
    assert sorted((work / "results").iterdir()) == written


def test_nothing_is_begun_that_there_is_no_time_for(
    icons: Path, tmp_path: Path, narrow: None, capsys: pytest.CaptureFixture[str]
) -> None:
    run(FEW, tmp_path / "work", str(icons), [0], epochs=1, at_most=-1, device="cpu")
    assert capsys.readouterr().out.count("no time is left for it") == 4
    assert not (tmp_path / "work").exists()


def record_of(name: str, style: str, seed: int, right: list[int]) -> dict:
    """A result on four icons, the last of which has three images."""
    images = [1, 1, 1, 3]
    share = 100 * sum(right) / sum(images)
    by_icon = {f"ball/{number}": [images[number], right[number]] for number in range(4)}
    return {
        "name": name,
        "style": style,
        "seed": seed,
        "accuracy": [share, 0.0, 100.0],
        "by_icon": by_icon,
    }


def test_gains_are_those_of_pairs_and_their_intervals_over_icons() -> None:
    base = record_of("wrn", "acme", 0, [1, 0, 1, 0])
    same = icons50_page._gain([(base, base)])
    assert same == "+0.0 [+0.0 to +0.0]"
    better = record_of("mixed", "acme", 0, [1, 1, 1, 3])
    low, high = icons50_page._interval([(better, base)])
    assert low < 100 * 4 / 6 < high
    # Another style of the same icons tells nothing more of them.
    assert icons50_page._interval(2 * [(better, base)]) == pytest.approx((low, high))
    one, other = record_of("a", "acme", 0, [1, 0, 0, 3]), record_of("b", "acme", 0, [1, 0, 1, 3])
    wide = np.ptp(icons50_page._interval([(one, None)]))
    assert np.ptp(icons50_page._interval([(one, other)])) < wide  # what both get right is no doubt


Training = tuple[str, str, str, int, int]


def trainings(records: list[dict]) -> list[Training]:
    keys = ("icons", "name", "style", "seed", "epochs")
    return sorted(tuple(record[key] for key in keys) for record in records)


def started(commands: str, monkeypatch: pytest.MonkeyPatch) -> list[Training]:
    """What the `run` commands of a page would train, by their own parser."""
    found: list[Training] = []
    titles = {"icons50": "Icons-50-R free", "icons50:full": "Icons-50-R full"}

    def note(contenders, work, icons, seeds, styles, epochs, at_most) -> None:
        assert styles  # none would be all of the set, whichever they are
        for one, style, seed in product(contenders, styles, seeds):
            found.append((titles.get(icons, icons), one.name, style, seed, one.times * epochs))

    monkeypatch.setattr(icons50, "run", note)
    for line in commands.splitlines():
        words = line.split()
        if words[1:4] == ["-m", "experiments.icons50", "run"]:
            assert main(words[3:]) == 0
    return sorted(found)


def test_the_commands_of_the_page_start_its_trainings_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = Path(__file__).parents[2] / "results"
    records = [json.loads(path.read_bytes()) for path in results.glob("icons50/results/*.json")]
    assert len(records) == 48
    page = (results / "icons50.md").read_text(encoding="utf-8")
    for commands in (icons50_page._commands(records), page):
        assert started(commands, monkeypatch) == trainings(records)


def test_the_commands_name_the_set_and_bring_it(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [
        {"name": name, "style": style, "seed": seed, "epochs": 2, "icons": icons}
        for name, style, seed, icons in (
            *product(["wrn", "resnet"], ["apple"], [0, 1], ["Icons-50-R full"]),
            ("wrn", "google", 0, "Icons-50-R full"),
            ("shake", "google", 0, "Icons-50-R free"),
            ("shake", "apple", 0, "Icons-50"),
        )
    ]
    commands = icons50_page._commands(records)
    assert started(commands, monkeypatch) == trainings(records)
    assert [line for line in commands.splitlines() if line.startswith("hardy")] == [
        "hardy fetch icons50",
        "hardy fetch icons50 --set full --accept-licences",
    ]
    assert "--only wrn resnet --icons icons50:full --styles apple --seeds 0 1 " in commands


def test_the_nets_are_those_of_icons_50() -> None:
    assert len({one.net for one in CONTENDERS}) == 5
    for net in {one.net for one in CONTENDERS}:
        assert make_net(net, 50) is not None
