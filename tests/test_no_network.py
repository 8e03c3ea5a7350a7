"""Nothing is asked of a network unless a user asks for it: commands run where none answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.suites.helpers import write_rows

# Python's own door to networks, and to the names of hosts.
BLOCKED = """
import socket, sys

def refuse(*_, **__):
    raise SystemExit("a network was asked for")

socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refuse
from hardy.cli import main
sys.argv[0] = "hardy"
main()
"""
HOW = ("--suite", "cifar10_c", "--only", "contrast", "--images", "rows.npz")


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("alone")
    write_rows(place, 40)
    return place


def test_a_day_of_work(folder: Path) -> None:
    for words in (
        ("ls", "suites"),
        ("doctor",),
        ("eval", "fake:10", "fake:10:1", *HOW),
        ("score", "runs", "--published"),
        ("compare", "runs", "fake:10", "fake:10:1"),
        ("report", "runs", "-o", "report.html"),
        ("build", "cifar10_c", "--images", "rows.npz", "--only", "contrast", "--out", "built"),
        ("verify", "built"),
    ):
        done = typed(folder, *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        assert "network" not in done.stderr


def test_the_block_blocks() -> None:
    """Else the test above would say nothing."""
    asked = [sys.executable, "-c", f"{BLOCKED.split('from hardy')[0]}import urllib.request\n"]
    asked[-1] += "urllib.request.urlopen('http://127.0.0.1:9/')"
    done = subprocess.run(asked, capture_output=True, text=True)
    assert "a network was asked for" in done.stderr
