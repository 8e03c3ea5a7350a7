"""How `hardy train` made a model, as the sessions of its runs say it."""

from __future__ import annotations

from typing import Any, NamedTuple

from hardy.schema import TABLE, TEXT, TEXTS

PLAIN = "standard"  # the method that is none


class Trained(NamedTuple):
    net: str
    methods: tuple[str, ...] | None  # None: nobody knows, as its weights began as others'

    def standalone(self, *, defended: bool) -> bool | None:
        """Whether one technique makes it robust, or a combination; None where none does that we
        know of."""
        used = [one for one in self.methods or () if one != PLAIN]
        return len(used) == 1 and not defended if used else None


def read_trained(sessions: Any) -> Trained | None:
    """By the last session that says. Older ones do not, and a file from elsewhere says anything."""
    tables = [one for one in sessions if TABLE.fits(one)] if isinstance(sessions, list) else []
    for session in reversed(tables):
        stated = session.get("trained_as")
        if TABLE.fits(stated) and TEXT.fits(stated.get("net")):
            methods = stated.get("methods")
            return Trained(stated["net"], tuple(methods) if TEXTS.fits(methods) else None)
    return None
