"""What work runs on: the versions of libraries, the processor, the GPU, the user's commit."""

import platform
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hardy.execute.executor import processors

_GIT_SECONDS = 5


def versions(libraries: Iterable[str]) -> dict[str, str]:
    """The versions of Python, of Hardy and of those libraries that are installed."""
    found = {"python": platform.python_version()}
    for name in ("hardy", *libraries):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, str | int | None]:
    return {"platform": platform.platform(), "cpu": _cpu(), "cores": processors(), "gpu": _gpu()}


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def _gpu() -> str | None:
    """The GPU, asked only where torch is in use: importing torch takes seconds."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return str(cuda.get_device_name()) if cuda is not None and cuda.is_available() else None


def git_commit() -> str | None:
    """The commit of the current folder, where the user's work lies, with "+changes" where tracked
    files differ from it. It is not Hardy's own, which has its version."""
    commit = _git("rev-parse", "HEAD")
    if not commit:
        return None
    return commit + ("+changes" if _git("status", "--porcelain", "--untracked-files=no") else "")


def _git(*words: str) -> str | None:
    # Nothing is written, and no program runs that a repository's settings may name.
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
