"""Under what circumstances predictions were made: kept beside them, once per session.

What the model says of its training is part of a session's record; it is written and read here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from hardy.execute.git_folder import git_commit
from hardy.execute.machine import machine, versions
from hardy.models.model import ModelFacts, Trained
from hardy.schema import TABLE, TEXT, TEXTS, is_whole

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
    "transformers",
    "open_clip_torch",
    "keras",
    "jax",
    "jaxlib",
    "onnxruntime",
    "onnxruntime-gpu",
    "ai-edge-litert",
    "scikit-learn",
)

UNREADABLE = "that could not be read"  # images of a run that are listed in it, without predictions


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
    """The part of a session that is about the model: training, prompts, what computed."""
    trained = facts.trained_as
    return {
        "seen_corruptions": facts.seen_corruptions,
        "trained_as": None if trained is None else asdict(trained),
        **({} if facts.prompts is None else {"prompts": facts.prompts}),
        **({} if facts.backend is None else {"backend": facts.backend}),
        **({"compiled": "by torch.compile, which may change last bits"} if facts.compiled else {}),
    }


def read_seen(sessions: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """The corruptions that the model was trained on, by the last session that says."""
    stated = [session.get("seen_corruptions") for session in sessions]
    named = [one for one in stated if isinstance(one, list | tuple)]
    return tuple(map(str, named[-1])) if named else None


def read_prompts_used(sessions: Sequence[Mapping[str, Any]]) -> str | None:
    """The sentences by which the model was told its classes, in words, by the last session."""
    stated = [one["prompts"] for one in sessions if TEXT.fits(one.get("prompts"))]
    return str(stated[-1]) if stated else None


def read_left_out(sessions: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many images of which kind were left out of all that the run was ever given: by the
    sessions that could use the most, since one of a part of them finds fewer, and one with fewer
    labels leaves out what is stored. (Sessions of Hardy 0.1.0 do not say how many they could use.)
    What cannot be read is tried again, and the last session says."""
    stated = [one for one in sessions if TABLE.fits(one.get("left_out"))]
    used = [n if is_whole(n := one.get("images")) else None for one in stated]
    widest = max((n for n in used if n is not None), default=None)
    most: dict[str, int] = {}
    for number, one in zip(used, stated, strict=True):
        most.pop(UNREADABLE, None)
        for kind, n in one["left_out"].items():
            if is_whole(n) and (kind == UNREADABLE or number in (None, widest)):
                most[kind] = max(n, most.get(kind, 0))
    return most


def read_asked(sessions: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The cells that any session was to predict; older sessions do not say."""
    told = [one["cells"] for one in sessions if TEXTS.fits(one.get("cells"))]
    return frozenset(cell for some in told for cell in some)


def read_doubts(sessions: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was warned of, by any session; and what could not be checked, if none checked it."""
    told = [one["warnings"] for one in sessions if TEXTS.fits(one.get("warnings"))]
    checked = any(one.get("checked_accuracy") is not None for one in sessions)
    open_ = [one["unchecked"] for one in sessions if TEXT.fits(one.get("unchecked"))]
    return [*dict.fromkeys(text for some in told for text in some), *open_[-1:][checked:]]


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
