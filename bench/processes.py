"""Measurements that need fresh processes: import, first call, memory, threads against processes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from bench.photos import crops
from bench.timing import BATCH, SEVERITIES, Repeats, Spread

MEMORY_BATCH = 64
WORST_SEVERITY = 5
PASSES = 2  # over the 15 x 5 mix per measurement: about a second per worker


def _command(task: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", "bench.child", task, *map(str, arguments)]


def _ask(task: str, *arguments: object, given: bytes = b"") -> dict[str, Any]:
    done = subprocess.run(
        _command(task, *arguments), input=given, capture_output=True, check=False, timeout=300
    )
    if done.returncode:
        raise RuntimeError(f"bench.child {task} {arguments} failed:\n{done.stderr.decode()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def import_time(repeats: Repeats) -> dict[str, Any]:
    """Wall seconds of `import hardy` in a fresh interpreter, and the heavy modules it pulled in."""
    answers = [_ask("import") for _ in range(max(repeats.fresh, 3) + 1)][1:]  # the first fills .pyc
    return {
        "seconds": Spread.of([answer["seconds"] for answer in answers]),
        "modules": answers[0]["modules"],
    }


def first_calls(names: Sequence[str], repeats: Repeats) -> dict[str, Spread]:
    """Wall seconds from before `import hardy` to the first result, the disk cache being warm."""
    photo = crops(1)[0].tobytes()
    found = {}
    for name in names:
        _ask("first", name, WORST_SEVERITY, given=photo)  # fills the disk cache
        found[name] = Spread.of(
            [
                _ask("first", name, WORST_SEVERITY, given=photo)["seconds"]
                for _ in range(repeats.fresh)
            ]
        )
    return found


def memory(names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Per corruption, one fresh process each: peak and growth in MB for a batch of 64 at 224."""
    return {name: _ask("memory", name, WORST_SEVERITY, MEMORY_BATCH) for name in names}


class _Crew:
    """Warm child processes that do their share of the mix each time they are told to go."""

    def __init__(
        self, stack: ExitStack, shares: Sequence[tuple[int, int]], names: Sequence[str]
    ) -> None:
        self.threads = sum(threads for threads, _ in shares)
        self.children = [
            stack.enter_context(
                subprocess.Popen(
                    _command("mix", threads, PASSES, BATCH, start, *names),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for threads, start in shares
        ]
        self._hear()

    def _hear(self) -> None:
        for child in self.children:
            assert child.stdout is not None
            if not child.stdout.readline():
                raise RuntimeError("bench.child mix ended early; its error is above")

    def images_per_second(self, count: int) -> float:
        start = time.perf_counter()
        for child in self.children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        self._hear()
        return count * self.threads / (time.perf_counter() - start)


def threads_against_processes(names: Sequence[str], repeats: Repeats) -> dict[str, Spread]:
    """Images/s (wall) of two threads in one process and of two processes, in turn, and their ratio.

    Both do exactly the same work; nothing is pinned. The idle crew sleeps on its input meanwhile.
    """
    count = PASSES * BATCH * len(names) * len(SEVERITIES)
    rates: dict[str, list[float]] = {"one": [], "threads": [], "processes": []}
    with ExitStack() as stack:
        crews = {
            "one": _Crew(stack, [(1, 0)], names),
            "threads": _Crew(stack, [(2, 0)], names),
            "processes": _Crew(stack, [(1, 0), (1, 1)], names),
        }
        for repeat in range(repeats.processes):
            for kind in list(crews)[:: -1 if repeat % 2 else 1]:
                rates[kind].append(crews[kind].images_per_second(count))
    ratios = [a / b for a, b in zip(rates["threads"], rates["processes"], strict=True)]
    return {kind: Spread.of(values) for kind, values in (rates | {"ratio": ratios}).items()}
