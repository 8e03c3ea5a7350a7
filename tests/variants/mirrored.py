"""A tree like COCO's, and what tests see of its corrupted mirror."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy.variants.mirror_manifest import CORRUPTED

DRAWS = np.random.default_rng(2)


def pixels(path: str | Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def tree(folder: str) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in Path(folder).rglob("*") if p.is_file())


def lines(folder: str = "out") -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(folder, CORRUPTED).read_text().splitlines()]


def stamps(folder: str) -> dict[str, int]:
    return {name: Path(folder, name).stat().st_mtime_ns for name in tree(folder)}


@pytest.fixture(autouse=True)
def coco(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested folders, JPEG and PNG, several sizes, grey ones, and annotations."""
    monkeypatch.chdir(tmp_path)
    for name, shape in {
        "train/0001.jpg": (48, 64, 3),
        "train/0002.JPG": (33, 40),
        "val/deep/0001.png": (64, 31, 3),
    }.items():
        path = Path("coco/images", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(DRAWS.integers(0, 256, shape, dtype=np.uint8)).save(path)
    Path("coco/annotations").mkdir()
    Path("coco/annotations/instances.json").write_text('{"images": []}')
