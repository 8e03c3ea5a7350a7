"""Defences at test time: a model behind one is another model, with a name and identity of its own.

Each has a name: `defend(model, "clahe")`; what follows a colon is its setting: "bn_adapt:0".
Another package adds one by an entry point in the group "hardy.defences" that points to a function
(a `Model`, the setting or None) -> `Model`, best a `Defended`.
"""

from __future__ import annotations

from collections.abc import Callable

from hardy.errors import InputError
from hardy.models.defences.defended import Defended, undefended, unwrapped
from hardy.models.defences.input_filters import FILTERS, Filtered, input_filter
from hardy.models.defences.tencrop import TenCrop
from hardy.models.model import Model
from hardy.registry import Registry

__all__ = ["DEFENCES", "Defended", "defend", "input_filter", "trained_behind", "undefended"]

Defence = Callable[[Model, str | None], Model]

DEFENCES: Registry[Defence] = Registry("defence", "hardy.defences")


def defend(model: Model, defence: str) -> Model:
    """The model behind a defence by its name, such as "clahe" or "bn_adapt:16"."""
    name, colon, setting = defence.partition(":")
    return DEFENCES[name](model, setting if colon else None)


def trained_behind(model: Model, name: str) -> Model:
    """A model that was trained on filtered images: it is shown filtered images in tests too."""
    return Filtered(model, name, input_filter(name), trained=True)


def _filter(name: str) -> None:
    def behind_filter(model: Model, setting: str | None) -> Model:
        _take_no_setting(name, setting)
        if any(isinstance(one, Filtered) and one.filter == name for one in unwrapped(model)):
            raise InputError(
                f"{model.name} is shown {name} images already; leave --defend {name} out"
            )
        return Filtered(model, name, FILTERS[name])

    words = FILTERS[name].words
    behind_filter.__doc__ = f"{words[0].upper()}{words[1:]}."
    DEFENCES.add(name, behind_filter)


for _name in FILTERS:
    _filter(_name)


@DEFENCES.register("tencrop")
def _tencrop(model: Model, setting: str | None) -> Model:
    """Mean of the probabilities of ten crops: corners, centre, and their mirror images."""
    _take_no_setting("tencrop", setting)
    return TenCrop(model)


@DEFENCES.register("bn_adapt")
def _bn_adapt(model: Model, setting: str | None) -> Model:
    """Batch norm by statistics of test images, its own counting for 16, or N: bn_adapt:N."""
    count = "16" if setting is None else setting
    if not count.isdecimal() or len(count) > 9:
        raise InputError(
            "expected bn_adapt or bn_adapt:N, N the number of images that the stored statistics "
            f'count for, from 0 to 999,999,999, got "bn_adapt:{setting}"'
        )
    *_, core = unwrapped(model)
    if not hasattr(core, "with_module"):  # asked so, torch need not be imported
        raise InputError(
            f"expected a torch model for bn_adapt, whose batch norm it adapts, got {model.name}"
        )
    from hardy.models.defences.bn_adapt import Adapted

    return Adapted(model, int(count))


def _take_no_setting(name: str, setting: str | None) -> None:
    if setting is not None:
        raise InputError(f'{name} has no setting, got "{name}:{setting}"; say {name}')
