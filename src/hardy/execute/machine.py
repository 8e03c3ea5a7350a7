"""What work runs on: the versions of libraries, the processor, the GPU."""

import platform
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hardy.execute.executor import processors

_CONTAINER = Path("/sys/fs/cgroup")
_USUAL_MEMORY = 4 << 30  # where a system does not say what it has


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


def available_memory() -> int:
    """Bytes of memory that can be had now, within what this process's container may use."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        kib = next(line.split()[1] for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):  # not Linux
        return _USUAL_MEMORY
    limit, used = (_read_number(_CONTAINER / name) for name in ("memory.max", "memory.current"))
    within = limit - used if limit is not None and used is not None else None
    return min(int(kib) * 1024, max(0, within)) if within is not None else int(kib) * 1024


def _read_number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None  # "max": no limit


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
