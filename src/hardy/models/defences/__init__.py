"""Defences at test time: a model behind one is another model, with a name and identity of its own.

Each has a name: `defend(model, "clahe")`; what follows a colon is its setting: "bn_adapt:0".
Another package adds one by an entry point in the group "hardy.defences" that points to a function
(a `Model`, the setting or None) -> `Model`, best a `Defended`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hardy.errors import InputError
from hardy.models.model import DefenceFacts, Model, Preprocessing, digest, facts_of
from hardy.registry import Registry, Row

_HERE = "hardy.models.defences"
DEFENCES: Registry[Callable[[Model, str | None], Model]] = Registry(
    "defence",
    "hardy.defences",
    of=Callable,
    rows={
        "clahe": Row(f"{_HERE}.input_filters:behind_clahe"),
        "nlm": Row(f"{_HERE}.input_filters:behind_nlm"),
        "median": Row(f"{_HERE}.input_filters:behind_median"),
        "tencrop": Row(f"{_HERE}.tencrop:behind_tencrop"),
        "bn_adapt": Row(f"{_HERE}.bn_adapt:behind_bn_adapt", needs="torch"),
    },
)


def defend(model: Model, defence: str) -> Model:
    """The model behind a defence by its name, such as "clahe" or "bn_adapt:16"."""
    name, colon, setting = defence.partition(":")
    return DEFENCES[name](model, setting if colon else None)


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


def take_no_setting(name: str, setting: str | None) -> None:
    if setting is not None:
        raise InputError(f'{name} has no setting, got "{name}:{setting}"; say {name}')
