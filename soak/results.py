"""What the results of commands are, and whether they are what they should be."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

Results = dict[Any, Any]  # equal for equal work; each entry is one result


def tree(folder: str) -> Callable[[], Results]:
    """All files below a folder, hidden ones too."""

    def files() -> Results:
        found = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
        return {str(path): sha256(path.read_bytes()).hexdigest() for path in found}

    return files


def finished() -> Results:
    """The files that a build's manifest lists: it counts on them, and on nothing else."""
    manifest = Path("out/manifest.jsonl")
    lines = manifest.read_bytes().splitlines(keepends=True) if manifest.exists() else []
    if not (listed := [json.loads(line) for line in lines if line.endswith(b"\n")]):
        return {}
    images = json.loads(Path("out/manifest.json").read_text())["files"]
    names = {
        f"out/{cell.replace(':', '/')}/{Path(images[line['unit']]).with_suffix('.JPEG')}"
        for line in listed
        for cell in line["cells"]
    }
    files = tree("out")()
    return {name: files.get(name, "nothing") for name in sorted(names)}


def packed() -> Results:
    """The shards that have a listing: a pack counts on these, and on nothing else."""
    files = tree("out")()
    listed = [name.removesuffix(".json") for name in files if name.endswith(".json")]
    shards = {name: files.get(f"{name}.images", "nothing") for name in listed if "pack" not in name}
    return {f"{name}.images": sum for name, sum in shards.items()}


def mirrored() -> Results:
    """Corrupted files; the list of them may name them in any order."""
    files = tree("out")()
    listing = Path("out/corrupted.jsonl")
    if files.pop(str(listing), None):
        files |= dict.fromkeys(listing.read_text().splitlines(), True)
    return files


def predictions(store: str = "runs") -> Callable[[], Results]:
    """Every stored prediction."""

    def read() -> Results:
        from hardy.store.reader import READABLE, open_run

        found: Results = {}
        for record in sorted(Path(store).glob("*/run.json")):
            run = open_run(record.parent)
            for cell in run.cells:
                rows = np.flatnonzero(run.complete([cell]))
                read = run.read([cell], tuple(READABLE), rows)
                for place, row in enumerate(rows):
                    values = tuple(read[name][place].tobytes() for name in sorted(read))
                    found[run.identity.hash(), cell, run.ids[row]] = values
        return found

    return read


def scored(store: str = "runs") -> Callable[[], Results]:
    """The same, with scores and the worst images, and what is left over."""

    def read() -> Results:
        from hardy.scores.run_scores import score_run
        from hardy.store.parts import names_in
        from hardy.store.reader import open_run
        from hardy.store.sessions import parts_that_count

        found = predictions(store)()
        for record in sorted(Path(store).glob("*/run.json")):
            run = open_run(record.parent)
            scores = score_run(run)
            found["scores", record] = [(name, str(scores[name])) for name in scores]
            worst = record.with_name("worst.parquet")
            if worst.exists():  # samples and stores at URLs have none
                found["worst", record] = sha256(worst.read_bytes()).hexdigest()
            counting = {path.name for path in parts_that_count(record.parent)}
            found["left", record] = sorted({*names_in(record.parent / "parts")} - counting)
            found["unfinished", record] = [str(p) for p in record.parent.rglob(".*")]
        return found

    return read


def overlapped() -> Results:
    """The tables of an overlap, and all that they follow from."""
    tables = {str(path): path.read_bytes() for path in sorted(Path("out").glob("*.csv"))}
    return tables | predictions("out/predictions")()


def sent() -> Results:
    """A build at a URL, and what is left of it on this machine."""
    left = [name for name in tree("cache")() if not name.endswith(".lock")]
    return tree("objects/bucket/out")() | {("left", "cache"): left}


def trained() -> Results:
    files = tree("out")()
    for name in ("log.jsonl", "log.csv"):  # which say how long an epoch took
        files.pop(f"out/{name}", None)
    log = Path("out/log.jsonl")
    if log.exists():
        files["log"] = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    return files


def check_partly(partly: Callable[[], Results] | None, prepared: Results, wanted: Results) -> None:
    """Whether what is there in the middle of the work is a part of its result, and holds all that
    was there before."""
    from hardy.errors import HardyError
    from soak.harness import Accepted

    if partly is None:
        return
    try:
        found = partly()
    except HardyError:
        return  # told in a line: the run is not whole enough to be read
    if lost := [key for key, value in prepared.items() if found.get(key) != value]:
        raise Accepted(f"lost what was there before: {_some(lost)}")
    wrong = [key for key, value in found.items() if key in wanted and wanted[key] != value]
    if wrong:
        raise Accepted(f"wrong in the middle of the work: {_some(wrong)}")


def check_there(found: Results, wanted: Results) -> None:
    """Whether all results are there; what was swept may be there again."""
    from soak.harness import Accepted

    swept = ("left", "unfinished")
    lost = [k for k, v in wanted.items() if found.get(k) != v and k[0] not in swept]
    if lost:
        raise Accepted(f"lost after the end: {_some(lost)}")


def check_whole(found: Results, wanted: Results) -> None:
    from soak.harness import Accepted

    if found != wanted:
        differing = {*found, *wanted} if set(found) != set(wanted) else set(found)
        other = [key for key in differing if found.get(key, ...) != wanted.get(key, ...)]
        shown = [(key, found.get(key, "nothing"), wanted.get(key, "nothing")) for key in other]
        raise Accepted(f"another result in the end: {_some(shown)}")


def _some(things: Sequence[Any]) -> str:
    return f"{len(things)}, such as {str(things[0])[:200]}"
