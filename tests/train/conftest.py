"""What the tests of training share without asking for it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_fractals(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fractals are kept for the tests alone, not in the user's cache."""
    from hardy.train import fractals

    folder = tmp_path_factory.getbasetemp() / "fractals"
    monkeypatch.setattr(fractals, "_folder", lambda: folder)
    return folder


@pytest.fixture(autouse=True)
def own_networks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Networks of DeepAugment are kept for one test alone."""
    from hardy.train.methods import image_networks

    folder = tmp_path / "kept networks"
    monkeypatch.setattr(image_networks, "_folder", lambda: folder)
    return folder
