"""The errors Hardy raises on purpose. A message says what was expected, what came, what to do."""

import importlib
from typing import Any


class HardyError(Exception):
    """The base of Hardy's errors: `except hardy.HardyError` catches all that it refuses.

    >>> import hardy
    >>> try:
    ...     hardy.names("planets")
    ... except hardy.HardyError as error:
    ...     print(str(error)[:22])
    unknown kind "planets"
    """


class InputError(HardyError, ValueError):
    """An argument, a file or a name cannot be used as it is; the message says what would do.

    It is a `ValueError` too.

    >>> import hardy, numpy as np
    >>> try:
    ...     hardy.corrupt(np.zeros((32, 32, 3), np.uint8), "fogg", 3)
    ... except hardy.InputError as error:
    ...     print(str(error)[:44])
    unknown corruption "fogg"; did you mean "fog
    """


class MissingResource(HardyError):
    """Something that Hardy needs and does not bring is missing; the message says how to get it.

    >>> import hardy
    >>> from hardy.errors import need
    >>> try:
    ...     need("a_package_nobody_has", "demo", "this example")
    ... except hardy.MissingResource as error:
    ...     print(str(error).split(": ")[-1])
    pip install "hardy[demo]"
    """


def printable(text: str) -> str:
    """Spell out for a terminal what a file name may hold: line breaks and escape codes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def need(module: str, extra: str, what: str) -> Any:
    """Import an optional package for `what`; where it is missing, the error says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingResource(
            f"{what} needs {module}, which cannot be imported ({error}): "
            f'pip install "hardy[{extra}]"'
        ) from error
    except (RuntimeError, OSError) as error:  # libraries of builds that do not belong together
        raise HardyError(
            f"{what} needs {module}, which is installed but broken ({error}); install builds that "
            f'belong together: pip install --force-reinstall "hardy[{extra}]"'
        ) from error
