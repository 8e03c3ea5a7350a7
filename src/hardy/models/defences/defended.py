"""What all defended models have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from hardy.models.model import Model, Preprocessing, digest


class Defended(ABC):
    """A model behind a defence. Its own predictions, and those of another setting, never mix with
    these: the name has the defence, and the identity all of its settings."""

    # Its library states it for the model alone.
    known_accuracy = None

    def __init__(
        self,
        model: Model,
        defence: str,
        settings: Mapping[str, object],
        words: str,
        *,
        name: str | None = None,
    ) -> None:
        """`defence` as one types it, `words` as results explain it."""
        self.model = model
        self.name = name or f"{model.name}+{defence}"
        self.identity = digest(
            "defended", {"model": model.identity, "defence": defence, **settings}
        )
        self.preprocessing = model.preprocessing
        self.device = model.device
        self.precision = model.precision
        self.takes_tensors: bool = getattr(model, "takes_tensors", False)
        inner = getattr(model, "defence", None)
        self.defence: str = f"{inner}; {defence}: {words}" if inner else f"{defence}: {words}"
        # Images whose statistics it takes together; None: it sees each image for itself.
        self.adapts_in: int | None = getattr(model, "adapts_in", None)
        self.seen_corruptions: tuple[str, ...] | None = getattr(model, "seen_corruptions", None)
        self.trained_as: dict[str, Any] | None = getattr(model, "trained_as", None)
        self.class_names: tuple[str, ...] | None = getattr(model, "class_names", None)

    @abstractmethod
    def logits(self, images: Any, preprocessing: Preprocessing | None = None) -> Any: ...


def unwrapped(model: Model) -> Iterator[Model]:
    """From the outermost defence to the model itself."""
    yield model
    while isinstance(model, Defended):
        model = model.model
        yield model


def undefended(model: Model) -> Model:
    """The model itself; what it was trained behind is part of it."""
    while isinstance(model, Defended) and not getattr(model, "trained", False):
        model = model.model
    return model
