"""The measurement of the feed runs: what it finds is for machines that have nothing else to do."""

from __future__ import annotations

import sys

import hardy
from bench import feed
from hardy.progress import untracked
from tests.train.small import write_arrays


def test_it_says_three_rates(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(feed, "WARM_UP", 1)
    options = ("--net", "wrn_16_4", "--side", "16", "--batch", "8", "--steps", "2")
    monkeypatch.setattr(sys, "argv", ["feed", str(write_arrays(tmp_path)), *options])
    feed.main()
    circumstances, asked, listed, rates = capsys.readouterr().out.splitlines()
    assert "torch" in circumstances
    assert asked.startswith("wrn_16_4 at 16, batches of 8")
    assert listed.startswith("64 images of 3 classes, array ")
    assert "the feed alone" in rates


def test_files_and_packs_side_by_side(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(feed, "WARM_UP", 1)
    source = write_arrays(tmp_path)
    hardy.pack(source, tmp_path / "pack", side=12, track=untracked)
    options = ("--net", "none", "--side", "8", "--batch", "8", "--steps", "2", "--workers", "2")
    monkeypatch.setattr(sys, "argv", ["feed", str(source), str(tmp_path / "pack"), *options])
    feed.main()
    *_, files, first, pack, second = capsys.readouterr().out.splitlines()
    assert "array" in files
    assert "packed at 12 px as jpeg" in pack
    assert all("by a processor" in rates for rates in (first, second))
