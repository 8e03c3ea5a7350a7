"""Triton's kernels, compiled before they are needed: by processes of their own, many at a time,
while this one loads the model and reads the first images.

Otherwise each is compiled when it is first launched, one after the other. Nothing hangs on it: what
could not be compiled ahead is compiled then.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hardy import progress
from hardy.execute import processors
from hardy.execute.interpreter import module_command, same_imports
from hardy.suites.cells import CLEAN, Cell

if TYPE_CHECKING:
    from hardy.variants.generated import Generated

_begun: subprocess.Popen[bytes] | None = None


class KernelJob(NamedTuple):
    """What the kernels will be for; it travels to another process."""

    variants: Generated
    cells: Sequence[Cell]
    images: int  # at a time
    done: Path  # a folder with a file for each cell whose kernels are compiled


def begin_kernels(variants: Generated, cells: Sequence[Cell], images: int) -> None:
    """Begin to compile what these cells need, so many images at a time, unless that was done."""
    global _begun
    usable = find_spec("triton") is not None and hasattr(os, "fork") and sys.executable
    if not usable or _begun is not None or os.environ.get("TRITON_INTERPRET") == "1":
        return
    done = _cache() / f"hardy-{_digest(variants)}"
    cells = [cell for cell in cells if cell != CLEAN and not (done / _file(cell)).exists()]
    if not cells:
        return
    progress.mention("compiling kernels for the GPU, once on this machine")
    job = KernelJob(replace(variants, source=cast(Any, None)), tuple(cells), images, done)
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with TemporaryFile() as file:
        pickle.dump(job, file)
        file.seek(0)
        _begun = subprocess.Popen(
            module_command(__name__),
            stdin=file,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**same_imports(), **alone},
        )


def wait_for_kernels() -> None:
    """Wait until what was begun is compiled: to begin once more would take longer."""
    global _begun
    if _begun is not None:
        _begun.wait()
        _begun = None


def _cache() -> Path:
    """Where Triton keeps what it compiled."""
    home = os.environ.get("TRITON_HOME") or os.path.expanduser("~")
    return Path(os.environ.get("TRITON_CACHE_DIR") or Path(home, ".triton", "cache"))


def _file(cell: Cell) -> str:
    return f"{cell.name}-{cell.level}"


def _digest(variants: Generated) -> str:
    """A hash of all that decides what is compiled for a cell."""
    kernels = Path(__file__).parent.parent / "engine" / "triton"
    gpus = Path("/proc/driver/nvidia/gpus").glob("*/information")
    triton = find_spec("triton")
    versioned = [Path(triton.origin)] if triton and triton.origin else []
    files = [*sorted(kernels.glob("*.py")), *sorted(gpus), *versioned]
    suite = variants.suite
    said = repr((suite.content_hash(), variants.stored))
    return sha256(b"".join([said.encode(), *(file.read_bytes() for file in files)])).hexdigest()


def compile_kernels(job: KernelJob) -> None:
    """Note what each cell launches, on images without pixels, and compile it, many at a time."""
    import torch
    from triton.backends.compiler import GPUTarget
    from triton.runtime.driver import driver

    from hardy.engine.triton.points import looked_up

    if not torch.cuda.is_available() or torch.version.cuda is None:
        return
    major, minor = torch.cuda.get_device_capability()
    driver.set_active(cast(Any, _Target(GPUTarget("cuda", 10 * major + minor, 32))))
    side = job.variants.suite.edition.side
    crowd, known = _Crowd(processors()), 0
    for count in (job.images, 1):  # the worst images are made again, one by one
        pixels = torch.empty((count, side, side, 3), dtype=torch.uint8, device="meta")
        looked_up(pixels, torch.empty((3, 256), device="meta"))  # as models have it done
        chunk = job.variants.without_pixels(pixels)
        for cell in job.cells:
            with contextlib.suppress(Exception):  # told when the cell is made
                chunk.make(cell)
            for compile_one in _newly_noted(known):
                # What Triton finds out for its first kernel, forks shall know.
                crowd.begin(compile_one) if known else compile_one()
                known += 1
    if crowd.did_all():
        job.done.mkdir(parents=True, exist_ok=True)
        for cell in job.cells:
            (job.done / _file(cell)).touch()


def _newly_noted(known: int) -> Iterator[Callable[[], object]]:
    """What compiles the kernels that were noted after so many others."""
    from hardy.engine.triton.launch import noted

    for kernel, arguments, options in islice(noted.values(), known, None):
        yield partial(_compile, partial(kernel.warmup, *arguments, grid=(1,), **options))


def _compile(compile_kernel: Callable[[], Any]) -> None:
    """Compile a kernel, and what launches it: up to 3.6, Triton has a C compiler make that."""
    from triton.backends.nvidia.driver import CudaLauncher

    compiled = compile_kernel()
    with contextlib.suppress(Exception):
        CudaLauncher(compiled.src, compiled.metadata)


class _Crowd:
    """Forked processes, each for one task: they have loaded already what takes long to load."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._working = 0
        self._failed = False

    def begin(self, task: Callable[[], object]) -> None:
        if self._working == self._most:
            self._wait()
        self._working += 1
        if os.fork() == 0:
            try:
                task()
                os._exit(0)
            finally:
                os._exit(1)

    def did_all(self) -> bool:
        while self._working:
            self._wait()
        return not self._failed

    def _wait(self) -> None:
        self._failed |= os.wait()[1] != 0
        self._working -= 1


class _Target(NamedTuple):
    """Stands for Triton's driver: one that runs nothing, and so takes no memory of a GPU."""

    target: Any

    def get_current_target(self) -> Any:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


if __name__ == "__main__":
    compile_kernels(pickle.load(sys.stdin.buffer))
