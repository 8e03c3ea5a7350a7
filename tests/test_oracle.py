"""The oracle of `make test-oracle`, here with the libraries at hand: it knows what it compares."""

from __future__ import annotations

import sys

import pytest

from hardy.corrupt import CORRUPTIONS
from hardy.suites import load
from tests.oracle.__main__ import FORMULAS, PAGE, PLACE, Agreement, cells, compare, written
from tests.oracle.formulas import FORMULAS as KNOWN

EXACT = ("contrast", "noc_shear", "lines", "transverse_chromatic_abberation", "speckle_noise")


def test_it_has_every_corruption_of_imagenet_c():
    assert set(load("imagenet_c").corruptions) <= set(KNOWN) <= set(CORRUPTIONS.names())


def test_the_table_on_the_page_is_whole():
    found = PLACE.search(PAGE.read_text())
    rows = [line.split(" | ")[:2] for line in found[0].splitlines() if line.startswith("| ")][1:]
    listed = {(name.strip("| "), chosen) for name, chosen in rows}
    assert listed == {(name, chosen) for name, chosen, _ in cells(KNOWN)}
    assert "Libraries: Python" in found[0]


def test_another_process_agrees(tmp_path):
    assert FORMULAS.is_file()
    for one in compare(tmp_path, EXACT, sys.executable):
        assert (one.equal, one.furthest) == (1.0, 0), one


def test_a_difference_shows(tmp_path, monkeypatch):
    monkeypatch.setattr("hardy.replay", lambda images, *_, **__: images)
    (one,) = compare(tmp_path, ["lines"], sys.executable)
    assert one.equal < 0.99
    assert one.furthest > 50


@pytest.mark.parametrize("share", [1.0, 0.9999999])
def test_a_hundred_is_all(share):
    table = written([Agreement("fog", "224", share, 1.0, 0)], {"Python": "3"})
    assert ("| 100 | 100 |" in table) == (share == 1)
