"""`hardy doctor`: what is here, what is missing, and how to get it."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest

from hardy import diagnosis as doctor
from hardy.engine import textures
from hardy.errors import install_command


def test_doctor(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, out, _ = run("doctor")
    assert code == 0
    for what in ("hardy", "python", "numpy", "numba", "opencv", "pillow", "processors", "frost"):
        assert any(line.startswith(what) for line in out.splitlines()), what
    assert np.__version__ in out

    monkeypatch.setenv("HARDY_TEXTURES", str(tmp_path))
    code, out, _ = run("doctor")
    assert code == 1
    assert "frost1.png is missing" in out
    assert "to do: put the files of the wheel imagecorruptions==1.1.2 there" in out


def test_doctor_without_textures(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HARDY_TEXTURES", raising=False)
    monkeypatch.setattr(textures, "_cache_folder", lambda: tmp_path)
    code, out, _ = run("doctor")
    assert code == 0
    assert "pip fetches imagecorruptions==1.1.2 when frost is first used" in out
    monkeypatch.setattr(doctor, "find_spec", lambda _: None)
    code, out, _ = run("doctor")
    assert code == 1
    assert "there is no pip to fetch it" in out
    assert "set HARDY_TEXTURES" in out


@pytest.mark.parametrize(
    ("installed", "cuda", "said"),
    [
        ((), False, "CPU: without torch there is no GPU engine"),
        (("torch", "triton"), False, "CPU: torch 2.0 finds no CUDA device"),
        (("torch", "triton"), True, "Big One for models and tensors on it, else CPU; Triton 3.0"),
        (("torch",), True, "Big One for models and tensors on it, else CPU; plain torch"),
    ],
)
def test_doctor_says_which_engine_is_used(
    installed, cuda, said, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cuda:
        is_available = staticmethod(lambda: cuda)
        get_device_name = staticmethod(lambda: "Big One")

    class Torch:
        __version__ = "2.0"
        cuda = Cuda

    monkeypatch.setitem(sys.modules, "torch", Torch)
    monkeypatch.setattr(
        doctor, "find_spec", lambda name: Torch if name in (*installed, "pip") else None
    )
    monkeypatch.setattr(doctor, "version", lambda name: {"triton": "3.0"}.get(name, "1"))
    code, out, _ = run("doctor")
    assert code == 0
    lines = [line for line in out.splitlines() if line.startswith("engine")]
    assert len(lines) == 1
    assert said in lines[0]


def test_doctor_names_a_torch_that_does_not_load(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(doctor, "find_spec", lambda name: doctor)
    code, out, _ = run("doctor")
    assert code == 1
    assert "to do: install torch anew" in out


def test_doctor_names_a_missing_package(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    code, out, _ = run("doctor")
    assert code == 1
    assert "to do: pip install opencv-python-headless" in out


def test_doctor_reads_the_extras_from_the_project(run) -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    extras = set(project["project"]["optional-dependencies"]) - {"bench", "dev", "docs"}
    assert set(doctor._uses()) == extras, "the others are for working on Hardy"
    lines = run("doctor")[1].splitlines()
    shown = {line.split()[0] for line in lines}
    assert {f"hardy[{extra}]" for extra in extras} < shown
    assert {re.split("[^A-Za-z-]", one)[0] for one in project["project"]["dependencies"]} < shown


def test_doctor_looks_for_packages_by_the_names_of_their_modules() -> None:
    """Checks packages that are here; `make test-extras` has them all."""
    brought = {
        (module, name.lower().replace("-", "_"))
        for module, names in packages_distributions().items()
        for name in names
    }
    here = {name for _, name in brought}
    wanted = {name for extra in doctor._uses() for name in doctor._installs(extra)}
    looked_for = {(doctor._module(name), name.replace("-", "_")) for name in wanted}
    assert {pair for pair in looked_for if pair[1] in here} <= brought
    assert "pyyaml" in here
    assert doctor._extra("card", "cards").found == "installed, for cards"


def test_doctor_says_what_a_missing_extra_is_for(run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor.find_spec
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == "av" else real(name))
    code, out, _ = run("doctor")
    assert code == 0
    assert f"not installed; needed for MP4 video only: {install_command('video')}\n" in out


@pytest.mark.parametrize(
    ("raised", "todo"),
    [
        (
            "RuntimeError('operator torchvision::nms does not exist')",
            "(RuntimeError: operator torchvision::nms does not exist); install builds that belong "
            "together, from one index: pip install --force-reinstall torch torchvision\n",
        ),
        ("OSError('libav.so: no such file')", "pip install --force-reinstall av\n"),
        ("ImportError('libav.so: no such file')", f"such file); {install_command('video')}\n"),
    ],
)
def test_doctor_says_how_to_mend_an_extra_that_does_not_load(
    raised: str, todo: str, run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "av.py").write_text(f"raise {raised}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "av", raising=False)
    _, out, _ = run("doctor")
    (line,) = [line for line in out.splitlines(True) if line.startswith("hardy[video]")]
    assert "av is installed, but does not load (" in line
    assert line.endswith(todo)


def test_doctor_names_a_cache_that_cannot_be_written(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardy.engine.cpu.compile.cache_folder", lambda kernel: None)
    code, out, _ = run("doctor")
    assert code == 1
    assert "to do: set NUMBA_CACHE_DIR" in out
