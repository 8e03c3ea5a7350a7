"""Long work shows a bar to a person, plain lines on the command line, and nothing elsewhere."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy import progress
from hardy.progress import in_time, mention, one, untracked, watch
from hardy.report import write
from hardy.scores.drops import stored_drops


class Piped:
    """Lines come at once, not every few seconds."""

    @pytest.fixture(autouse=True)
    def always(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(progress, "PAUSE", 0)


class TestFromPython(Piped):
    def test_nothing_is_shown_without_a_terminal(self, capsys) -> None:
        assert list(watch("abc", 3, "letters")) == ["a", "b", "c"]
        mention("a line")
        assert capsys.readouterr() == ("", "")

    def test_a_terminal_shows_a_bar_unless_told_otherwise(self, capsys, monkeypatch) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        assert list(untracked("abc", 3, "letters")) == ["a", "b", "c"]
        assert capsys.readouterr().err == ""
        assert list(watch("abc", 3, "letters")) == ["a", "b", "c"]
        assert "3/3" in capsys.readouterr().err

    def test_a_notebook_without_widgets_shows_lines(self, capsys, monkeypatch) -> None:
        """Its stderr is no terminal, and rich would warn."""
        monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
        monkeypatch.setattr(progress, "find_spec", lambda name: None)
        list(watch("abc", 3, "letters"))
        assert capsys.readouterr().err.startswith("1 of 3 letters, about 1 s left\n")

    def test_every_function_that_takes_long_shows_it(self) -> None:
        taken = {
            name: inspect.signature(function).parameters["track"].default
            for name in hardy.__all__
            if callable(function := getattr(hardy, name))
            and not isinstance(function, type)
            and "track" in inspect.signature(function).parameters
        }
        long = {"evaluate", "build", "train", "attack", "compare", "report"}
        assert long | {"correlate", "leaderboard"} <= set(taken)
        assert set(taken.values()) == {watch}


class TestOnTheCommandLine(Piped):
    def test_a_line_says_how_far_it_is(self, capsys, monkeypatch) -> None:
        monkeypatch.setattr(progress, "speaks", True)
        assert list(watch([400, 600, 500], 1500, "images", int)) == [400, 600, 500]
        mention("a line")
        first, second, third = capsys.readouterr().err.splitlines()
        assert first == "400 of 1,500 images, about 1 s left"
        assert second.startswith("1,000 of 1,500 images, about")
        assert third == "a line"  # the end is told by what follows

    def test_a_command_asks_for_lines(self, run) -> None:
        for name in "abc":
            Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(f"{name}.png")
        code, out, err = run("corrupt", ".", "../out", "--with", "contrast:1")
        assert (code, out) == (0, "wrote 3 images to ../out\n")
        assert "1 of 3 images, about" in err
        assert "2 of 3 images, about" in err


def test_what_is_counted_of_work_on_stored_runs(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    counted: list[tuple[int, str]] = []

    def track(items, total, unit="", amount=one):
        counted.append((total, unit))
        return items

    monkeypatch.setattr(write, "make_gallery", lambda *_: SimpleNamespace(strips=()))
    images = np.zeros((5, 32, 32, 3), np.uint8)
    few = {"labels": [0] * 5, "only": ["contrast"], "severities": [1], "warn": lambda text: None}
    for model in ("fake:10", "fake:10:1"):
        hardy.evaluate(model, suite="cifar10_c", images=images, **few)
    hardy.report("runs", "page.html", track=track, tell=print)
    assert counted == [(2, "runs"), (1, "galleries"), (1, "sections drawn")]
    hardy.report("runs", "results.json", track=untracked, tell=print)
    counted.clear()
    hardy.leaderboard(["results.json"], "board", track=track)
    assert counted == [(1, "result files")]
    counted.clear()
    rows = [f"m{k},{suite},0.9,{k / 10}" for k in range(5) for suite in "abc"]
    Path("drops.csv").write_text("\n".join(["model,suite,clean,accuracy", *rows]))
    hardy.correlate("drops.csv", track=track)
    assert counted == [(3, "pairs of suites")]
    counted.clear()
    assert len(stored_drops(Path("runs"), track)) == 2
    assert counted == [(2, "runs")]


def test_time_in_words() -> None:
    assert [in_time(s) for s in (0.2, 99, 150, 5400)] == ["1 s", "99 s", "2 min", "1 h 30 min"]
