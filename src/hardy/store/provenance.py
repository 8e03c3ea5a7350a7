"""Under what circumstances predictions were made: kept beside them, once per session.

What the model says of its training is part of a session's record; it is written and read here.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hardy.models.model import ModelFacts, Trained
from hardy.schema import TABLE, TEXT, TEXTS
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


def said(facts: ModelFacts) -> dict[str, Any]:
    """The part of a session that is about the model's training."""
    trained = facts.trained_as
    return {
        "seen_corruptions": facts.seen_corruptions,
        "trained_as": None if trained is None else asdict(trained),
    }


def read_seen(sessions: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """The corruptions that the model was trained on, by the last session that says."""
    stated = [session.get("seen_corruptions") for session in sessions]
    named = [one for one in stated if isinstance(one, list | tuple)]
    return tuple(map(str, named[-1])) if named else None


def read_trained(sessions: Any) -> Trained | None:
    """How `hardy train` made the model, by the last session that says.

    Older sessions do not say it, and a file from elsewhere may say anything.
    """
    tables = [one for one in sessions if TABLE.fits(one)] if isinstance(sessions, list) else []
    for session in reversed(tables):
        stated = session.get("trained_as")
        if TABLE.fits(stated) and TEXT.fits(stated.get("net")):
            methods = stated.get("methods")
            return Trained(stated["net"], tuple(methods) if TEXTS.fits(methods) else None)
    return None


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
