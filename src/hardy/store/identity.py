"""Which predictions belong together: those that are made alike, whatever else differs."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from hardy.errors import printable
from hardy.models.model import DefenceFacts

SLUG_LENGTH = 60


@dataclass(frozen=True)
class Identity:
    """Of a run: one model on one suite."""

    model: str  # the name it goes by
    model_identity: str  # a hash of all that changes its output, preprocessing included
    suite: str
    suite_version: int
    suite_hash: str
    seed: int | None  # None: files, in which nothing is drawn any more
    recipe: str
    made: str  # "on the fly + jpeg:85", "on the fly", "official files"
    labels: str  # "suite" or "own"
    preprocessing: str  # prose
    precision: str
    defence: tuple[DefenceFacts, ...] = ()  # what they change is in the model's identity
    # Of a model that adapts to the images: a hash of which ones it sees together.
    batches: str | None = None

    def __post_init__(self) -> None:
        # Names of files need not be valid text, but what is printed and written must be.
        object.__setattr__(self, "model", printable(self.model))

    def hash(self) -> str:
        """Of what changes the output; not how the model and its preprocessing are described."""
        decisive = asdict(self)
        del decisive["model"], decisive["preprocessing"], decisive["defence"]
        if self.batches is None:  # most runs, also those from before there was such a field
            del decisive["batches"]
        return sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    def folder_in(self, store: Path) -> Path:
        """The run's place in a store, whatever name its model went by when it was begun."""
        end = f"--{slug(self.suite)}--{self.hash()[:8]}"
        begun = sorted(store.glob(f"*{end}")) if store.is_dir() else []
        return begun[0] if begun else store / f"{slug(self.model)}{end}"


def slug(name: str) -> str:
    """For a file name on any system: letters, digits, dots and dashes, and never a climb out."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", name)[:SLUG_LENGTH].strip("-._")
    return plain or "unnamed"
