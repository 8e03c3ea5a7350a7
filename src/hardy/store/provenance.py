"""Under what circumstances predictions were made: kept beside them, once per session.

What the model says of its training is part of a session's record; it is written and read here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from hardy.execute.machine import git_commit, machine, versions
from hardy.models.model import ModelFacts, Trained
from hardy.schema import TABLE, TEXT, TEXTS

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


def session(**extras: Any) -> dict[str, Any]:
    """The record of a session: what can be found out here, and what only the caller knows."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(LIBRARIES),
        **machine(),
        "git_commit": git_commit(),
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
