"""Among many models one may fail, and the others go on without it."""

from collections.abc import Iterator
from contextlib import contextmanager

from hardy.errors import HardyError, printable, told


class Failures(dict[str, str]):
    """Why models failed, by their names. Where failures are not `excused`, the first one is raised:
    nobody wants half of what was asked for by name."""

    def __init__(self, *, excused: bool = False) -> None:
        super().__init__()
        self.excused = excused

    @contextmanager
    def of(self, model: str) -> Iterator[None]:
        """What happens in here is the model's own doing."""
        try:
            yield
        except Exception as error:
            if not self.excused:
                raise
            self.note(model, error)

    def note(self, model: str, error: Exception) -> None:
        """Keep the first reason, which the others may follow from."""
        self.setdefault(model, _in_a_line(error).removeprefix(f"{model}: "))


def _in_a_line(error: Exception) -> str:
    said = str(error) if isinstance(error, HardyError) else told(error)
    return printable(" ".join(said.split()))
