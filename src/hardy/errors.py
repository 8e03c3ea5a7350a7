"""The errors Hardy raises on purpose. A message says what was expected, what came, what to do."""

import importlib
from typing import Any


class HardyError(Exception):
    """The base of them all: `except HardyError` catches everything Hardy refuses."""


class InputError(HardyError, ValueError):
    """An argument, a file or a name that cannot be used as it is."""


class MissingResource(HardyError):
    """Something Hardy needs and does not carry, such as the frost photographs, is not here."""


def printable(text: str) -> str:
    """For a terminal: what a file name may hold, line breaks and escape codes, is spelled out."""
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
