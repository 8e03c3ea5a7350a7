"""What work runs on: the versions of libraries, the processor, the GPU."""

import platform
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hardy.execute.executor import processors


def versions(libraries: Iterable[str]) -> dict[str, str]:
    """The versions of Python, of Hardy and of those libraries that are installed."""
    found = {"python": platform.python_version()}
    for name in ("hardy", *libraries):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, str | int | None]:
    return {"platform": platform.platform(), "cpu": _cpu(), "cores": processors(), "gpu": _gpu()}


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def _gpu() -> str | None:
    """The GPU, asked only where torch is in use: importing torch takes seconds."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return str(cuda.get_device_name()) if cuda is not None and cuda.is_available() else None
