"""The notebooks of examples/notebooks run in a real kernel, and find what they say they find."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pages import ROOT
from tests.report.pages import Parsed, check_safe

REASON = "needs a kernel: make test-extras"
FOLDER = ROOT / "examples" / "notebooks"
CLIENT = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""
pytestmark = pytest.mark.filterwarnings("default")


def execute(name: str, tmp_path: Path) -> Any:
    """The notebook with its outputs, run in an empty folder; every HTML in it is safe."""
    nbformat = pytest.importorskip("nbformat", reason=REASON)
    for needed in ("nbclient", "ipykernel"):
        pytest.importorskip(needed, reason=REASON)
    nbformat.validate(nbformat.read(FOLDER / name, as_version=4))
    # By itself: beside threads and loops that other tests leave, messages of kernels get lost.
    command = [sys.executable, "-W", "ignore", "-c", CLIENT, str(FOLDER / name), "done.ipynb"]
    subprocess.run(command, check=True, cwd=tmp_path, timeout=1200)
    notebook = nbformat.read(tmp_path / "done.ipynb", as_version=4)
    for page in shown(notebook, "text/html"):
        check_safe(Parsed(page.encode()))
    return notebook


def shown(notebook: Any, kind: str) -> list[str]:
    """What cells ended with, in that form."""
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", [])]
    found = [one.data.get(kind) for one in outputs if one.output_type == "execute_result"]
    return [one for one in found if one]


def printed(notebook: Any) -> str:
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", [])]
    return "".join(one.text for one in outputs if one.output_type == "stream")


def test_five_minutes(tmp_path: Path) -> None:
    notebook = execute("five_minutes.ipynb", tmp_path)
    clean, mean = map(
        float,
        re.search(r"([\d.]+) % wrong on clean digits, ([\d.]+) %", printed(notebook)).groups(),
    )
    assert 1 < clean < 5 < mean < 10
    sheet, suite, run, table = shown(notebook, "text/html")
    assert len(Parsed(sheet.encode()).all("img")) == 19 * 6
    assert "CIFAR-10-C (cifar10_c, version 1)" in suite
    assert "logistic_regression" in run
    assert "gaussian_noise" in table
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_compare_models(tmp_path: Path) -> None:
    notebook = execute("compare_models.ipynb", tmp_path)
    assert re.search(
        r"support_vectors (is significantly|and random_forest do not)", printed(notebook)
    )
    runs, _, compared, filtered, stored = shown(notebook, "text/html")
    assert "2 runs" in runs
    assert "B − A" in compared
    assert "median" in filtered
    assert "3 runs" in stored


def test_hold_up(tmp_path: Path) -> None:
    notebook = execute("hold_up.ipynb", tmp_path)
    before, after = map(
        float,
        re.search(r"mean error ([\d.]+) % before, ([\d.]+) % after", printed(notebook)).groups(),
    )
    assert after < before
    assert "augmix" in printed(notebook)
    assert (tmp_path / "net_patch_gaussian" / "model.safetensors").is_file()
    assert "trained on gaussian_noise" in "".join(shown(notebook, "text/html"))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_they_are_kept_without_outputs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert text == json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    assert len(text) < 20_000
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
