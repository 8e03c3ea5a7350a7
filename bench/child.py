"""What runs in a fresh process; `bench.processes` starts it and reads one JSON line per answer.

    python -m bench.child import
    python -m bench.child first NAME SEVERITY     (224 x 224 x 3 raw bytes on standard input)
    python -m bench.child memory NAME SEVERITY BATCH
    python -m bench.child mix THREADS PASSES BATCH START NAME...   (one pass set per line of input)

Nothing heavy is imported at the top: the import of hardy is itself measured.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

HEAVY = ("torch", "numba", "llvmlite", "cv2", "scipy", "skimage", "PIL", "numpy")


def answer(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def import_only() -> None:
    start = time.perf_counter()
    import hardy  # noqa: F401

    seconds = time.perf_counter() - start
    answer(seconds=seconds, modules=[name for name in HEAVY if name in sys.modules])


def first(name: str, severity: int) -> None:
    """The time from before `import hardy` to the first corrupted picture."""
    raw = sys.stdin.buffer.read()
    start = time.perf_counter()
    import numpy as np

    import hardy

    hardy.corrupt(np.frombuffer(raw, np.uint8).reshape(224, 224, 3).copy(), name, severity)
    answer(seconds=time.perf_counter() - start)


def resident_mb() -> tuple[float, float]:
    """(now, highest so far) of this process image.

    /proc, not getrusage, where there is one: on Linux `ru_maxrss` survives exec, so a child of a
    big process reports its parent's peak.
    """
    try:
        with open("/proc/self/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        now, peak = (int(fields[key].split()[0]) / 1024 for key in ("VmRSS", "VmHWM"))
        return now, peak
    except FileNotFoundError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS
        return peak, peak


def memory(name: str, severity: int, batch: int) -> None:
    """Peak of the whole process, and its growth from just before the batch is created."""
    import numpy as np

    import hardy
    from bench.photos import crops

    photos = crops(8)
    before, _ = resident_mb()
    images = photos[np.arange(batch) % len(photos)]
    hardy.corrupt(images, name, severity)
    _, peak = resident_mb()
    answer(peak_mb=peak, growth_mb=peak - before)


def mix(threads: int, passes: int, batch: int, start: int, names: list[str]) -> None:
    """All severities of `names`, in batches, by each of `threads` threads at once."""
    from concurrent.futures import ThreadPoolExecutor

    import hardy
    from bench.photos import crops

    todo = [(name, severity) for name in names for severity in (1, 2, 3, 4, 5)]
    photos = crops(batch * (start + threads))

    def work(worker: int, repeats: int) -> None:
        ids = range(worker * batch, (worker + 1) * batch)
        images = photos[ids.start : ids.stop]
        # Half a list apart, so that two workers do not run the same corruption in step.
        shift = worker * len(todo) // 2
        for _ in range(repeats):
            for name, severity in todo[shift:] + todo[:shift]:
                hardy.corrupt(images, name, severity, ids=ids)

    workers = range(start, start + threads)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, workers, [1] * threads))
        answer(ready=True)
        for _ in sys.stdin:
            list(pool.map(work, workers, [passes] * threads))
            answer(done=True)


def main(task: str, *arguments: str) -> None:
    if task == "import":
        import_only()
    elif task == "first":
        first(arguments[0], int(arguments[1]))
    elif task == "memory":
        memory(arguments[0], int(arguments[1]), int(arguments[2]))
    elif task == "mix":
        threads, passes, batch, start = (int(argument) for argument in arguments[:4])
        mix(threads, passes, batch, start, list(arguments[4:]))
    else:
        raise SystemExit(f"unknown task {task!r}; tasks: import, first, memory, mix")


if __name__ == "__main__":
    main(*sys.argv[1:])
