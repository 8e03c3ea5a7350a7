"""The measurement from start to first step runs; its figures are for idle machines."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

from bench import first_step, gpu_runs


def test_links_and_marks(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(first_step, "CLASSES", 2)

    def photos(count: int) -> Path:
        folder = tmp_path / "some"
        folder.mkdir()
        for number in range(3):
            Image.fromarray(np.full((20, 20, 3), 80 * number, np.uint8)).save(
                folder / f"{number}.JPEG"
            )
        return folder

    monkeypatch.setattr(gpu_runs, "photos", photos)
    monkeypatch.setattr(first_step, "ProcessPoolExecutor", Here)
    words = ["40", "--net", "wrn_16_4", "--side", "8", "--batch", "8", "--steps", "3"]
    monkeypatch.setattr(sys, "argv", ["first_step", *words])
    first_step.main()
    made = sorted((tmp_path / "build/links-40").rglob("*.JPEG"))
    assert len(made) == 40
    assert made[0].stat().st_nlink > 1
    said = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert said[1:] == ["listed", "step 1", "step 3"]


class Here:
    """An executor in this process."""

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *what: object) -> None:
        pass

    map = staticmethod(map)
