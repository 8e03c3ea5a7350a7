"""What `run.json` says about a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hardy.models.model import hash_files
from hardy.train.record import FORMAT, MODEL, seen_in
from hardy.train.training_data import Data
from hardy.variants.disk.build import versions

if TYPE_CHECKING:
    from hardy.train.loop import Training


def about(
    method: str, training: Training, init: Path | None, stylised: Data | None
) -> dict[str, Any]:
    data, (mean, std) = training.data, training.preprocessing
    return {
        "format": FORMAT,
        "method": {"name": method, **training.method.described()},
        "seen_corruptions": _seen(training.method.seen, init),
        "data": {
            "images": data.described,
            "shape": data.shape,
            "classes": data.classes,
            "names": data.names,
            "sha256": data.sha256,
        },
        "input": data.input,
        "stylised": None if stylised is None else stylised.sha256,
        "recipe": asdict(training.recipe),
        "init": None if init is None else hash_files([init]),
        "processes": training.ranks.world,
        "preprocessing": {"mean": mean, "std": std},
        "versions": versions(("numpy", "torch", "safetensors")),
        "device": device_name(training.device),
    }


def _seen(shown: tuple[str, ...], init: Path | None) -> tuple[str, ...] | None:
    """All that is known: by the method, after what the first weights had seen. Of these nobody may
    say it: without anything from the method that is None, not nothing."""
    before = () if init is None else seen_before(init)
    known = tuple(dict.fromkeys((*(before or ()), *shown)))
    return None if before is None and not known else known


def seen_before(init: Path) -> list[str] | None:
    """By the finished net that the first weights are, wherever a link leads; None: nobody says."""
    real = init.resolve()
    return seen_in(real.parent) if real.name == MODEL else None


def device_name(device: torch.device) -> str:
    return str(torch.cuda.get_device_name(device) if device.type == "cuda" else device.type)
