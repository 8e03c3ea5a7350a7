"""The peers: `imagecorruptions` 1.1.2 from PyPI, and its newest release under another name.

Three of the nineteen corruptions of 1.1.2 crash as published. The shim replaces what current
libraries took away and touches none of its arithmetic:

* `pkg_resources` (gone from setuptools 82 on) is stood in for, where it is missing;
* scikit-image's `gaussian(multichannel=True)` is now `gaussian(channel_axis=-1)`;
* `np.float_` is now `np.float64`.

`imagecorruptions-imaug` goes on from there, needs no shim, and has the same module name, so it is
installed into a folder of its own.

`python -m bench.peer` prints, as JSON, what happens to 1.1.2 without the shim.
"""

from __future__ import annotations

import json
import sys
import types
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bench.photos import crops, folder

VERSION, RELEASED = "1.1.2", "2020-12-03"
INSTALL = f"pip install --no-deps imagecorruptions=={VERSION}"
NEWEST, NEWEST_VERSION, NEWEST_RELEASED = "imagecorruptions-imaug", "1.1.5", "2026-07-15"
NEWEST_FOLDER = Path(__file__).parents[1] / "build/newest-peer"
Image = NDArray[np.uint8]


def frost_folder() -> Path:
    """The frost photographs in the peer's wheel; hardy is pointed at the same files."""
    return folder("imagecorruptions") / "frost"


def _import() -> tuple[types.ModuleType, str]:
    """The package, and how its import goes as published: "ok" or the exception."""
    if find_spec("imagecorruptions") is None:
        raise SystemExit(f"the bench compares with imagecorruptions {VERSION}: {INSTALL}")
    found = version("imagecorruptions")
    if found != VERSION:
        raise SystemExit(f"the bench needs imagecorruptions {VERSION}, found {found}: {INSTALL}")
    published = "ok"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import_module("pkg_resources")
        except ModuleNotFoundError as error:
            published = f"{type(error).__name__}: {error}"
            stand_in = types.ModuleType("pkg_resources")
            stand_in.resource_filename = (  # type: ignore[attr-defined]
                lambda package, name: str(folder(package.partition(".")[0]) / name)
            )
            sys.modules["pkg_resources"] = stand_in
        return import_module("imagecorruptions"), published


def _import_newest() -> types.ModuleType:
    """The package in the folder. Afterwards its module name is that of 1.1.2 again."""
    how = f"pip install --no-deps --target {NEWEST_FOLDER} {NEWEST}=={NEWEST_VERSION}"
    if not (NEWEST_FOLDER / f"{NEWEST.replace('-', '_')}-{NEWEST_VERSION}.dist-info").is_dir():
        raise SystemExit(f"the bench compares with {NEWEST} {NEWEST_VERSION}: {how}")

    def put_aside() -> dict[str, types.ModuleType]:
        mine = [name for name in sys.modules if name.partition(".")[0] == "imagecorruptions"]
        return {name: sys.modules.pop(name) for name in mine}

    aside = put_aside()
    sys.path.insert(0, str(NEWEST_FOLDER))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module("imagecorruptions")
    finally:
        sys.path.remove(str(NEWEST_FOLDER))
        put_aside()
        sys.modules.update(aside)


def _shim(package: types.ModuleType) -> None:
    """Give the package back the two calls that current NumPy and scikit-image refuse."""
    module = package.corruptions
    gaussian = module.gaussian

    def with_old_keyword(*args: Any, multichannel: bool = False, **kwargs: Any) -> Any:
        return gaussian(*args, channel_axis=-1 if multichannel else None, **kwargs)

    module.gaussian = with_old_keyword
    vars(np)["float_"] = np.float64


class Peer:
    """Both packages, the old one patched, single-threaded. They use NumPy's global generator."""

    def __init__(self) -> None:
        cv2.setNumThreads(1)
        package, self.published_import = _import()
        _shim(package)
        self._corrupt: Callable[..., Image] = package.corrupt
        self._newest: Callable[..., Image] = _import_newest().corrupt
        self.counted: tuple[str, ...] = tuple(package.get_corruption_names("common"))
        self.validation: tuple[str, ...] = tuple(package.get_corruption_names("validation"))

    @property
    def names(self) -> tuple[str, ...]:
        return self.counted + self.validation

    def __call__(self, image: Image, name: str, severity: int) -> Image:
        return self._corrupt(image, severity=severity, corruption_name=name)

    def newest(self, image: Image, name: str, severity: int) -> Image:
        return self._newest(image, severity=severity, corruption_name=name)


def as_published() -> dict[str, str]:
    """Per corruption "ok", or the exception that the unpatched package raises.

    Severities 1 and 5: spatter takes another path from 4 on.
    """
    package, _ = _import()
    image = crops(1)[0]
    found = {}
    for name in package.get_corruption_names("all"):
        try:
            for severity in (1, 5):
                package.corrupt(image, severity=severity, corruption_name=name)
            found[name] = "ok"
        except Exception as error:  # whatever it raises is the finding
            found[name] = f"{type(error).__name__}: {error}"
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(as_published(), sys.stdout, indent=1)
