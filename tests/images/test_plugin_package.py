"""A reader of another package: listed, named in help, evaluated on, scored and reported."""

from __future__ import annotations

import json
from pathlib import Path

from PIL import Image

from tests.photos import photos
from tests.plugins import install_plugin

CODE = '''
import numpy as np

from hardy.images.folders import FolderSource
from hardy.images.readers import Reader


class PgmList(Reader):
    """A .pgmlist file: on each line an image beside it, and its label."""

    brings_labels = True

    def recognises(self, request):
        return request.path.suffix == ".pgmlist"

    def open(self, request):
        lines = [line.split() for line in request.path.read_text().splitlines()]
        files = [file for file, _ in lines]
        labels = np.array([int(label) for _, label in lines])
        where = str(request.path.parent)
        return FolderSource("list in", where, files, range(len(files)), labels, None)


READER = PgmList()
'''


def test_a_reader_of_another_package(tmp_path: Path) -> None:
    hardy = install_plugin(tmp_path, "hardy.readers", "pgmlist", "READER", CODE)
    for number, pixels in enumerate(photos(32)):
        Image.fromarray(pixels).convert("L").save(tmp_path / f"{number}.pgm")
    lines = [f"{number}.pgm {number}" for number in range(len(photos(32)))]
    (tmp_path / "x.pgmlist").write_text("\n".join(lines))

    assert "pgmlist  " in (listed := hardy("ls", "readers"))
    assert "A .pgmlist file: on each line an image beside it, and its label." in listed
    assert "pgmlist" in hardy("eval", "--help")

    wanted = ("--suite", "cifar10_c", "--only", "fog", "--store", "runs")
    assert "8 images of 8 classes, list in" in hardy(
        "eval", "fake:10", "--images", "x.pgmlist", *wanted
    )
    score = json.loads(hardy("score", "runs", "--format", "json"))["scores"][0]
    assert (score["names"], score["images"]) == (["fog"], 8)
    assert score["low"] < score["value"] <= score["high"]
    hardy("report", "runs", "-o", "report.html")
    assert "8 images of 8 classes, list in" in (tmp_path / "report.html").read_text()
