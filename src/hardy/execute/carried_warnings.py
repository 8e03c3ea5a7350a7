"""Python's warnings in a process that works for another: its filters are those of the one who asks,
who is shown what came through them, as if a thread of its own had warned.

What modules warn of while they are imported is not carried: the one who asks has imported them too.
Nor are filters for kinds of warnings whose modules the process has not loaded when its work begins;
kinds of a user's script are never loaded there.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from re import Pattern
from types import ModuleType
from typing import Any, NamedTuple, TextIO


class WarningFilter(NamedTuple):
    """One of Python's filters, as it can travel."""

    action: str
    message: str | Pattern[str] | None
    kind: str  # "module:Class"
    module: str | Pattern[str] | None
    line: int


class CarriedWarning(NamedTuple):
    """What came through the filters."""

    text: str
    kind: str
    file: str
    line: int


def filters_here() -> tuple[WarningFilter, ...]:
    """The filters of this process."""
    every: Any = warnings.filters  # regular expressions, where typeshed says strings
    return tuple(
        WarningFilter(action, message, _place(kind), module, line)
        for action, message, kind, module, line in every
    )


@contextmanager
def without_warnings() -> Iterator[None]:
    """Do in silence what the one who asks has done as well, and was warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def set_filters(filters: Sequence[WarningFilter]) -> None:
    """Have those of another process, but for kinds that are not loaded here."""
    kinds = [_loaded(one.kind) for one in filters]
    warnings.resetwarnings()  # which also forgets what was shown already
    every: Any = warnings.filters
    every[:] = [
        (one.action, one.message, kind, one.module, one.line)
        for one, kind in zip(filters, kinds, strict=True)
        if kind is not None
    ]


@contextmanager
def noting_warnings() -> Iterator[list[CarriedWarning]]:
    """Note what would be shown."""
    noted: list[CarriedWarning] = []

    def note(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        noted.append(CarriedWarning(str(message), _place(category), filename, lineno))

    before = warnings.showwarning
    warnings.showwarning = note
    try:
        yield noted
    finally:
        warnings.showwarning = before


def show_again(noted: Sequence[CarriedWarning]) -> None:
    """Warn as the same line would here: as often as the filters want it, whoever else does."""
    for one in noted:
        module = _module_of(one.file)
        with suppress(Exception):  # an error by filters that were changed since: it is read already
            warnings.warn_explicit(
                one.text,
                _loaded(one.kind) or UserWarning,
                one.file,
                one.line,
                module=getattr(module, "__name__", None),
                registry=vars(module or warnings).setdefault("__warningregistry__", {}),
            )


def _module_of(file: str) -> ModuleType | None:
    every = [module for module in [*sys.modules.values()] if isinstance(module, ModuleType)]
    return next((module for module in every if vars(module).get("__file__") == file), None)


def _place(kind: type[Warning]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _loaded(place: str) -> type[Warning] | None:
    module, _, name = place.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) and issubclass(found, Warning) else None
