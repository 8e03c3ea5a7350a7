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

from soak.harness import Accepted, Work
from soak.mutations import mutate
from soak.read_images import (
    read_built,
    read_built_array,
    read_built_header,
    read_clip,
    read_mirrored,
    read_numbered,
    read_pack,
    read_picture,
    read_right_classes,
    read_set,
    read_set_around,
    read_with_labels,
)
from soak.read_models import (
    read_hf,
    read_image_text_model,
    read_kept_texts,
    read_keras,
    read_linear,
    read_onnx,
    read_state,
    read_tflite,
)
from soak.read_records import (
    read_brought_points,
    read_card,
    read_experiment,
    read_model_drops,
    read_model_list,
    read_model_table,
    read_overlap_matrix,
    read_performances,
    read_result,
    read_sentences,
    read_stored_run,
    read_suite,
    read_trained,
    read_training_log,
)

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
    needs: str = ""  # a package, without which it is left out


TEXTS, WEIGHTS, MODELS = CORPUS / "texts", CORPUS / "weights", CORPUS / "models"
NUMBERED = CORPUS / "numbered"
TORCH, HF = "torch", "transformers"
SAMPLED, OVERLAP = CORPUS / "sampled", CORPUS / "overlap"
PACKS = CORPUS / "packs"
SETS, RUN, BUILT = CORPUS / "image_sets", CORPUS / "store/run", CORPUS / "store/built"
TARGETS = {
    **{
        f"image .{suffix}": Target("head", read_picture, CORPUS / f"pictures/picture.{suffix}")
        for suffix in ("png", "jpg", "tif", "gif", "webp", "bmp", "ppm", "jp2", "avif")
    },
    "set .npy": Target("npy", read_set, SETS / "set.npy"),
    "set .npz": Target("zip", read_set, SETS / "set.npz"),
    "set .npz, compressed": Target("zip", read_set, SETS / "packed.npz"),
    "set .tar": Target("head", read_set, SETS / "set.tar"),
    "set .parquet": Target("parquet", read_set, SETS / "set.parquet"),
    "set .arrow": Target("head", read_set_around, SETS / "saved", "*.arrow"),
    "set CIFAR, python": Target("head", read_set, SETS / "test_batch"),
    "set CIFAR, binary": Target("head", read_set, SETS / "test_batch.bin"),
    **{
        f"{what} of a {format} pack": Target(kind, read_pack, PACKS / format, file, sealed=True)
        for format in ("jpeg", "raw")
        for what, kind, file in (
            ("header", "json", "pack.json"),
            ("listing", "json", "00000.json"),
            ("shard", "head", "00000.images"),
        )
    },
    "labels .npy": Target("npy", read_with_labels, SETS / "labels.npy"),
    "labels .csv": Target("text", read_set_around, SETS / "named", "labels.csv"),
    "labels of Tiny ImageNet": Target("text", read_set_around, SETS / "tiny", "val_*.txt"),
    "labels, numbered": Target("text", read_numbered, NUMBERED / "csv", "numbers.txt"),
    "label map .csv": Target("text", read_numbered, NUMBERED / "csv", "label_map.csv"),
    "label map .json": Target("json", read_numbered, NUMBERED / "json", "label_map.json"),
    "label map .mat": Target("head", read_numbered, NUMBERED / "mat", "meta.mat", needs="scipy"),
    "labels of ReaL": Target("json", read_right_classes, NUMBERED / "csv", "real.json"),
    "suite": Target("toml", read_suite, TEXTS / "mine.toml"),
    "models": Target("toml", read_model_table, TEXTS / "models.toml"),
    "models .txt": Target("text", read_model_list, TEXTS / "models.txt"),
    "prompts": Target("text", read_sentences, TEXTS / "prompts.txt"),
    "points": Target("text", read_brought_points, TEXTS / "points.csv"),
    "model card": Target("text", read_card, TEXTS / "README.md", needs="yaml"),
    "matrix": Target("text", read_overlap_matrix, TEXTS / "matrix.csv"),
    "drops": Target("text", read_model_drops, TEXTS / "drops.csv"),
    "performances": Target("text", read_performances, TEXTS / "performances.csv"),
    "training log": Target("lines", read_training_log, TEXTS / "log.jsonl", needs=TORCH),
    "result": Target("json", read_result, CORPUS / "store/result.json"),
    "run.json": Target("json", read_stored_run, RUN, "run.json", sealed=True),
    "session": Target("json", read_stored_run, RUN, "sessions/*.json", sealed=True),
    "images.parquet": Target("parquet", read_stored_run, RUN, "images.parquet", sealed=True),
    "part": Target("parquet", read_stored_run, RUN, "parts/*.parquet", sealed=True),
    "sampled run.json": Target("json", read_stored_run, SAMPLED, "run.json", sealed=True),
    "sampled session": Target("json", read_stored_run, SAMPLED, "sessions/*.json", sealed=True),
    "sampled part": Target("parquet", read_stored_run, SAMPLED, "parts/*.parquet", sealed=True),
    "overlap experiment": Target(
        "json", read_experiment, OVERLAP, "experiment.json", needs="torch"
    ),
    "overlap features": Target("zip", read_experiment, OVERLAP, "features.npz", needs=TORCH),
    "corrupted.jsonl": Target("lines", read_mirrored, CORPUS / "mirror/out", "corrupted.jsonl"),
    "worst.parquet": Target("parquet", read_stored_run, RUN, "worst.parquet"),
    "run of 0.1.0": Target("json", read_stored_run, BEFORE / "runs", "*/run.json"),
    "attack of 0.1.0": Target("json", read_stored_run, BEFORE / "runs", "*/attack-*.json"),
    "manifest.json": Target("json", read_built_header, BUILT, "manifest.json", sealed=True),
    "manifest.jsonl": Target("lines", read_built, BUILT, "manifest.jsonl"),
    "files .npy": Target("npy", read_built_array, BUILT, "contrast.npy"),
    "files .mp4": Target("head", read_clip, CORPUS / "video/clip.mp4", needs="av"),
    "onnx": Target("head", read_onnx, WEIGHTS / "net.onnx", needs="onnxruntime"),
    "tflite": Target("head", read_tflite, WEIGHTS / "net.tflite", needs="ai_edge_litert"),
    "weights .safetensors": Target(
        "head", read_state, WEIGHTS / "net.safetensors", sealed=True, needs="torch"
    ),
    "weights .pt": Target("zip", read_state, WEIGHTS / "net.pt", needs=TORCH),
    "linear .npz": Target("zip", read_linear, MODELS / "linear.npz"),
    "linear .safetensors": Target(
        "head", read_linear, MODELS / "linear.safetensors", sealed=True, needs="torch"
    ),
    "keras": Target("zip", read_keras, MODELS / "net.keras"),
    "text features": Target("zip", read_kept_texts, MODELS / "texts.npz", sealed=True),
    "hf config": Target("json", read_hf, MODELS / "hf", "config.json", needs=HF),
    "hf processor": Target("json", read_hf, MODELS / "hf", "pre*.json", needs="transformers"),
    "clip config": Target(
        "json", read_image_text_model, MODELS / "clip", "config.json", needs="transformers"
    ),
    "training run.json": Target(
        "json", read_trained, WEIGHTS / "run.json", sealed=True, needs="torch"
    ),
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

    return tuple(
        name
        for name, target in TARGETS.items()
        if (not target.needs or find_spec(target.needs)) and ("avif" not in name or _has_avif())
    )


def _has_avif() -> bool:
    from PIL import features

    return "avif" in features.get_supported()  # older ones warn of names they do not know


def make_reading() -> Work:
    """The work of a worker: every reader."""
    return Reading(names())
