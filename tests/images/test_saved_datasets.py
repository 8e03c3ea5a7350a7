"""Folders that Hugging Face's `datasets` saves, and the Parquet files of its repositories."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from hardy.errors import InputError
from hardy.images import open_images
from tests.images.test_parquet import IMAGES, LABEL, huggingface, structs

ABOUT = huggingface(image={"_type": "Image"}, label=LABEL)


def table(rows: range) -> Any:
    columns = {"image": structs(rows), "label": pa.array([n % 3 for n in rows], pa.int64())}
    return pa.table(columns).replace_schema_metadata(ABOUT)


def save_to_disk(folder: Path, *parts: range) -> Path:
    """As `datasets` does: Arrow streams, of several batches, beside a state."""
    folder.mkdir(parents=True)
    for number, rows in enumerate(parts):
        path = folder / f"data-{number:05}-of-{len(parts):05}.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table(rows).schema) as to:
            to.write_table(table(rows), max_chunksize=2)
    (folder / "state.json").write_text("{}")
    (folder / "dataset_info.json").write_text("{}")
    return folder


def check(source: Any, rows: range) -> None:
    assert source.labels.tolist() == [n % 3 for n in rows]
    assert source.classes == ("cat", "dog", "eel")
    assert source.ids == [f"{n:02}" for n in rows]
    for index in (0, len(rows) - 1, 1):
        np.testing.assert_array_equal(source.read(index), IMAGES[rows[index]])


def test_a_saved_data_set(tmp_path: Path) -> None:
    folder = save_to_disk(tmp_path / "set", range(7), range(7, 12))
    (folder / "cache-1234.arrow").write_bytes(b"something else")
    source = open_images(folder)
    check(source, range(12))
    check(pickle.loads(pickle.dumps(source)), range(12))
    with pytest.raises(InputError, match="brings its own labels"):
        open_images(folder, labels="labels.csv")


def test_a_saved_dictionary_of_data_sets(tmp_path: Path) -> None:
    for split, rows in (("train", range(6)), ("test", range(6, 9)), ("validation", range(9, 12))):
        save_to_disk(tmp_path / split, rows)
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    check(open_images(f"{tmp_path}:test"), range(6, 9))
    check(open_images(f"{tmp_path}:validation"), range(9, 12))
    with pytest.raises(InputError, match=r"has 3 parts .*say which: .*:test or .*:train or .*:val"):
        open_images(tmp_path)
    with pytest.raises(InputError, match=r"say which: .*:test or"):
        open_images(f"{tmp_path}:val")


@pytest.mark.parametrize("inside", ["", "data", "plain_text"])
def test_the_parquet_files_of_a_repository(tmp_path: Path, inside: str) -> None:
    folder = tmp_path / inside
    folder.mkdir(exist_ok=True)
    (tmp_path / "README.md").write_text("---")
    for name, rows in (("test-00000-of-00001", range(4)), ("train-00000-of-00002", range(4, 8))):
        pq.write_table(table(rows), folder / f"{name}.parquet")
    pq.write_table(table(range(8, 12)), folder / "train-00001-of-00002-0123456789abcdef.parquet")
    check(open_images(f"{tmp_path}:train"), range(4, 12))
    check(open_images(f"{tmp_path}:test"), range(4))
    with pytest.raises(InputError, match=r"has 2 parts .*say which: .*:test or .*:train"):
        open_images(tmp_path)
    for path in folder.glob("train*"):
        path.unlink()
    check(open_images(tmp_path), range(4))


def test_a_part_has_any_name(tmp_path: Path) -> None:
    for name, rows in (("train", range(4)), ("valid", range(4, 8))):
        pq.write_table(table(rows), tmp_path / f"{name}-00000-of-00001.parquet")
    check(open_images(f"{tmp_path}:valid"), range(4, 8))
    with pytest.raises(InputError, match=r"say which: .*:train or .*:valid"):
        open_images(f"{tmp_path}:other")


def test_a_broken_one(tmp_path: Path) -> None:
    folder = save_to_disk(tmp_path / "set", range(3))
    (folder / "data-00000-of-00001.arrow").write_bytes(b"not Arrow's")
    with pytest.raises(InputError, match=r"cannot read .*data-00000-of-00001.arrow"):
        open_images(folder)
    (folder / "data-00000-of-00001.arrow").unlink()
    with pytest.raises(InputError, match="there are no images in"):
        open_images(folder)


def test_other_sets_have_no_validation_set(tmp_path: Path) -> None:
    Image.fromarray(IMAGES[0]).save(tmp_path / "a.png")
    for text in ("cifar10:validation", f"{tmp_path}:validation"):
        with pytest.raises(InputError, match=r":validation: .* leave :validation out"):
            open_images(text)
