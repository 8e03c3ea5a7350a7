"""A reader of another package: listed, named in help, evaluated on, scored and reported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.images.folders import FolderSource
from hardy.images.readers import READERS, Reader, Request, open_images
from tests.photos import photos
from tests.plugins import install_plugin, pretend

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


class Indexed(Reader):
    """A folder with index.txt: on each line an image, and its label."""

    brings_labels = True

    def recognises(self, request: Request) -> bool:
        return request.folder is not None and (request.folder / "index.txt").is_file()

    def open(self, request: Request) -> FolderSource:
        lines = [line.split() for line in (request.path / "index.txt").read_text().splitlines()]
        files, labels = [file for file, _ in lines], np.array([int(label) for _, label in lines])
        return FolderSource("index of", request.text, files, range(len(files)), labels, None)


INDEXED = Indexed()
HERE = f"{__name__}:INDEXED"


@pytest.fixture
def indexed(tmp_path: Path) -> Path:
    """A folder that is of the special kind, of the flat kind, and of that of class folders."""
    (tmp_path / "a_class").mkdir()
    for number, pixels in enumerate(photos(32)):
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        Image.fromarray(pixels).save(tmp_path / "a_class" / f"{number}.png")
    (tmp_path / "index.txt").write_text("5.png 7\n3.png 1")
    return tmp_path


def test_a_reader_of_special_folders_wins_over_that_of_any_folder(
    indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(open_images(indexed / "a_class")) == 8
    pretend(monkeypatch, READERS, {"indexed": HERE})
    source = open_images(indexed)
    assert list(source.labels) == [7, 1]
    assert len(open_images(indexed / "a_class")) == 8, "which it does not recognise"


def test_two_plug_ins_may_not_recognise_the_same(
    indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, READERS, {"indexed": HERE, "listed": HERE})
    with pytest.raises(hardy.InputError, match=r"expected one reader.*indexed and listed; uninst"):
        open_images(indexed)
    assert len(open_images(indexed / "a_class")) == 8


def test_a_broken_reader_is_told_of_and_left_out(
    indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, READERS, {"broken": "no_such_module:READER", "indexed": HERE})
    with pytest.warns(UserWarning, match='^the plug-in image reader "broken" .*no_such_module'):
        assert len(open_images(indexed)) == 2


def test_a_reader_of_another_package(tmp_path: Path) -> None:
    run = install_plugin(tmp_path, "hardy.readers", "pgmlist", "READER", CODE)
    for number, pixels in enumerate(photos(32)):
        Image.fromarray(pixels).convert("L").save(tmp_path / f"{number}.pgm")
    lines = [f"{number}.pgm {number}" for number in range(len(photos(32)))]
    (tmp_path / "x.pgmlist").write_text("\n".join(lines))

    assert "pgmlist  " in (listed := run("ls", "readers"))
    assert "A .pgmlist file: on each line an image beside it, and its label." in listed
    assert "pgmlist" in run("eval", "--help")

    wanted = ("--suite", "cifar10_c", "--only", "fog", "--store", "runs")
    assert "8 images of 8 classes, list in" in run(
        "eval", "fake:10", "--images", "x.pgmlist", *wanted
    )
    score = json.loads(run("score", "runs", "--format", "json"))["scores"][0]
    assert (score["names"], score["images"]) == (["fog"], 8)
    assert score["low"] < score["value"] <= score["high"]
    run("report", "runs", "-o", "report.html")
    assert "8 images of 8 classes, list in" in (tmp_path / "report.html").read_text()
