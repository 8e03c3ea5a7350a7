"""Other people's libraries, as Hardy uses them, ask no network: what they try is noted, since most
of them hide it where nobody answers."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.pages import ROOT

WATCHED = """
import socket, sys

def note(host):
    with open("asked.txt", "a") as file:
        print(host, file=file)
    raise OSError("there is no network")

def connect(self, address, *rest):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
        note(address)
    return reach(self, address, *rest)

reach, socket.socket.connect, socket.socket.connect_ex = socket.socket.connect, connect, connect
socket.getaddrinfo = socket.gethostbyname = lambda host, *_, **__: note(host)
"""
BEFORE = """
from pathlib import Path
from tests.vision import import_torchvision
import_torchvision()
"""
PROGRAMS = {
    "albumentations": "from hardy.hooks import AlbumentationsCorrupt",
    "lightning": "from hardy.hooks import LightningRobustError",
    "transformers": """
from hardy.hooks import TrainerRobustError
from hardy.models import load_model
from tests.models.hf_folders import HALF, save
load_model(f"hf:{save(Path('folder'), size=16, resample=2, **HALF)}", device="cpu")
""",
    "keras": """
from tests.extras.small_keras import RESCALING, saved, small
from hardy.models import load_model
load_model(saved(small(RESCALING), Path("m.keras")), device="cpu")
""",
}


def asked_by(program: str, folder: Path) -> str:
    """The hosts that a program of its own asks for."""
    start = f"{WATCHED}\nsys.path.insert(0, {str(ROOT)!r})\n{BEFORE}"
    command = [sys.executable, "-W", "ignore", "-c", f"{start}{program}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    noted = folder / "asked.txt"
    assert done.returncode == 0 or noted.exists(), done.stderr
    return noted.read_text() if noted.exists() else ""


@pytest.mark.parametrize("library", PROGRAMS)
def test_nothing_is_asked_of_a_network(library: str, tmp_path: Path) -> None:
    if find_spec(library) is None:
        pytest.skip(f"needs {library}: make test-extras")
    assert asked_by(PROGRAMS[library], tmp_path) == ""


def test_what_is_asked_is_noted(tmp_path: Path) -> None:
    """Else the test above would say nothing."""
    program = "import urllib.request\nurllib.request.urlopen('http://example.org/')"
    assert "example.org" in asked_by(program, tmp_path)
