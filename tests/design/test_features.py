"""How corruptions move the features of a net, against the net itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from hardy.design.experiment import sized
from hardy.design.hidden_layer import measure_features
from hardy.run.selection import open_subject
from hardy.run.subject import Subject
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell
from hardy.train.loop import run_training
from hardy.train.trained_model import trained_net
from tests.train.small import CPU, NARROW, narrow, small_data, write_arrays

__all__ = ["narrow"]

NAMES = ("brightness", "contrast")


@pytest.fixture
def trained(tmp_path, narrow):
    run_training(
        "standard", small_data(tmp_path / "a"), tmp_path / "net", replace(NARROW, epochs=1)
    )
    return tmp_path / "net"


def features(net: torch.nn.Module, images: np.ndarray) -> np.ndarray:
    """Written out for the net of these tests."""
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        last = functional.relu(net.norm(net.blocks(net.stem((pixels - 0.5) / 0.5))))
    return last.mean((2, 3)).double().numpy()


def test_shifts_by_class_and_their_products(trained, tmp_path, monkeypatch) -> None:
    images = str(write_arrays(tmp_path / "b", 11))
    suite = sized(load("cifar10_c"), (16, 16))
    subject = open_subject(suite, images=images, only=NAMES, own_classes=True)
    # In parts, the last of which is smaller; the net's batches are smaller still.
    monkeypatch.setattr(Subject, "chunk_size", 4)
    monkeypatch.setattr("hardy.design.hidden_layer.BATCH", 3)
    found = measure_features(trained, subject, CPU)

    net = trained_net(trained)[0].eval()
    chunk = subject.load(np.arange(11)).chunk
    assert chunk is not None
    clean = features(net, chunk.make(CLEAN))
    shifts = np.array(
        [
            np.mean([features(net, chunk.make(Cell(name, k))) for k in range(1, 6)], axis=0) - clean
            for name in NAMES
        ]
    )
    labels = np.arange(11) % 3
    assert found.names == NAMES
    assert found.sizes.tolist() == [4, 4, 3]
    for one in range(3):
        expected = shifts[:, labels == one].mean(axis=1)
        assert found.shifts[:, one] == pytest.approx(expected, abs=1e-5)
    products = np.einsum("anf,bnf->ab", shifts, shifts)
    assert found.products == pytest.approx(products, abs=1e-4 * products.max())
    assert np.abs(shifts).max() > 0.01
