"""Packages of PyPI as files: pip finds them, nothing is installed, and no setup code is run."""

import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import zlib
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

_LARGEST = 2**27  # bytes of a source distribution


def pip_command(wheels: list[str]) -> str:
    """What a user would type to bring them here."""
    return f"python -m pip download --no-deps {' '.join(wheels)}"


def download(wheels: list[str], folder: Path) -> None:
    """Fill a folder with wheels such as "name==1.2"; what went wrong is an OSError's message."""
    done = _pip("--quiet", "--dest", str(folder), *wheels)
    if done.returncode or not any(folder.glob("*.whl")):
        raise OSError(_complaint(done))


def files_in_source(source: str, sha256: str, members: tuple[str, ...]) -> dict[str, bytes]:
    """Files of a source distribution such as "name==1.2", whose hash is known.

    To download one, pip would run its setup code. So pip is asked for wheels alone, and tells which
    addresses it passes over.
    """
    with tempfile.TemporaryDirectory(prefix="hardy-") as aside:  # for a wheel of that version
        done = _pip("-vv", "--dest", aside, source)
    name, version = map(re.escape, source.split("=="))
    likely = re.sub(r"(\\-|_|\\\.)+", "[-_.]", name)
    found = re.search(rf"\S+://\S*/{likely}-{version}\.tar\.gz", done.stdout + done.stderr)
    if not found:
        raise OSError(_complaint(done))
    try:
        with urlopen(found[0], timeout=60) as answer:
            archive = answer.read(_LARGEST)
    except (OSError, HTTPException, ValueError) as error:
        raise OSError(f"{found[0]} cannot be fetched ({error})") from error
    if hashlib.sha256(archive).hexdigest() != sha256:
        raise OSError(f"{found[0]} is not as expected")
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            streams = {member: files.extractfile(member) for member in members}
            return {name: stream.read() if stream else b"" for name, stream in streams.items()}
    except (tarfile.TarError, KeyError, EOFError, zlib.error) as error:
        raise OSError(f"{' or '.join(members)} is not in {found[0]}") from error


def _pip(*words: str) -> subprocess.CompletedProcess[str]:
    """Let pip look for wheels; it knows the index, mirror or proxy to ask."""
    # -P: nothing in the working folder can shadow pip. Only wheels: a source distribution would
    # run its setup code.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--no-input", "--disable-pip-version-check", *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired as error:
        raise OSError(str(error)) from error


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    """What pip says at last, or why it found nothing: an index out of reach is only a warning."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    for line in lines:
        if unreached := re.search(r"connection broken by '.*?: (.+)[\"']\)': ", line):
            return f"pip cannot reach its index ({unreached[1]})"
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or [f"pip ended with {done.returncode}"])[-1]
