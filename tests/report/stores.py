"""Stores with made-up predictions: models of a stated skill, without any model or image."""

from __future__ import annotations

import base64
import io
import zlib
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from hardy.store.attack_files import Attacked, Estimate, write_attack
from hardy.store.identity import Identity
from hardy.store.writer import RunWriter
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell, choose_cells
from hardy.suites.suite import Suite

SESSION = {
    "started": "2026-01-02T03:04:05+00:00",
    "versions": {"hardy": "0.1.0", "numpy": "2.4.6"},
    "cpu": "a processor",
    "device": "cpu",
}


def write_run(
    store: Path,
    model: str,
    suite: str = "imagenet_c",
    *,
    images: int = 60,
    skill: float = 2.0,
    classes: int = 1000,
    only: tuple[str, ...] = ("counted",),
    severities: tuple[int, ...] | None = None,
    labels: str = "suite",
    names: tuple[str, ...] | None = None,
    weights: str = "",
    worst: bool = True,
) -> Path:
    """`skill` is the mean margin of the label on clean images; severity takes from it."""
    found = load(suite)
    cells = choose_cells(found, only, severities)
    sequences = found.kind == "perturbations"
    frames = {cell: found.edition.steps(cell.name).frames for cell in cells} if sequences else {}
    generator = np.random.default_rng(hash_of(model + suite + weights))
    truth = np.random.default_rng(0).integers(0, classes, images)
    writer = RunWriter(
        store,
        _identity(found, model, weights or model, labels),
        ids=list(range(images)),
        labels=truth,
        classes=names,
        frames=frames,
    )
    with writer:
        writer.set_width(classes)
        writer.add_session(SESSION)
        ease = generator.normal(0, 1.2, images)
        for cell in cells if sequences else (CLEAN, *cells):
            harm = 0.45 * cell.level * (0.6 + (hash_of(cell.name) % 100) / 100)
            count = images * frames.get(cell, 1)
            margin = skill - harm + np.repeat(ease, frames.get(cell, 1))
            margin = margin + generator.normal(0, 0.3 if sequences else 0.8, count)
            columns = _columns(
                generator, np.repeat(truth, frames.get(cell, 1)), margin, classes, sequences
            )
            writer.add(np.arange(images), cell, columns)
    if worst and not sequences:
        _write_worst(writer.folder, cells, truth)
    return writer.folder


def write_shift_run(
    store: Path, model: str, suite: str, *, right: int, clean: int | None, images: int = 400
) -> Path:
    """A model that has so many of the shifted images right, and of as many clean ones."""
    found = load(suite)
    parts = [("shifted", right)] + ([("clean", clean)] if clean is not None else [])
    hits = np.concatenate([np.arange(images) < count for _, count in parts])
    generator = np.random.default_rng(hash_of(model + suite))
    truth = np.tile(np.arange(images) % 200, len(parts))
    ids = [f"{name}/{place:05d}" for name, _ in parts for place in range(images)]
    identity = _identity(found, model, model, "suite")
    with RunWriter(store, identity, ids=ids, labels=truth, classes=None) as writer:
        writer.set_width(1000)
        writer.add_session(SESSION)
        margin = np.where(hits, 1.0, -1.0) * generator.uniform(0.2, 2, len(hits))
        columns = _columns(generator, truth, margin, 1000, sequences=False)
        writer.add(np.arange(len(ids)), choose_cells(found)[0], columns)
    return writer.folder


def hash_of(text: str) -> int:
    return zlib.crc32(text.encode())


def _identity(suite: Suite, model: str, weights: str, labels: str) -> Identity:
    return Identity(
        model=model,
        model_identity=sha256(weights.encode()).hexdigest(),
        suite=suite.name,
        suite_version=suite.version,
        suite_hash=suite.content_hash(),
        seed=0,
        recipe=suite.recipe,
        made="on the fly",
        labels=labels,
        preprocessing="none",
        precision="float32",
    )


def _columns(
    generator: np.random.Generator, truth: Any, margin: Any, classes: int, sequences: bool
) -> dict[str, Any]:
    count = len(truth)
    right = margin > 0
    sure = (1 / (1 + np.exp(-np.abs(margin) - 0.3))).astype(np.float32)
    others = generator.integers(1, classes, (count, 5)) if not sequences else _steady(truth, 5)
    best = (truth[:, None] + others) % classes
    best[right, 0] = truth[right]
    probs = np.concatenate([sure[:, None], np.repeat((1 - sure)[:, None] / 5, 4, 1)], axis=1)
    of_label = np.where(right, sure, (1 - sure) / 2)
    columns = {
        "log_prob": np.log(of_label),
        "rank": np.where(right, 0, 1 + np.minimum(-margin * 3, classes - 2)).astype(np.int32),
        "square_sum": (probs**2).sum(1),
        "top5": best,
        "top5_prob": probs,
    }
    if sequences:
        columns["zipf"] = np.abs(generator.normal(0.1, 0.02, (count, 4)))
    return columns


def _steady(truth: Any, width: int) -> Any:
    """The same five wrong classes for every frame of an image."""
    return np.tile(np.arange(1, width + 1), (len(truth), 1))


def _write_worst(folder: Path, cells: tuple[Cell, ...], truth: Any) -> None:
    rows = []
    for place, name in enumerate(dict.fromkeys(cell.name for cell in cells)):
        picture = _png(place)
        rows.append(
            {
                "image": str(place),
                "severity": 5,
                "label": int(truth[place % len(truth)]),
                "predicted": (int(truth[place % len(truth)]) + 1) % 10,
                "log_prob": -3.0 - place,
                "corruption": name,
                "clean": picture,
                "corrupted": picture,
            }
        )
    pq.write_table(pa.Table.from_pylist(rows), folder / "worst.parquet")


def write_noise(folder: Path, model: str, noise: str = "ant") -> None:
    """An attack's file beside a run, of made-up numbers."""
    picture = base64.b64encode(_png(0)).decode()
    attacked = Attacked(
        model=model,
        noise=noise,
        epsilon=135.0,
        values=150_528,
        images=500,
        fitted_on=f"500 images of {model}",
        fitted_hash=sha256(b"fitted").hexdigest(),
        measured_hash=sha256(b"measured").hexdigest(),
        steps=1001,
        seed=0,
        clean=Estimate(76.0, 72.0, 79.6),
        adversarial=Estimate(11.0, 8.5, 14.0),
        gaussian=Estimate(30.0, 26.1, 34.2),
        difference=Estimate(-19.0, -23.0, -15.2),
        median_distance=Estimate(40.0, 35.5, 44.5),
        never=3,
        edges=[-4.0, -2.0, 0.0, 2.0, 4.0],
        shares=[1.0, 49.0, 49.0, 1.0],
        patches=[picture],
        gaussian_patches=[picture],
        samples=[[picture, picture]],
        session=SESSION,
    )
    write_attack(folder, attacked)


def _png(seed: int) -> bytes:
    ramp = np.linspace(0, 255, 32, dtype=np.uint8)
    image = np.stack([np.roll(np.tile(ramp, (32, 1)), seed + k, 1) for k in range(3)], axis=-1)
    data = io.BytesIO()
    Image.fromarray(image).save(data, "PNG")
    return data.getvalue()
