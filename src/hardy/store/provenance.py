"""Under what circumstances predictions were made: kept beside them, once per session."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hardy.variants.disk.build import versions

LIBRARIES = (
    "numpy",
    "numba",
    "opencv-python-headless",
    "opencv-python",
    "pillow",
    "av",
    "pyarrow",
    "torch",
    "torchvision",
    "timm",
    "onnxruntime",
    "onnxruntime-gpu",
    "scikit-learn",
)
GIT_SECONDS = 5


def session(**extras: Any) -> dict[str, Any]:
    """What can be found out here, and what only the caller knows."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(LIBRARIES),
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "gpu": _gpu(),
        "git_commit": _git_commit(),
        **extras,
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def _gpu() -> str | None:
    """Only where torch is in use: importing it takes seconds."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return str(cuda.get_device_name()) if cuda is not None and cuda.is_available() else None


def _git_commit() -> str | None:
    """Of the current folder, where the user's work lies, with "+changes" where tracked files
    differ from it. It is not Hardy's: that has its version."""
    commit = _git("rev-parse", "HEAD")
    if not commit:
        return None
    return commit + ("+changes" if _git("status", "--porcelain", "--untracked-files=no") else "")


def _git(*words: str) -> str | None:
    # Nothing is written, and no program runs that a repository's settings may name.
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
