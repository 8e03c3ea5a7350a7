"""The errors Hardy raises on purpose. A message says what was expected, what came, what to do."""

import importlib
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LONGEST_LINE = 1200  # of a message
SAID = 500  # characters of what a library says


class HardyError(Exception):
    """The base of Hardy's errors: `except hardy.HardyError` catches all that it refuses.

    >>> import hardy
    >>> try:
    ...     hardy.names("planets")
    ... except hardy.HardyError as error:
    ...     print(str(error)[:22])
    unknown kind "planets"
    """

    def __init__(self, message: object = "", *below: object) -> None:
        """`below` are further lines; whatever text of a file is in one of them, it stays one."""
        super().__init__(*(_readable(str(line)) for line in (message, *below)))

    def __str__(self) -> str:
        return "\n  ".join(self.args)


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
    ...     print(str(error)[:48])
    this example needs a_package_nobody_has, which c
    """


def _readable(line: str) -> str:
    """A line that people can read, whatever a file brought into it: what stands in the middle is
    left out, since the beginning tells where it happened, and the end what to do."""
    line, half = printable(line), LONGEST_LINE // 2
    return f"{line[:half]} … {line[-half:]}" if len(line) > LONGEST_LINE else line


def told(error: BaseException) -> str:
    """An exception in one line: its type, and the first line of what it says."""
    said = str(error).strip().partition("\n")[0][:SAID]
    return type(error).__name__ + (f": {said}" if said else "")


@contextmanager
def door(what: object, todo: str = "take another copy of it") -> Iterator[None]:
    """The door of a reader: whatever libraries raise over a broken file is told in one line, with
    the name of the file."""
    try:
        yield
    except HardyError:
        raise
    except Exception as error:
        raise InputError(f"cannot read {what}: {told(error)}; {todo}") from error


def printable(text: str) -> str:
    """Spell out for a terminal what a file name may hold: line breaks and escape codes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def sides(height: int, width: int) -> str:
    """The size of an image in words that say which side is which."""
    return f"{width} x {height}" if width == height else f"width {width}, height {height}"


def need(module: str, extra: str, what: str) -> Any:
    """Import an optional package for `what`; where it is missing, the error says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingResource(
            f"{what} needs {module}, which cannot be imported ({error}): "
            f"{remedy(error, module, extra)}"
        ) from error
    except (RuntimeError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise HardyError(
            f"{what} needs {module}, which is installed but broken ({reason}); "
            f"{remedy(error, module, extra)}"
        ) from error


def remedy(error: Exception, package: str, extra: str) -> str:
    """What to do about a package of an extra that does not load, by what it raised."""
    if isinstance(error, ImportError):
        return install_command(extra)
    # Libraries of builds that do not belong together; timm fails by torchvision too.
    pair = "torchvision::" in str(error).partition("\n")[0]
    packages = "torch torchvision" if pair else package.partition(".")[0]
    return (
        "install builds that belong together, from one index: "
        f"pip install --force-reinstall {packages}"
    )


def install_command(extra: str) -> str:
    """The command that adds an extra to Hardy, from where it was installed."""
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        origin = json.loads(distribution("hardy").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # a checkout on Python's path
        origin = {"url": Path(__file__).parents[2].as_uri(), "dir_info": {"editable": True}}
    url = origin.get("url")
    if url is None:  # by its name
        return f'pip install "hardy[{extra}]"'
    if "dir_info" in origin:
        option = "-e " if origin["dir_info"].get("editable") else ""
        return f'pip install {option}"{url2pathname(urlsplit(url).path)}[{extra}]"'
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    return f'pip install "hardy[{extra}] @ {url}"'


def warn_user(message: str) -> None:
    """Warn whoever called a function of Python, from outside of Hardy."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("hardy."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)
