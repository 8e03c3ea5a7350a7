"""`hardy eval --defend`, and `hardy:DIR` of a net that was trained behind a filter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hardy.store.reader import find_runs
from tests.suites.helpers import write_rows


@pytest.fixture
def run(run, tmp_path: Path):
    """`hardy eval ...` of rows.npz, 40 images, under contrast."""
    write_rows(tmp_path, 40)
    few = ("--suite", "cifar10_c", "--images", "rows.npz", "--only", "contrast")
    return lambda *arguments: run("eval", *arguments, *few)


def test_a_defended_model_is_stored_beside_the_model(run) -> None:
    assert run("fake:10")[0] == 0
    code, out, err = run("fake:10", "--defend", "clahe")
    assert (code, err) == (0, "")
    assert "fake:10+clahe on cpu, float32: bytes as they are\n  behind clahe: contrast lim" in out
    assert "fake:10+clahe: mean error" in out
    assert "note: defended by clahe" in out
    assert [found.model for found in find_runs(Path("runs"))] == ["fake:10", "fake:10+clahe"]
    _, out, _ = run("fake:10", "--defend", "clahe")
    assert "240 of 240 predictions are stored already" in out


def test_several_models_behind_one_defence(run) -> None:
    assert run("fake:10", "fake:10:1", "--defend", "median")[0] == 0
    found = [stored.model for stored in find_runs(Path("runs"))]
    assert found == ["fake:10:1+median", "fake:10+median"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clahee", 'unknown defence "clahee"; did you mean "clahe"?'),
        ("bn_adapt", "expected a torch model for bn_adapt"),
        ("bn_adapt:x", "expected bn_adapt or bn_adapt:N"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(run, name, message) -> None:
    code, _, err = run("fake:10", "--defend", name)
    assert code != 0
    assert message in err
    assert "Traceback" not in err
    assert not Path("runs").exists()


def test_provenance(run) -> None:
    run("fake:10", "--defend", "nlm")
    (stored,) = find_runs(Path("runs"))
    details = json.loads((stored.folder / "run.json").read_text())
    (defence,) = details["defence"]
    assert (defence["name"], defence["setting"]) == ("nlm", None)
    assert defence["words"].startswith("non-local means, strength 0.5 of the noise")
    assert details["batches"] is None
