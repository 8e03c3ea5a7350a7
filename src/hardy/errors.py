"""The errors Hardy raises on purpose. A message says what was expected, what came, what to do."""


class HardyError(Exception):
    """The base of them all: `except HardyError` catches everything Hardy refuses."""


class InputError(HardyError, ValueError):
    """An argument, a file or a name that cannot be used as it is."""


class MissingResource(HardyError):
    """Something Hardy needs and does not carry, such as the frost photographs, is not here."""


def printable(text: str) -> str:
    """For a terminal: what a file name may hold, line breaks and escape codes, is spelled out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
