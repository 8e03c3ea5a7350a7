"""`python -m bench.build [--quick]`: `hardy build imagenet_c` against JPEG encoding alone.

Both run in two processes, on the same outputs, in turns: half of the encoding, the build, the other
half. The full run writes bench/results/build.md and build.json; --quick takes few photographs,
prints the same and writes nothing. The exit status is 1 when the bar fails.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench.bars import Bar
from bench.cpu import RESULTS, commit, machine, versions
from bench.encoding import encode_alone, opencv, variants
from bench.peer import frost_folder
from bench.photos import PHOTOS, STEP_X, STEP_Y, folder
from bench.table import grid

LIMIT = 2.5
WORKERS = 2
CLOCKS = ("wall", "cpu")
FULL, QUICK = 1024, 128  # photographs
SIZE = (500, 375)  # the usual one in ImageNet
# Not a disk: on ext4, files are created ten times more slowly for minutes after as many others were
# deleted, and so a second run would measure the first one's cleaning up.
MEMORY = Path("/dev/shm")


def write_photos(target: Path, count: int) -> None:
    """Distinct crops of real photographs, as JPEG files in a class folder."""
    from PIL import Image

    (target / "n00000000").mkdir(parents=True)
    photos = []
    for package, name in PHOTOS:
        with Image.open(folder(package) / name) as image:
            photos.append(image.convert("RGB"))
    for k in range(count):
        photo = photos[k % len(photos)]
        width, height = min(SIZE[0], photo.width), min(SIZE[1], photo.height)
        left = int(k * STEP_X % 1 * (photo.width - width))
        top = int(k * STEP_Y % 1 * (photo.height - height))
        crop = photo.crop((left, top, left + width, top + height))
        crop.save(target / "n00000000" / f"photo_{k:05d}.JPEG", quality=92)


def build_time(photos: Path, out: Path) -> dict[str, float]:
    """Wall seconds of a build, and of its start: until the first images are there."""
    from hardy.execute import executor
    from hardy.suites.cells import choose_cells
    from hardy.variants.disk.build import build_cells

    made_by = variants(photos)
    first = 0.0
    began, cpu = time.perf_counter(), _cpu()

    def track(done: Any, *_: Any) -> Any:
        nonlocal first
        for one in done:
            first = first or time.perf_counter() - began
            yield one

    cells = choose_cells(made_by.suite)
    build_cells(made_by.suite, made_by.source, out, cells, executor=executor(WORKERS), track=track)
    wall, cpu = time.perf_counter() - began, _cpu() - cpu
    size = sum(path.stat().st_size for path in out.rglob("*.JPEG"))
    return {"wall": wall, "cpu": cpu, "first": first, "bytes": size}


def _cpu() -> float:
    """Seconds of this process and of all that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def steps(photos: Path, out: Path, count: int) -> dict[str, float]:
    """Process-CPU milliseconds per photograph and step, in one process, after a warm-up."""
    from hardy.suites.cells import choose_cells
    from hardy.variants.disk.layout import open_layout
    from hardy.variants.disk.manifest import WORKSHOP, content_hash, write_built
    from hardy.variants.disk.unit_groups import TOGETHER

    made_by = variants(photos)
    layout: Any = open_layout(made_by.suite, out, "jpeg", made_by.source, (224, 224, 3))
    (out / WORKSHOP).mkdir(parents=True)
    clock = Laps()
    for start in range(0, count + TOGETHER, TOGETHER):
        indices = list(range(start, start + TOGETHER))
        clock.begin()
        chunk = made_by.chunk(indices)
        clock.lap("decode, resize, crop")
        for cell in choose_cells(made_by.suite):
            made = chunk.make(cell)
            clock.lap("corrupt")
            files = [opencv(image) for image in made]
            clock.lap("encode")
            for file in files:
                content_hash(file)
            clock.lap("hash")
            for index, file in zip(indices, files, strict=True):
                write_built(str(out), layout.path(index, cell), file)
            clock.lap("write files")
        if start == 0:
            clock.seconds.clear()
    return {step: 1e3 * seconds / count for step, seconds in clock.seconds.items()}


class Laps:
    """Process-CPU seconds per step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def begin(self) -> None:
        self._last = time.process_time()

    def lap(self, step: str) -> None:
        now = time.process_time()
        self.seconds[step] += now - self._last
        self._last = now


def measure(count: int, place: Path) -> dict[str, Any]:
    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    results: dict[str, Any] = {"machine": machine(), "versions": versions(), "commit": commit()}
    os.environ.setdefault("HARDY_TEXTURES", str(frost_folder()))
    scratch = Path(tempfile.mkdtemp(dir=place, prefix="hardy-bench-"))
    try:
        photos = scratch / "photos"
        say(f"{count} photographs ...")
        write_photos(photos, count)
        say("encoding alone, first half ...")
        halves = [encode_alone(photos, range(count // 2), WORKERS)]
        say("build ...")
        results["build"] = build_time(photos, scratch / "out")
        say("encoding alone, second half ...")
        halves.append(encode_alone(photos, range(count // 2, count), WORKERS))
        say("the steps ...")
        results["steps_ms"] = steps(photos, scratch / "steps", 64)
    finally:
        shutil.rmtree(scratch)
    return results | {
        "photos": count,
        "workers": WORKERS,
        "place": str(place),
        "alone": {key: halves[0][key] + halves[1][key] for key in halves[0]},
    }


def ratio(results: dict[str, Any], encoder: str, clock: str) -> float:
    found: float = results["build"][clock] / results["alone"][f"{encoder}_{clock}"]
    return found


def bar(results: dict[str, Any]) -> Bar:
    found = ratio(results, "pillow", "wall")
    return Bar(
        f"build imagenet_c, {WORKERS} workers, within {LIMIT} times JPEG encoding alone",
        f"{found:.2f}; {results['build']['wall']:.1f} s against "
        f"{results['alone']['pillow_wall']:.1f} s for {75 * results['photos']:,} outputs",
        found <= LIMIT,
    )


def page(results: dict[str, Any]) -> str:
    build, found, photos = results["build"], results["machine"], results["photos"]
    times = [["build", f"{build['wall']:.1f}", f"{build['cpu']:.1f}", "", ""]]
    for encoder in ("pillow", "opencv"):
        seconds = [f"{results['alone'][f'{encoder}_{clock}']:.1f}" for clock in CLOCKS]
        ratios = [f"{ratio(results, encoder, clock):.2f}" for clock in CLOCKS]
        times.append([f"encoding, {encoder}", *seconds, *ratios])
    rows = [[step, f"{ms:.1f}"] for step, ms in results["steps_ms"].items()]
    rows.append(["all", f"{sum(results['steps_ms'].values()):.1f}"])
    libraries = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    return "\n".join(
        [
            "# hardy build imagenet_c",
            "",
            f"Machine: {found['cpu']}, {found['cores']} cores, load {found['load']:.2f} at the "
            f"start. {libraries}. Commit {results['commit']}.",
            "",
            f"* {bar(results)}",
            "",
            f"{photos:,} JPEG photographs of {SIZE[0]} x {SIZE[1]}, 75 outputs each, "
            f"{results['workers']} workers: {75 * photos / build['wall']:,.0f} outputs/s, "
            f"{build['bytes'] / 1e6:,.0f} MB written to {results['place']}. The start of the "
            f"workers is in it: the first images were there after {build['first']:.1f} s.",
            "",
            "Encoding alone: the outputs are in memory, as many processes encode them together, "
            "half of them before the build and half after. Both encoders are libjpeg-turbo at "
            "quality 85, 4:2:0, with optimised Huffman tables, and their files decode to the same "
            "pixels. Pillow's is the one that the benchmark was written with; OpenCV's is faster, "
            "and the build uses it. CPU seconds are those of all processes together; they hold "
            "where others use the machine too.",
            "",
            grid(["", "wall s", "CPU s", "build / it, wall", "CPU"], times),
            "",
            "Where a worker's time goes: process-CPU milliseconds per photograph, in one process.",
            "",
            grid(["step", "ms"], rows),
            "",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.build", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few photographs; writes no files")
    parser.add_argument("--scratch", type=Path, default=MEMORY if MEMORY.is_dir() else None)
    options = parser.parse_args()
    quick: bool = options.quick
    results = measure(QUICK if quick else FULL, options.scratch or Path(tempfile.gettempdir()))
    text = page(results)
    print(text)
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "build.md").write_text(text)
        (RESULTS / "build.json").write_text(json.dumps(results, indent=1) + "\n")
    return 0 if bar(results).holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
