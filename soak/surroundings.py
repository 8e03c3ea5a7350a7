"""What operations need around them: images, and a process that does little at a time."""

from __future__ import annotations

import io
import os
import secrets
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.objects import Objects


def make_tiny() -> None:
    """Have trainings take a moment: a net of one layer, and a checkpoint after each epoch."""
    import torch

    from hardy.train import loop, nets

    def tiny(classes: int, halving: Any) -> torch.nn.Module:
        pooled = torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten()
        return torch.nn.Sequential(*pooled, torch.nn.Linear(12, classes))

    nets.NETS = {"wrn_40_2": tiny}  # type: ignore[assignment]
    loop.SAVE_SECONDS = 0.0


def make_small_shards() -> None:
    """Have packs of a few images be of several shards."""
    from hardy.images import packing

    packing.FEWEST_IN_SHARD = 3  # type: ignore[misc]


def make_steady() -> None:
    """Have samples be the same each time: how many cells an image is shown in hinges on costs."""
    from hardy.run import sampled_run
    from hardy.run.plan import ImageTimes

    sampled_run.time_few = lambda models, subject: ImageTimes(3e-3, 1e-3, 0.0)  # type: ignore[assignment]


def make_zoo() -> None:
    """Have `hardy fetch models` bring tiny nets, without a network."""
    import torch

    from hardy.models.zoo import keeping

    def tiny(*_: Any) -> torch.nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return torch.nn.Linear(30, 20)

    keeping.open_parcel = lambda parcel: {}
    keeping.blank_net = keeping._filled_net = tiny
    keeping.zoo_folder = lambda: Path("out")


def make_urls() -> None:
    """Have URLs lead to a folder, which takes an object whole or not at all."""
    import platformdirs

    from hardy import patience, places

    patience.FIRST_WAIT = 0.0
    places.open_bucket = cache(lambda scheme, bucket: (_Bucket(Path("objects").absolute()), bucket))
    platformdirs.user_cache_path = lambda *_: Path("cache").absolute()


class _Bucket(Objects):
    """Objects whose writes are seen by the attack, as those of files are."""

    def open_output_stream(self, key: str) -> Any:
        return _Sending(self.folder / key)

    def delete_file(self, key: str) -> None:
        (self.folder / key).unlink()


class _Sending(io.BytesIO):
    """An object on its way, which is there once it is closed."""

    def __init__(self, target: Path) -> None:
        super().__init__()
        self.target = target

    def close(self) -> None:
        content, target = self.getvalue(), self.target
        super().close()
        target.parent.mkdir(parents=True, exist_ok=True)
        arriving = Path("arriving", secrets.token_hex(8)).absolute()
        arriving.parent.mkdir(exist_ok=True)
        with arriving.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(arriving, target)
        folder = os.open(target.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def lay_images(folder: Path) -> None:
    """The images of all operations, and lists that they take."""
    (folder / "models.txt").write_text("fake:10\nsecond = fake:10:3\n")
    shutil.copy(Path(__file__).parent / "corpus/texts/performances.csv", folder)
    many = np.random.default_rng(8).integers(0, 256, (120, 8, 8, 3), np.uint8)
    large = many.repeat(4, axis=1).repeat(4, axis=2)
    np.savez(folder / "many.npz", images=large, labels=np.arange(120) % 10)
    pixels = np.random.default_rng(7).integers(0, 256, (8, 32, 32, 3), np.uint8)
    np.savez(folder / "images.npz", images=pixels, labels=np.arange(8))
    for number, image in enumerate(pixels):
        place = folder / f"folder/{number % 2}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{number}.png")


def make_small() -> None:
    """Have this process do little at a time, so that a small work has all the steps of a large one,
    and load what takes long, but nothing that starts threads, which no fork has."""
    import multiprocessing

    from hardy import corrupt, files
    from hardy.execute import crew
    from hardy.store import parts

    files.CHECKPOINT_SECONDS = 0.0
    parts.MERGED = 3
    for name in ("contrast", "jpeg_compression"):
        corrupt(np.zeros((32, 32, 3), np.uint8), name, 1)
    # A fork takes no seconds to import everything, and its calls pass the same gate.
    crew.get_context = lambda kind: multiprocessing.get_context("fork")  # type: ignore[assignment]
