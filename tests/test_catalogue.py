"""`hardy ls` and the names that help texts list."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import EntryPoint

import pytest
import typer

import hardy
from hardy.catalogue import KINDS
from hardy.cli import app
from hardy.fetching import FETCHED
from hardy.metrics import METRICS
from hardy.metrics.metric import Metric


def test_ls_alone_lists_the_kinds(run) -> None:
    code, out, err = run("ls")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == list(KINDS)
    assert [entry.name for entry in hardy.names()] == list(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_ls(run, kind: str) -> None:
    code, out, err = run("ls", kind)
    assert (code, err) == (0, "")
    entries = hardy.names(kind)
    lines = out.splitlines()
    assert len(lines) == len(entries) > 1
    for line, entry in zip(lines, entries, strict=True):
        assert line.split() == f"{entry.name} {entry.category} {entry.summary}".split()
    starts = {line.index(entry.summary) for line, entry in zip(lines, entries, strict=True)}
    assert len(starts) == 1, "summaries stand in a column"
    assert len({entry.summary for entry in entries}) == len(entries)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"suites"}))
def test_summaries_are_sentences(kind: str) -> None:
    for entry in hardy.names(kind):
        assert not entry.summary[0].islower() or "x" in entry.summary, f"{entry}: no formula"
        assert entry.summary.endswith("."), entry


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"suites", "editions"}))
def test_what_is_listed_stands_in_one_docstring(torchvision, kind: str) -> None:
    """Nothing is said a second time of a thing that has a docstring."""
    registry = KINDS[kind]
    for name, row in registry._rows.items():
        assert row.summary is None, f"{name}: its docstring says it"
        words = " ".join((registry[name].__doc__ or "").split())
        assert words.startswith(registry.summary(name)), name


def test_ls_knows_the_public_names(run) -> None:
    for kind, names in (("corruptions", hardy.corruptions()), ("suites", hardy.suites())):
        assert tuple(entry.name for entry in hardy.names(kind)) == names
    assert "Tiny ImageNet-C" in run("ls", "suites")[1]
    code, out, err = run("ls", "metods")
    assert (code, out) == (2, "")
    assert err == 'error: unknown kind "metods"; did you mean "methods"?\n'


def test_a_plug_in_that_cannot_be_imported_is_listed_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = EntryPoint("broken", "no_such_module:thing", "hardy.defences")
    monkeypatch.setattr(KINDS["defences"], "_plugins", {"broken": broken})
    entry = hardy.names("defences")[-1]
    assert entry.name == "broken"
    assert "cannot be imported" in entry.summary
    assert "No module named 'no_such_module'" in entry.summary


def test_lists_and_help_import_no_framework() -> None:
    program = """
import sys
for heavy in ("torch", "sklearn", "onnxruntime", "plotly", "matplotlib"):
    sys.modules[heavy] = None
import hardy
from hardy.catalogue import KINDS
from hardy.cli import app
from hardy.fetching import FETCHED
from hardy.metrics import METRICS
from hardy.metrics.metric import Metric
for kind in KINDS:
    assert hardy.names(kind)
sys.argv = ["hardy", "train", "--help"]
from hardy.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "afa, corrupted, best." in done.stdout


def test_help_lists_what_can_be_named(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    plug_in = EntryPoint("magic", "no_such_module:thing", "hardy.methods")
    monkeypatch.setattr(KINDS["methods"], "_plugins", {"magic": plug_in})
    code, out, _ = run("train", "--help")
    assert code == 0
    for kind in ("methods", "nets"):
        assert ", ".join(entry.name for entry in hardy.names(kind)) in " ".join(out.split())
    assert "magic" in out


# Lists of `hardy ls` apart, those that help texts name: the command, the module, the list.
NAMED_LISTS = sorted(
    {
        (name, f"hardy.{module}", listed)
        for name, command in typer.main.get_command(app).commands.items()
        for one in (command, *command.params)
        for module, listed in re.findall(r"{([\w.]+):(\w+)}", getattr(one, "help", None) or "")
    }
)


@pytest.mark.parametrize(("command", "module", "listed"), NAMED_LISTS)
def test_help_lists_what_a_table_has(run, monkeypatch, command, module, listed) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    table = getattr(import_module(module), listed)
    if callable(table):
        monkeypatch.setattr(f"{module}.{listed}", lambda: [*table(), "magic"])
    else:
        more = {**table, "magic": None} if isinstance(table, dict) else (*table, "magic")
        monkeypatch.setattr(f"{module}.{listed}", more)
    code, out, _ = run(command, "--help")
    assert code == 0
    names = table() if callable(table) else table
    assert ", ".join([*names, "magic"]) in " ".join(out.split())


def test_help_says_which_scores_decide_and_what_is_fetched(run, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    metric = Metric("magic", lambda rank: rank, mean="mean magic", decides=True)
    monkeypatch.setitem(METRICS._objects, "magic", metric)
    told = " ".join(run("compare", "--help")[1].split())
    decide = "mCE or else mean error or else mean magic, mFR or else flip probability"
    assert f"{decide}, accuracy, AUPR, clean error, clean magic, clean accuracy." in told

    def magic() -> None:
        """A spell, by night. It takes a while."""

    monkeypatch.setitem(FETCHED, "magic", magic)
    assert ", by pip), magic (A spell, by night)." in " ".join(run("fetch", "--help")[1].split())
