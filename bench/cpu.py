"""`python -m bench.cpu [--quick]`: hardy against its peers on one core, every bar judged.

The full run writes bench/results/cpu.md and cpu.json; --quick takes few repeats, prints the same
and writes nothing. The exit status is 1 when a bar fails.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench import peer as peers
from bench import processes, timing
from bench.bars import judge, summarise
from bench.peer import Peer, frost_folder
from bench.table import page

RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("hardy", "numpy", "scipy", "scikit-image", "numba", "pillow", "setuptools")


def machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (FileNotFoundError, StopIteration):
        pass
    return {"cpu": model, "cores": os.cpu_count(), "load": os.getloadavg()[0]}


def versions() -> dict[str, str]:
    import cv2

    found = {"Python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "not installed"
    return found | {"OpenCV": cv2.__version__}


def commit() -> str:
    """The short hash, marked when tracked files differ from it; "unknown" without git."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], capture_output=True, text=True, check=True, cwd=RESULTS.parent
        )
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "..", ":!results")
        return git("rev-parse", "--short", "HEAD") + (" + changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def as_published() -> dict[str, str]:
    """Run it in a process of its own: the shim must not be there."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.peer"], capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def measure(repeats: timing.Repeats) -> dict[str, Any]:
    peer = Peer()
    # Read by hardy at its first frost, here and in the child processes: nothing is fetched.
    os.environ.setdefault("HARDY_TEXTURES", str(frost_folder()))

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    # The load first, before this run adds to it.
    results: dict[str, Any] = {
        "machine": machine(),
        "versions": versions(),
        "commit": commit(),
        "counted": list(peer.counted),
        "peer": {
            "version": peers.VERSION,
            "released": peers.RELEASED,
            "import": peer.published_import,
            "newest": f"{peers.NEWEST} {peers.NEWEST_VERSION} of {peers.NEWEST_RELEASED}",
        },
    }
    say("peer as published ...")
    results["peer"]["as_published"] = as_published()
    say("single calls, batches, CIFAR size ...")
    results |= summarise(timing.measure(peer, repeats), peer.counted, peer.names)
    say("two threads against two processes ...")
    results["threads"] = processes.threads_against_processes(peer.counted, repeats)
    say("import, first calls, memory ...")
    results["import"] = processes.import_time(repeats)
    results["first_call"] = processes.first_calls(peer.names, repeats)
    results["memory"] = processes.memory(peer.names)
    # Through JSON once, so that the page is made from exactly what is stored.
    plain: dict[str, Any] = json.loads(json.dumps(results, default=timing.Spread.as_dict))
    return plain


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cpu", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats; writes no files")
    quick = parser.parse_args().quick
    results = measure(timing.QUICK if quick else timing.FULL)
    bars = judge(results)
    text = page(results, bars)
    print(text)
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "cpu.md").write_text(text)
        (RESULTS / "cpu.json").write_text(json.dumps(results, indent=1) + "\n")
    return 0 if all(bar.holds for bar in bars) else 1


if __name__ == "__main__":
    raise SystemExit(main())
