"""The measurement of the feed runs: what it finds is for machines that have nothing else to do."""

from __future__ import annotations

import sys

from bench import feed
from tests.train.small import write_arrays


def test_it_says_three_rates(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(feed, "WARM_UP", 1)
    options = ("--net", "wrn_16_4", "--side", "16", "--batch", "8", "--steps", "2")
    monkeypatch.setattr(sys, "argv", ["feed", str(write_arrays(tmp_path)), *options])
    feed.main()
    circumstances, listed, rates = capsys.readouterr().out.splitlines()
    assert "torch" in circumstances
    assert listed.startswith("64 images listed in ")
    assert "the feed alone" in rates
