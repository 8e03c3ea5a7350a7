"""`Defended`: a model behind a defence, as a model of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hardy.models.model import DefenceFacts, Model, Preprocessing, digest, facts_of


class Defended(ABC):
    """A model behind a defence. Its name has the defence and its identity all settings, so that its
    predictions never mix with those of the plain model or of another setting."""

    trained = False  # whether the model was trained behind it, and is therefore never without it

    def __init__(
        self,
        model: Model,
        defence: str,
        settings: Mapping[str, object],
        words: str,
        *,
        name: str | None = None,
        adapts_in: int | None = None,
    ) -> None:
        """`defence` as one types it, "bn_adapt:16"; `words` say in results what it does."""
        self.model = model
        self.name = name or f"{model.name}+{defence}"
        self.identity = digest(
            "defended", {"model": model.identity, "defence": defence, **settings}
        )
        self.preprocessing = model.preprocessing
        self.device = model.device
        self.precision = model.precision
        its = facts_of(model)
        label, colon, setting = defence.partition(":")
        applied = DefenceFacts(label, setting if colon else None, words)
        self.facts = replace(
            its,
            known_accuracy=None,  # stated for the model alone
            adapts_in=adapts_in or its.adapts_in,
            defences=(*its.defences, applied),
        )

    @abstractmethod
    def logits(self, images: Any, preprocessing: Preprocessing | None = None) -> Any: ...


def unwrapped(model: Model) -> Iterator[Model]:
    """The model with all its defences, then with one less, down to the model itself."""
    yield model
    while isinstance(model, Defended):
        model = model.model
        yield model


def undefended(model: Model) -> Model:
    """The model itself; a filter that it was trained behind is part of it."""
    while isinstance(model, Defended) and not model.trained:
        model = model.model
    return model
