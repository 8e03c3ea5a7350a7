"""The names that one run is evaluated by: its model's, and those of models that are the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from hardy.errors import printable
from hardy.store.records import ALSO, CLAIMS


class TypedName(NamedTuple):
    """A name as it was typed, and of a file of weights which one that was: its `place_of`."""

    name: str
    place: str = ""


class RunNames(NamedTuple):
    """What a run is called, and what it answers to, from an evaluation on."""

    own: str  # of its model
    given: bool = False  # by the user: the run is called so from now on, its folder is not
    twins: tuple[str, ...] = ()  # names of models that are the same
    typed: tuple[TypedName, ...] = ()  # all of these as they were typed, with folders of weights

    def and_twin(self, twin: RunNames) -> RunNames:
        """These, and the names of a model that is the same, which the run answers to as well."""
        twins = (*self.twins, *(name for name in (twin.own, *twin.twins) if name != self.own))
        return self._replace(twins=twins, typed=(*self.typed, *twin.typed))

    def said_of(self, known: Sequence[str]) -> dict[str, Any]:
        """What a session says of them, about a run that has `known` names, the first its own."""
        own, *twins = map(printable, (self.own, *self.twins))
        said: dict[str, Any] = {}
        if self.given and own != known[0]:
            said["model"] = own
        known = [*known, own] if self.given else known
        if new := [name for name in dict.fromkeys((own, *twins)) if name not in known]:
            said[ALSO] = new
        # What was typed tells files of one name apart, which names without a folder do not.
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        claims: dict[str, dict[str, str]] = {}
        for name, place in self.typed or map(TypedName, (own, *twins)):
            claims.setdefault(printable(name), {})[place] = now
        said[CLAIMS] = claims
        return said


def place_of(file: str | os.PathLike[str]) -> str:
    """Tells files of one name in several folders apart, and no folder of anybody's machine."""
    path = os.path.realpath(file)
    return sha256(path.encode(errors="surrogateescape")).hexdigest()[:16]


def label_of(typed: str) -> str:
    """The name of a model whose weights were typed so: without their folder."""
    model, at, file = typed.rpartition(" @ ")
    return f"{model}{at}{_file_name(file)}" if at else typed


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
