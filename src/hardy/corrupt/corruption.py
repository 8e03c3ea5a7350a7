"""What a corruption is: a draw and a formula under a name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

from hardy.engine.ops import Array, Ops
from hardy.engine.rng import Draws
from hardy.registry import Registry, summary

Fields = Mapping[str, Array]
Size = tuple[int, int]
Params = Mapping[str, float]


@dataclass(frozen=True)
class Corruption:
    """`draw` makes the random fields of a batch, `apply` is a pure function of images and fields.

    Both take the parameters of one severity by name; the edition files hold them. `apply` may also
    know other draws, one value per channel value: the reference's own, which `replay` can bring.
    Those that are `looked_up` in a table must be among what can be drawn. With `kernels` the GPU
    backend has one for each of its steps, else they are plain array arithmetic there. A plug-in,
    which has no row in the edition files, brings its rows along.
    """

    name: str
    category: str
    parameters: tuple[str, ...]
    summary: str
    draw: Callable[..., Fields]  # (draws, size, **params)
    apply: Callable[..., Array]  # (ops, images, fields, **params)
    replays: tuple[str, ...] = ()
    looked_up: tuple[str, ...] = ()
    rows: Mapping[str, Sequence[Params]] = field(default_factory=dict)  # of each edition
    kernels: bool = False


CORRUPTIONS: Registry[Corruption] = Registry("corruption", "hardy.corruptions")
# Pixel formulas in plain array arithmetic; a backend may bring a fused version of the same name.
FORMULAS: dict[str, Callable[..., Array]] = {}


def _nothing(draws: Draws, size: Size, **_: float) -> Fields:
    return {}


def corruption(
    category: str,
    draw: Callable[..., Fields] = _nothing,
    replays: tuple[str, ...] = (),
    looked_up: tuple[str, ...] = (),
    kernels: bool = True,
) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Register a formula under its own name; parameters are its keyword-only arguments."""

    def register(apply: Callable[..., Array]) -> Callable[..., Array]:
        arguments = inspect.signature(apply).parameters.values()
        parameters = tuple(a.name for a in arguments if a.kind is a.KEYWORD_ONLY)
        name = apply.__name__
        about = summary(apply)
        made = Corruption(name, category, parameters, about, draw, apply, replays, looked_up)
        CORRUPTIONS.add(name, replace(made, kernels=kernels))
        return apply

    return register


def formula(plain: Callable[..., Array]) -> Callable[..., Array]:
    """A pixel formula, written once; where the backend has it fused, the fused pass runs."""
    name = plain.__name__
    FORMULAS[name] = plain

    @wraps(plain)
    def call(ops: Ops, *arguments: Any) -> Array:
        fused = ops.fused.get(name)
        return fused(*arguments) if fused else plain(ops, *arguments)

    return call
