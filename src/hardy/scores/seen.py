"""Scores on corruptions that a model was trained on: they are marked wherever they are shown."""

from __future__ import annotations

from collections.abc import Iterable

from hardy.scores.score import Score

MARK = "†"


def mark(score: Score, seen: Iterable[str] | None) -> str:
    """Behind a number that counts a corruption which the model has seen; else nothing."""
    return f" {MARK}" if seen_in(score, seen) else ""


def seen_in(score: Score, seen: Iterable[str] | None) -> tuple[str, ...]:
    """Those of the score's corruptions; where nobody knows, none can be marked."""
    known = set(seen or ())
    return tuple(name for name in score.circumstances.names if name in known)


def note(scores: Iterable[Score], seen: Iterable[str] | None) -> list[str]:
    """What the mark means, where there is one."""
    names = dict.fromkeys(name for score in scores for name in seen_in(score, seen))
    return [f"{MARK} trained on {', '.join(names)}: not unseen by this model"] if names else []
