"""`python -m bench.gpu`: the GPU engine against the CPU's bytes, the copy limit, peers and a model.

    python -m bench.gpu reference build/gpu-reference    anywhere: the CPU engine's bytes, 53 MB
    python -m bench.gpu measure build/gpu-reference      on the GPU's machine; writes the results
    python -m bench.gpu page                             the page again, from the results

`measure` writes gpu.json and gpu.md to --out, whose results must be this machine's; the exit status
is 1 when a bar fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench import gpu_parity
from bench.cpu import RESULTS, commit, machine
from bench.gpu_page import judge, page
from hardy.files import write_file, write_record

STAGES = ("parity", "cells", "c_bar", "evaluation", "peers")
LIBRARIES = ("torch", "triton", "numpy")


def on_gpu() -> tuple[Any, Any]:
    """The engine, and how images come to it."""
    import torch

    from hardy.engine.torch.ops import torch_ops

    device = torch.device("cuda", 0)
    return torch_ops(device), lambda images: torch.from_numpy(images).to(device)


def compile_together(folder: Path) -> None:
    """One process compiles one kernel at a time; several fill the cache together."""
    count = min(12, os.cpu_count() or 1)
    command = [sys.executable, "-m", "bench.gpu", "warm", str(folder), "--share"]
    started = [subprocess.Popen([*command, str(k), str(count)]) for k in range(count)]
    for process in started:
        process.wait()


def versions() -> dict[str, str]:
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "unknown"
    return found


def hardware() -> dict[str, Any]:
    import torch

    properties = torch.cuda.get_device_properties(0)
    return machine() | {
        "gpu": properties.name,
        "gpu_memory": properties.total_memory,
        "cuda": torch.version.cuda,
        "python": sys.version.split()[0],
    }


def begun(target: Path) -> dict[str, Any]:
    """The results so far; only the load may have been another when they were measured."""
    here = {"machine": hardware(), "versions": versions()}
    if not target.exists():
        return here
    results: dict[str, Any] = json.loads(target.read_text())
    changed = [
        f"{name} is {here[kind].get(name)!r} here and was {results[kind].get(name)!r}"
        for kind in here
        for name in sorted({*here[kind], *results[kind]} - {"load"})
        if here[kind].get(name) != results[kind].get(name)
    ]
    if changed:
        raise SystemExit(
            f"{target} holds what was measured elsewhere: {', '.join(changed)}; name another --out"
        )
    return results


def measure(options: argparse.Namespace) -> int:
    target = options.out / "gpu.json"
    results = begun(target)
    commits = results.setdefault("commits", {})  # by what was measured

    def keep(name: str, found: Any) -> None:
        """At once: what comes later may fail."""
        results[name], commits[name] = found, commit()
        write_record(target, results)
        print(f"{name}: {time.monotonic() - began:.0f} s so far", flush=True)

    began = time.monotonic()
    if {"parity", "cells", "c_bar"} & set(options.only):
        compile_together(options.folder)
        print(f"{time.monotonic() - began:.0f} s of compilation", flush=True)
    if "parity" in options.only:
        keep("reference", (options.folder / gpu_parity.MADE_BY).read_text())
        keep("parity", gpu_parity.compare(*on_gpu(), options.folder))
    if "cells" in options.only:
        from bench import gpu_speed

        keep("cells", {chosen: gpu_speed.measure(chosen) for chosen in ("224", "cifar")})
    if "c_bar" in options.only:
        from bench import gpu_speed

        keep("c_bar", gpu_speed.measure("c_bar"))
    if "evaluation" in options.only:
        from bench import gpu_eval

        for row in gpu_eval.measure(options.images, options.steps):
            # Beside the earlier ones, so that their spread is seen.
            keep("evaluation", [*results.get("evaluation", []), row | {"commit": commit()}])
    if "peers" in options.only:
        from bench import gpu_peers

        keep("peers", gpu_peers.measure())
    return write_page(target)


def write_page(target: Path) -> int:
    results = json.loads(target.read_text())
    bars = judge(results)
    text = page(results, bars)
    write_file(target.with_suffix(".md"), text.encode())
    print(text)
    return 0 if all(bar.holds for bar in bars) else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("what", choices=["reference", "warm", "measure", "page"])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/gpu-reference"))
    parser.add_argument("--only", nargs="*", default=STAGES, choices=STAGES)
    parser.add_argument("--images", type=int, nargs="*", default=[8192])
    parser.add_argument("--steps", nargs="*", default=["on", "off"], choices=["on", "off"])
    parser.add_argument("--share", type=int, nargs=2, default=(0, 1), metavar=("K", "OF"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.what == "page":
        return write_page(options.out / "gpu.json")
    if options.what == "reference":
        gpu_parity.write_reference(options.folder)
        return 0
    os.environ["HARDY_TEXTURES"] = str(options.folder.resolve())
    if options.what == "warm":
        gpu_parity.warm(*on_gpu(), *options.share)
        return 0
    return measure(options)


if __name__ == "__main__":
    raise SystemExit(main())
