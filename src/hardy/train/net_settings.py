"""The settings that follow a name and a colon: "densenet_40:growth=8,depth=22"."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from hardy.errors import InputError
from hardy.registry import unknown

_FLAGS = {"yes": True, "no": False}
_LARGEST = 1000  # a net with more of anything fits nowhere
_KINDS = {
    bool: "yes or no",
    int: f"a whole number, up to {_LARGEST:,}",
    float: f"a number, up to {_LARGEST:,}",
}


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    """What can be set: the arguments of a function that have to be named."""
    given = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in given if one.kind is one.KEYWORD_ONLY}


def read_settings(text: str, function: Callable[..., Any], what: str) -> dict[str, Any]:
    """The named arguments of a function from text such as "width=8,sk=no"; `what` takes them."""
    defaults = defaults_of(function)
    values: dict[str, Any] = {}
    for pair in text.split(",") if text else []:
        name, equals, value = pair.partition("=")
        if not equals or name in values:
            raise InputError(
                f'expected settings of {what} as NAME=VALUE,NAME=VALUE, each once, got "{text}"'
            )
        if name not in defaults:
            raise unknown(f"setting of {what}", name, defaults)
        values[name] = _value(value, type(defaults[name]), f"{name} of {what}")
    return values


def _value(text: str, kind: type, what: str) -> Any:
    try:
        value = _FLAGS[text] if kind is bool else kind(text)
        if abs(value) <= _LARGEST:
            return value
    except (KeyError, ValueError):
        pass
    raise InputError(f'expected {what} as {_KINDS[kind]}, got "{text}"')
