"""Every reader and record of Hardy, with a valid file to damage and what is done with it.

Where a file has sums, what was read of it is compared with what the undamaged file says: a reader
that gives other numbers without a word has failed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from soak.harness import Accepted, Work
from soak.mutations import mutate

CORPUS = Path(__file__).parent / "corpus"
BEFORE = Path(__file__).parents[1] / "tests/fixtures/v0_1"

Read = Callable[[Path], Any]  # of the damaged file, in a folder of its own; gives what was read


@dataclass(frozen=True)
class Target:
    kind: str  # of its format, see `soak.mutations`
    read: Read
    source: Path  # a file, or the folder that is copied around it
    file: str = ""  # in the folder; a pattern
    sealed: bool = False  # whether it has sums


def _image(path: Path) -> None:
    from hardy.images.image_files import read_image

    read_image(path)


def _set(path: Path, **options: Any) -> None:
    from hardy.images import open_images
    from hardy.images.labels import classes_of
    from hardy.suites import load

    for faults in (None, []):
        source = open_images(path, faults=faults, **options)
        source.describe()
        for row in range(min(len(source), 8)):
            source.read(row)
    if source.labels is not None:
        classes_of(load("cifar10_c"), source.labels, source.classes, len(source), own=True)


def _beside(name: str) -> Read:
    """The set of the file's folder, which it belongs to."""
    return lambda path: _set(path.parent if name == "." else path.parent / name)


def _labels(path: Path) -> None:
    shutil.copy(CORPUS / "image_sets/set.npy", path.parent / "set.npy")
    _set(path.parent / "set.npy", labels=path)


def _suite(path: Path) -> None:
    from hardy.suites import load
    from hardy.suites.cells import choose_cells

    suite = load(str(path))
    suite.content_hash()
    choose_cells(suite, ["all"])


def _models(path: Path) -> None:
    from hardy.models.model_lists import list_models

    list_models([str(path)])


def _run(path: Path) -> Any:
    from hardy.scores.run_scores import score_run
    from hardy.store.attack_files import read_attacks
    from hardy.store.reader import READABLE, open_run
    from hardy.store.worst_images import read_worst

    folder = next(above for above in path.parents if (above / "run.json").exists())
    run = open_run(folder)
    str(run.identity.hash())
    cells = [cell for cell in run.cells if run.frames(cell) is None]
    there = np.flatnonzero(run.complete(cells))
    read = run.read(cells, tuple(READABLE), there)
    read_worst(folder)
    read_attacks(run)
    notes = (run.seen, run.left_out, run.doubts, run.trained)
    scores = score_run(run)
    values = {name: read[name].tobytes() for name in read}
    said = [str(scores[name].value) for name in scores]
    return cells, there.tolist(), run.labels.tolist(), values, said, notes, run.details


def _built(path: Path) -> None:
    import hardy
    from hardy.progress import untracked
    from hardy.variants.stored import open_stored

    hardy.verify(path.parent, track=untracked)
    stored = open_stored(path.parent)
    for cell in stored.cells:
        stored.chunk([0]).make(cell)


def _header(path: Path) -> Any:
    from hardy.variants.disk.build_header import read_header

    header = read_header(path.parent)
    _built(path)
    return header


def _array(path: Path) -> None:
    from hardy.suites import load
    from hardy.variants.stored import open_stored

    for other in (path.parent / "manifest.json", path.parent / "manifest.jsonl"):
        other.unlink(missing_ok=True)
    stored = open_stored(path.parent, load("cifar10_c"))
    for cell in stored.cells:
        stored.chunk([0]).make(cell)


def _video(path: Path) -> None:
    from hardy.variants.disk.encode import read_video

    read_video(path)


def _onnx(path: Path) -> None:
    from hardy.models import load_model

    load_model(f"onnx:{path}")


def _tflite(path: Path) -> None:
    """What Hardy itself reads of it: LiteRT, which runs it, dies over some damaged files."""
    from hardy.errors import door
    from hardy.models.adapters.tflite_file import ends_in_softmax, stated_normalisation

    with door(path):
        ends_in_softmax(path.read_bytes())
        stated_normalisation(path.read_bytes())


def _weights(path: Path) -> Any:
    import torch

    from hardy.models.weight_files import read_weights
    from hardy.models.weights import load_checkpoint

    read = read_weights(path, "take another")
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    load_checkpoint(net, path, "take another")
    return {name: tensor.numpy().tobytes() for name, tensor in sorted(read.items())}


def _trained(path: Path) -> Any:
    from hardy.train.record import check_run, read_run, run_hash, seen_in
    from hardy.train.trained_model import trained_as

    record = read_run(path.parent)
    run_hash(path.parent)
    seen_in(path.parent)
    check_run(record, path)
    trained_as(record)
    return record


def _log(path: Path) -> None:
    from hardy.train.record import read_log

    read_log(path.parent)


def _results(path: Path) -> None:
    from hardy.report.submitted import find_results

    find_results([path])


def _matrix(path: Path) -> None:
    from hardy.design.independent_sets import select_independent
    from hardy.design.matrix import read_matrix

    select_independent(read_matrix(path), 0.5)


def _drops(path: Path) -> None:
    from hardy.design.drops import read_drops

    read_drops(path)


def _performances(path: Path) -> None:
    from hardy.scores.performance import performance

    performance(path).render("table")


WEIGHTS = CORPUS / "weights"
SETS, RUN, BUILT = CORPUS / "image_sets", CORPUS / "store/run", CORPUS / "store/built"
TARGETS = {
    **{
        f"image .{suffix}": Target("head", _image, CORPUS / f"pictures/picture.{suffix}")
        for suffix in ("png", "jpg", "tif", "gif", "webp", "bmp", "ppm", "jp2")
    },
    "set .npy": Target("npy", _set, SETS / "set.npy"),
    "set .npz": Target("zip", _set, SETS / "set.npz"),
    "set .npz, compressed": Target("zip", _set, SETS / "packed.npz"),
    "set .tar": Target("head", _set, SETS / "set.tar"),
    "set .parquet": Target("parquet", _set, SETS / "set.parquet"),
    "set .arrow": Target("head", _beside("."), SETS / "saved", "*.arrow"),
    "set CIFAR, python": Target("head", _set, SETS / "test_batch"),
    "set CIFAR, binary": Target("head", _set, SETS / "test_batch.bin"),
    "labels .npy": Target("npy", _labels, SETS / "labels.npy"),
    "labels .csv": Target("text", _beside("."), SETS / "named", "labels.csv"),
    "labels of Tiny ImageNet": Target("text", _beside("."), SETS / "tiny", "val_annotations.txt"),
    "suite": Target("toml", _suite, CORPUS / "texts/mine.toml"),
    "models": Target("toml", _models, CORPUS / "texts/models.toml"),
    "matrix": Target("text", _matrix, CORPUS / "texts/matrix.csv"),
    "drops": Target("text", _drops, CORPUS / "texts/drops.csv"),
    "performances": Target("text", _performances, CORPUS / "texts/performances.csv"),
    "training log": Target("lines", _log, CORPUS / "texts/log.jsonl"),
    "result": Target("json", _results, CORPUS / "store/result.json"),
    "run.json": Target("json", _run, RUN, "run.json", sealed=True),
    "session": Target("json", _run, RUN, "sessions/*.json", sealed=True),
    "images.parquet": Target("parquet", _run, RUN, "images.parquet", sealed=True),
    "part": Target("parquet", _run, RUN, "parts/*.parquet", sealed=True),
    "worst.parquet": Target("parquet", _run, RUN, "worst.parquet"),
    "run of 0.1.0": Target("json", _run, BEFORE / "runs", "*/run.json"),
    "attack of 0.1.0": Target("json", _run, BEFORE / "runs", "*/attack-*.json"),
    "manifest.json": Target("json", _header, BUILT, "manifest.json", sealed=True),
    "manifest.jsonl": Target("lines", _built, BUILT, "manifest.jsonl"),
    "files .npy": Target("npy", _array, BUILT, "contrast.npy"),
    "files .mp4": Target("head", _video, CORPUS / "video/clip.mp4"),
    "onnx": Target("head", _onnx, WEIGHTS / "net.onnx"),
    "tflite": Target("head", _tflite, WEIGHTS / "net.tflite"),
    "weights .safetensors": Target("head", _weights, WEIGHTS / "net.safetensors", sealed=True),
    "weights .pt": Target("zip", _weights, WEIGHTS / "net.pt"),
    "training run.json": Target("json", _trained, WEIGHTS / "run.json", sealed=True),
}


class Reading:
    """Damages the file of a case and reads it; made once in a worker."""

    def __init__(self, names: tuple[str, ...]) -> None:
        warnings.simplefilter("ignore")  # of Pillow and torch, about what is damaged
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        self.whole = {name: self._whole(TARGETS[name]) for name in names}

    def _whole(self, target: Target) -> str:
        """What the undamaged file says; all that reading imports is imported by it."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="hardy-soak-") as folder:
            return _digest(target.read(_lay_out(target, Path(folder))))

    def __call__(self, case: tuple[str, int], folder: Path) -> None:
        name, seed = case
        target = TARGETS[name]
        path = _lay_out(target, folder)
        before = path.read_bytes()
        after = mutate(before, target.kind, seed)
        path.write_bytes(after)
        found = target.read(path)
        if target.sealed and _still_sealed(target, after) and _digest(found) != self.whole[name]:
            raise Accepted("other contents than were written")


def _lay_out(target: Target, folder: Path) -> Path:
    """The file to damage, in a folder with what belongs to it."""
    if not target.file:
        return Path(shutil.copy(target.source, folder))
    shutil.copytree(target.source, folder, dirs_exist_ok=True)
    return sorted(folder.glob(target.file))[0]


def _still_sealed(target: Target, data: bytes) -> bool:
    """Whether a record still has its sum: without it, it may say what it likes."""
    if target.source.suffix == ".safetensors":
        return b"hardy_sha256" in data
    if target.kind != "json":
        return True
    try:
        return isinstance(content := json.loads(data), dict) and "sha256" in content
    except (ValueError, RecursionError):
        return False


def _digest(read: Any) -> str:
    return hashlib.sha256(repr(read).encode(errors="replace")).hexdigest()


@cache
def names() -> tuple[str, ...]:
    """The targets whose libraries are here."""
    from importlib.util import find_spec

    needs = {
        "files .mp4": "av",
        "onnx": "onnxruntime",
        "tflite": "ai_edge_litert",
        "weights": "torch",
        "training": "torch",
    }
    lacking = [start for start, module in needs.items() if find_spec(module) is None]
    return tuple(name for name in TARGETS if not name.startswith(tuple(lacking) or "\0"))


def make_reading() -> Work:
    """The work of a worker: every reader."""
    return Reading(names())
