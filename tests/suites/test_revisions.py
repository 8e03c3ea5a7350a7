"""A formula that was corrected: its suites have a new version, and runs of before stay apart."""

from __future__ import annotations

from pathlib import Path

import pytest

import hardy
from hardy import evaluation
from hardy.suites import edition, editions, load, parse
from tests.suites.helpers import write_rows

FIRST = {  # contents of version 1, as stored runs name them
    "cifar10_c_bar": "7199f643636a8eb85cb9096446f76ace7ff52969c5ce643191cd4999cab6878c",
}


@pytest.mark.parametrize("name", FIRST)
def test_a_new_version(name):
    suite = load(name)
    assert suite.version == 2
    assert suite.content_hash() != FIRST[name]
    assert suite.unrevised(1).content_hash() == FIRST[name]


def test_revisions_are_of_formulas_that_the_edition_has():
    revised = {name: edition(name).revisions for name in editions()}
    for name, revisions in revised.items():
        for formula, times in revisions.items():
            kind, _, own = formula.partition(".")
            assert own in getattr(edition(name), kind)
            assert times >= 1
    assert any(revised.values())


def test_suites_of_ones_own_with_a_corrected_formula_have_other_contents():
    text = (Path(hardy.__file__).parent / "suites" / "cifar10_c_bar.toml").read_text()
    listed = text[text.index("counted") : text.index("validation")]
    text = text.replace('"cifar10_c_bar"', '"own"')
    for name, same in (("ripple", True), ("lines", False)):
        own = parse(text.replace(listed, f'counted = ["{name}"]\n'), "own")
        assert (own.content_hash() == own.unrevised(own.version).content_hash()) == same


def test_runs_of_before_are_scored_and_not_mixed_with_new_ones(tmp_path, monkeypatch):
    def run() -> evaluation.Run:
        return hardy.evaluate(
            "fake:10", suite="cifar10_c_bar", images=rows, store=tmp_path / "runs", only="lines"
        )

    rows = write_rows(tmp_path, 12)
    with monkeypatch.context() as before:
        before.setattr(evaluation, "load", lambda name: load(name).unrevised(1))
        old = run()
    new = run()
    assert old.folder != new.folder
    first, second = old.score()["error lines"], new.score()["error lines"]
    assert (first.circumstances.version, second.circumstances.version) == (1, 2)
    with pytest.raises(hardy.InputError, match=r"different suite versions \(1 and 2\)"):
        hardy.compare(old, new)
