"""What a net's last hidden layer makes of clean images, and how corruptions move that. This file
imports torch."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hardy.design.proxy import Features
from hardy.errors import InputError
from hardy.progress import Track, untracked
from hardy.run.subject import Subject
from hardy.suites.cells import CLEAN
from hardy.train.method import Classifier, to_pixels
from hardy.train.trained_model import trained_net

BATCH = 1024  # of images whose features are taken


def measure_features(
    folder: Path, subject: Subject, device: torch.device, track: Track = untracked
) -> Features:
    """The features over all images of a subject; a corruption's shift is its severities' mean."""
    extract = _Extractor(folder, device)
    names = tuple(dict.fromkeys(cell.name for cell in subject.cells if cell != CLEAN))
    cells = [[cell for cell in subject.cells if cell.name == name] for name in names]
    labels = subject.classes.labels
    classes = int(labels.max()) + 1
    sums, products = None, np.zeros((len(names), len(names)))
    starts = range(0, len(subject), subject.chunk_size)
    for start in track(starts, len(starts), "parts of the images"):
        rows = np.arange(start, min(start + subject.chunk_size, len(subject)))
        loaded = subject.load(rows)
        if loaded.chunk is None or loaded.faults:
            raise InputError(f"cannot read all images: {next(iter(loaded.faults.values()))}")
        chunk = loaded.chunk if device.type == "cpu" else loaded.chunk.on(str(device))
        clean = extract(chunk.make(CLEAN))
        shifts = torch.stack(
            [sum(extract(chunk.make(cell)) for cell in some) / len(some) - clean for some in cells]
        )
        flat = shifts.flatten(1)
        products += (flat @ flat.T).double().cpu().numpy()
        if sums is None:
            sums = torch.zeros(
                len(names), classes, shifts.shape[2], dtype=torch.float64, device=device
            )
        which = torch.from_numpy(labels[rows].astype(np.int64)).to(device)
        sums.index_add_(1, which, shifts.double())
    sizes = np.bincount(labels, minlength=classes).astype(np.float64)
    assert sums is not None  # there are images
    means = sums.cpu().numpy() / np.maximum(sizes, 1)[:, None]
    return Features(names, means, sizes, products)


class _Extractor:
    """Images to what the last linear layer of the net is given."""

    def __init__(self, folder: Path, device: torch.device) -> None:
        net, run = trained_net(folder)
        linear = [part for part in net.modules() if isinstance(part, nn.Linear)]
        if not linear:
            raise InputError(
                f"expected a net that ends in a linear layer, got {run['recipe']['net']}"
            )
        linear[-1].register_forward_pre_hook(self._keep)
        figures = run["preprocessing"]
        self._model = Classifier(net, figures["mean"], figures["std"]).to(device).eval()
        self._device = device
        self._kept: list[Tensor] = []

    def _keep(self, part: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self._kept.append(inputs[0].float())

    def __call__(self, images: Any) -> Tensor:
        """uint8 (N, H, W, 3) to (N, features)."""
        every = torch.as_tensor(images)
        self._kept.clear()
        with torch.inference_mode():
            for some in every.split(BATCH):
                self._model(to_pixels(some.to(self._device).permute(0, 3, 1, 2)))
            return torch.cat(self._kept)
