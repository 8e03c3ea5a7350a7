"""Rooms that are functions too: `hardy.train("augmix", ...)` beside `import hardy.train.nets`.

Python binds a package on its parent whenever a module of it is imported, so a function of the same
name would come and go. Instead the package itself can be called.
"""

import inspect
import re
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class Room(ModuleType):
    """A package that passes calls on to a function of its own, which is imported by then."""

    def _function(self) -> Callable[..., Any]:
        module, _, name = self.__dict__["_calls"].partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function()(*arguments, **options)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        """What `help` shows of a package: the function's first line, how to call it, the rest."""
        first, _, rest = (self._function().__doc__ or "").partition("\n\n")
        bare = [one.replace(annotation=one.empty) for one in self.__signature__.parameters.values()]
        call = re.sub(r"<function (\S+) at \w+>", r"\1", str(inspect.Signature(bare)))
        return f"{first}\n\n        {self.__name__}{call}\n\n{rest}"

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function())

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        return import_module, (self.__name__,)  # so that it can be sent to other processes


def call_room(name: str, function: str) -> None:
    """Make the package `name` call `function`, "package.module:function" below it."""
    room = sys.modules[name]
    room.__dict__["_calls"] = function
    room.__class__ = Room
