"""`python -m bench.coco [--quick]`: a tree of photographs of COCO's size, beside the peers.

One `hardy.corrupt_files` of 100 photographs, 640 x 480, under 15 corruptions at 5 severities; and
what corruptions alone cost. The full run writes bench/results/coco.md and coco.json; --quick takes
few photographs, prints the same and writes nothing. The exit status is 1 when a bar fails.
"""

from __future__ import annotations

import argparse
import io
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import hardy
from bench import peer as peers
from bench.bars import Bar
from bench.cpu import RESULTS, commit, machine, versions
from bench.displacement import displacements
from bench.peer import Peer, frost_folder
from bench.photos import photographs
from bench.table import grid
from bench.timing import SEVERITIES, Spread, cells, cpu_ms
from hardy.corrupt import CORRUPTIONS
from hardy.files import write_file, write_record

WIDTH, HEIGHT = 640, 480
EDITION = "224"  # the peers have these constants at any size
TIMES_FASTER = 10
Images = NDArray[np.uint8]
Corrupt = Callable[[Images, str, int], Images]


@dataclass(frozen=True)
class Photographs:
    """How many each of them sees; the peers' time per image is from fewer."""

    run: int  # the whole run, with files
    hardy: int
    newest: int
    peer: int  # minutes per photograph: its glass_blur is a loop in Python


FULL, QUICK = Photographs(100, 25, 5, 2), Photographs(2, 3, 1, 1)


def write_tree(folder: Path, photos: Sequence[Images]) -> None:
    (folder / "val2017").mkdir(parents=True)
    for number, photo in enumerate(photos):
        Image.fromarray(photo).save(folder / f"val2017/{number:012}.jpg", quality=95)


def run_hardy(photos: Sequence[Images]) -> dict[str, float]:
    """CPU and wall seconds of one call over the whole tree; the first tree compiles."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        for name, some in (("warm", photos[:1]), ("coco", photos)):
            write_tree(folder / name, some)
            began = time.perf_counter(), time.process_time()
            made = hardy.corrupt_files(
                folder / name, folder / f"{name}-c", "counted", edition=EDITION, keep_format=True
            )
            cpu, wall = time.process_time() - began[1], time.perf_counter() - began[0]
            written = [path.stat().st_size for path in (folder / f"{name}-c").rglob("*.jpg")]
            if made.done != 75 * len(some) or made.bad:
                raise SystemExit(f"the run is not whole: {made}")
    return {"cpu_s": cpu, "wall_s": wall, "images": made.done, "bytes": sum(written)}


def codec_ms(photos: Sequence[Images]) -> dict[str, float]:
    """What a loop around a peer has to do besides, as cheaply as it can: decode a photograph once,
    encode each image that is made of it."""
    began = time.process_time()
    files = [_encoded(photo) for photo in photos]
    between = time.process_time()
    for file in files:
        np.asarray(Image.open(file).convert("RGB"))
    decode, encode = time.process_time() - between, between - began
    return {"decode": 1e3 * decode / len(photos), "encode": 1e3 * encode / len(photos)}


def _encoded(photo: Images) -> io.BytesIO:
    file = io.BytesIO()
    Image.fromarray(photo).save(file, "JPEG", quality=85, optimize=True)  # as `hardy corrupt` does
    return file


def corruption_ms(
    corrupt: Corrupt, names: Sequence[str], photos: Sequence[Images]
) -> dict[str, list[dict[str, float]]]:
    """The spread of each severity, by corruption; a call before them has warmed it up."""
    corrupted: dict[str, list[dict[str, float]]] = {}
    for name, severity in cells(names):
        if name not in corrupted:
            corrupt(photos[0], name, 3)
        times = [cpu_ms(partial(corrupt, one, name, severity), one.shape) for one in photos]
        corrupted.setdefault(name, []).append(Spread.of(times).as_dict())
    return corrupted


def way_of_spots(peer: Peer) -> dict[str, list[list[float]]]:
    """Mean and greatest displacement by severity, of those that move pixels."""

    def theirs(images: Images, name: str, severity: int) -> Images:
        made = []
        for number, image in enumerate(images):
            np.random.seed(number)  # it draws from the global generator
            made.append(peer(image, name, severity))
        return np.stack(made)

    found: dict[str, list[list[float]]] = {}
    moving = [name for name in peer.counted if CORRUPTIONS[name].moves != "nothing"]
    for label, call, names in (
        ("", partial(hardy.corrupt, edition=EDITION), moving),
        (f" of {peers.VERSION}", theirs, ("elastic_transform",)),
    ):
        for name, severity in cells(names):
            way = displacements(
                partial(call, name=name, severity=severity), (HEIGHT, WIDTH), count=10
            )
            row = found.setdefault(f"{name}{label}", [])
            row.append([float(np.nanmean(way)), float(np.nanmax(way))])
    return found


def measure(seen: Photographs) -> dict[str, Any]:
    # The load first, before this run adds to it.
    results: dict[str, Any] = {"machine": machine(), "versions": versions(), "commit": commit()}
    peer = Peer()
    os.environ.setdefault("HARDY_TEXTURES", str(frost_folder()))
    photos = photographs(seen.run, WIDTH, HEIGHT)
    many = photographs(seen.hardy, WIDTH, HEIGHT)
    ids = count()

    def ours(image: Images, name: str, severity: int) -> Images:
        return hardy.corrupt(image, name, severity, ids=next(ids), edition=EDITION)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results |= {
            "photographs": asdict(seen),
            "run": run_hardy(photos),
            "codec": codec_ms(many),
            "hardy": corruption_ms(ours, peer.counted, many),
            "newest": corruption_ms(peer.newest, peer.counted, many[: seen.newest]),
            "peer": corruption_ms(peer, peer.counted, many[: seen.peer]),
            "moved": way_of_spots(peer),
        }
    return results


def per_image(side: dict[str, list[dict[str, float]]]) -> float:
    """Mean over all cells of the median over photographs."""
    return float(np.mean([spread["median"] for row in side.values() for spread in row]))


def whole_run_ms(results: dict[str, Any]) -> dict[str, float]:
    """Milliseconds per image, files included: hardy's measured, the peers' added up."""
    files = results["codec"]["encode"] + results["codec"]["decode"] / 75
    return {
        "hardy": 1e3 * results["run"]["cpu_s"] / results["run"]["images"],
        "newest": per_image(results["newest"]) + files,
        "peer": per_image(results["peer"]) + files,
    }


def judge(results: dict[str, Any]) -> list[Bar]:
    mine, whole = per_image(results["hardy"]), whole_run_ms(results)
    bars = []
    for side, name in (("peer", f"imagecorruptions {peers.VERSION}"), ("newest", peers.NEWEST)):
        other = per_image(results[side])
        bars += [
            Bar(
                f"corrupting at least {TIMES_FASTER} times as fast as {name}",
                f"{other / mine:.1f} times, {mine:.2f} ms per image against {other:.1f}",
                other / mine >= TIMES_FASTER,
            ),
            Bar(
                f"the run with files at least {TIMES_FASTER} times as fast as {name}",
                f"{whole[side] / whole['hardy']:.1f} times, {whole['hardy']:.2f} ms per image "
                f"against {whole[side]:.1f}",
                whole[side] / whole["hardy"] >= TIMES_FASTER,
            ),
        ]
    return bars


def page(results: dict[str, Any], bars: Sequence[Bar]) -> str:
    host, run, seen = results["machine"], results["run"], results["photographs"]
    libraries = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    rows = []
    for name in results["hardy"]:
        mine, other, newest = (
            per_image({name: results[s][name]}) for s in ("hardy", "peer", "newest")
        )
        rows.append(
            [name, f"{mine:.2f}", f"{other:.1f}", f"{other / mine:.1f}", f"{newest:.1f}",
             f"{newest / mine:.1f}"]
        )  # fmt: skip
    moved = [
        [name, *(f"{mean:.0f} ({most:.0f})" for mean, most in row)]
        for name, row in results["moved"].items()
    ]
    return f"""# A tree of COCO's size on a CPU, one thread

Machine: {host["cpu"]}, {host["cores"]} cores, load {host["load"]:.2f} at the start. {libraries}. \
Commit {results["commit"]}. Peers: imagecorruptions {peers.VERSION}, patched from outside to run \
on these libraries, and {peers.NEWEST} {peers.NEWEST_VERSION}.

{chr(10).join(f"* {bar}" for bar in bars)}

## One run

`hardy.corrupt_files` made {run["images"]:,} JPEG files of {seen["run"]} photographs of {WIDTH} x \
{HEIGHT}, 15 corruptions at 5 severities, with edition {EDITION}, whose constants the peers have \
at any size. It took {run["cpu_s"]:.1f} s of processor time, {run["wall_s"]:.0f} s by the clock on \
this busy machine: {1e3 * run["cpu_s"] / run["images"]:.2f} ms per image with reading, encoding, \
hashes and the manifest. The files have {run["bytes"] / run["images"] / 1e3:.0f} kB each. \
A loop around a peer has to decode each photograph once \
({results["codec"]["decode"]:.2f} ms) and to encode each image as JPEG of quality 85 \
({results["codec"]["encode"]:.2f} ms), which is added to its times above; no peer has such a \
loop. These are times of clean photographs, to which noise and hashes come in Hardy's run.

## By corruption

Process-CPU milliseconds per image, without files, one process, one thread, warm; medians over \
photographs, mean over severities. Hardy sees {seen["hardy"]} photographs, {peers.NEWEST} \
{seen["newest"]}, imagecorruptions {seen["peer"]}, because its glass_blur takes seconds.

{grid(["corruption", "hardy ms", f"{peers.VERSION} ms", "ratio", "newest ms", "ratio"], rows)}

## How far things move

Pixels at {WIDTH} x {HEIGHT} by which a spot moves, mean (greatest) over three places and ten \
images, by severity; the middle of a smear. The other corruptions move nothing. The \
elastic_transform of imagecorruptions lacks the affine step of ImageNet-C's.

{grid(["corruption", *map(str, SEVERITIES)], moved)}
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.coco", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few photographs; writes no files")
    quick = parser.parse_args().quick
    results = measure(QUICK if quick else FULL)
    bars = judge(results)
    text = page(results, bars)
    print(text)
    if not quick:
        write_record(RESULTS / "coco.json", results)
        write_file(RESULTS / "coco.md", text.encode())
    return 0 if all(bar.holds for bar in bars) else 1


if __name__ == "__main__":
    raise SystemExit(main())
