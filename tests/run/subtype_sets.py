"""Small stand-ins of ImageNet-22K, CIFAR-100 and groceries, with the real names."""

from __future__ import annotations

import io
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy.images.labels import cifar_classes
from hardy.suites import load
from hardy.train import probing

IMAGENET, CIFAR, GROCERIES = "imagenet_subtypes", "cifar100_superclass", "groceries_superclass"
TYPES = load(IMAGENET).shift.types
NET = """
import torch

class Colour(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(3)
        self.drop = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(3, 1000)

    def forward(self, pixels):
        return self.head(self.drop(self.norm(pixels)).mean((2, 3)))

def make():
    torch.manual_seed(0)
    return Colour()
"""


def colour(number: int) -> tuple[int, int, int]:
    """Types differ in colour, and so a net can tell them apart that sees nothing else."""
    return (number % 5 * 50 + 20, number // 5 * 50 + 20, 100)


def photograph(number: int, shade: int = 0) -> bytes:
    stream = io.BytesIO()
    pixels = np.full((16, 20, 3), np.array(colour(number)) + shade, np.uint8)
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def add_folder(top: Path, wnid: str, number: int, count: int = 1, name: str = "") -> None:
    (top / wnid).mkdir(parents=True)
    for image in range(count):
        path = top / wnid / f"{name or wnid}_{number}_{image}.JPEG"
        path.write_bytes(photograph(number, image))


def add_tar(top: Path, wnid: str, number: int) -> None:
    with tarfile.open(top / f"{wnid}.tar", "w") as archive:
        info, content = tarfile.TarInfo(f"{wnid}_0.JPEG"), photograph(number)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(probing, "DECAYS", (1e-6, 1e-4))
    Path("net.py").write_text(NET)
    return tmp_path


def write_cifar(folder: Path, form: str) -> Path:
    """CIFAR-100 with two images of each fine class in each part; a superclass has its colour."""
    folder.mkdir(parents=True)
    fine = np.repeat(np.arange(100), 2)
    of_fine = {
        name: number
        for number, one in enumerate(load(CIFAR).shift.types.values())
        for part in one
        for name in part
    }
    coarse = np.array([of_fine[cifar_classes(100)[number]] for number in fine])
    noise = np.random.default_rng(0).integers(0, 20, (len(fine), 3, 32, 32))
    pixels = (noise + np.array([colour(number) for number in coarse])[:, :, None, None]).astype(
        np.uint8
    )
    for part in ("train", "test"):
        if form == "binary":
            rows = np.column_stack([coarse, fine, pixels.reshape(len(fine), -1)]).astype(np.uint8)
            (folder / f"{part}.bin").write_bytes(rows.tobytes())
        else:
            batch = {
                b"data": pixels.reshape(len(fine), -1),
                b"fine_labels": fine.tolist(),
                b"coarse_labels": coarse.tolist(),
            }
            (folder / part).write_bytes(pickle.dumps(batch, 4))
    if form == "binary":
        (folder / "fine_label_names.txt").write_text("\n".join(cifar_classes(100)))
    else:
        names = [name.encode() for name in cifar_classes(100)]
        (folder / "meta").write_bytes(pickle.dumps({b"fine_label_names": names}, 4))
    return folder
