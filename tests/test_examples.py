"""The scripts in examples/ run as they stand."""

from __future__ import annotations

import runpy
from pathlib import Path

from PIL import Image

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_corrupt_photo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / "corrupt_photo.py"))
    with Image.open("foggy.png") as foggy:
        assert foggy.size == (224, 224)


def test_the_picture_of_the_readme_is_current(tmp_path, monkeypatch):
    """`make picture` draws what is committed: same pixels, but for the JPEG of another Pillow."""
    picture = runpy.run_path(str(EXAMPLES / "picture.py"))
    committed = picture["TARGET"]
    picture["main"].__globals__["TARGET"] = tmp_path / "picture.jpg"
    picture["main"]()
    with Image.open(tmp_path / "picture.jpg") as new, Image.open(committed) as old:
        assert new.size == old.size
        assert new.tobytes() == old.tobytes()
