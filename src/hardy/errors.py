"""The errors Hardy raises on purpose. A message says what was expected, what came, what to do."""


class HardyError(Exception):
    """The base of them all: `except HardyError` catches everything Hardy refuses."""


class InputError(HardyError, ValueError):
    """An argument, a file or a name that cannot be used as it is."""


class MissingResource(HardyError):
    """Something Hardy needs and does not carry, such as the frost photographs, is not here."""
