"""The methods by name; importing this registers ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from hardy.errors import InputError
from hardy.registry import unknown
from hardy.train.method import METHODS, Method
from hardy.train.methods import (
    alp,
    ant,
    augmix,
    corrupted,
    inhibition,
    noise2net,
    patch,
)
from hardy.train.methods import noise_baselines as noise
from hardy.train.methods import stability_training as stability

__all__ = [
    "METHODS",
    "alp",
    "ant",
    "augmix",
    "corrupted",
    "inhibition",
    "make_method",
    "noise",
    "noise2net",
    "patch",
    "stability",
]


# Of whole numbers: torch counts images, pixels and steps by no more.
LARGEST = 2**31 - 1


def make_method(name: str, settings: Mapping[str, str] | None = None) -> Method:
    """A registered method; settings as typed: {"sigma": "0.2", "sigmas": "0.1,0.2"}."""
    kind: Callable[..., Method] = METHODS[name]
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for setting, text in (settings or {}).items():
        if setting not in fields:
            raise unknown(f"setting of {name}", setting, fields)
        values[setting] = _parse(text, hints[setting], f"{name}: {setting}")
    return kind(**values)


def _parse(text: str, hint: Any, what: str) -> Any:
    several = hint == tuple[float, ...]
    try:
        if several:
            return tuple(map(_number, text.split(",")))
        value = hint(text) if hint in (int, str) else _number(text)
    except (ValueError, ZeroDivisionError) as error:
        kind = "a whole number" if hint is int else "a number, or A/B"
        kind = "numbers as 0.1,0.2 or 1/4,1/2" if several else kind
        why = ", which divides by 0" if isinstance(error, ZeroDivisionError) else ""
        raise InputError(f'expected {what} as {kind}, got "{text}"{why}') from None
    if hint is int and abs(value) > LARGEST:
        raise InputError(f'expected {what} as a whole number of at most {LARGEST:,}, got "{text}"')
    return value


def _number(text: str) -> float:
    """Also a fraction: papers say 8/255."""
    above, slash, below = text.partition("/")
    return float(above) / float(below) if slash else float(text)
