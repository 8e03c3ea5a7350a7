"""Parquet in Hugging Face's layout, and others that name their columns well enough."""

import io
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
from hardy.images import Fault, load_images, open_images
from hardy.images.parquet import GROUPS_KEPT, ParquetSource
from tests.photos import random_images

IMAGES = random_images(12, 10, 12)


def png(number: int) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(IMAGES[number]).save(stream, "PNG")
    return stream.getvalue()


def huggingface(**features: Any) -> dict[str, str]:
    return {"huggingface": json.dumps({"info": {"features": features}})}


LABEL = {"names": ["cat", "dog", "eel"], "_type": "ClassLabel"}


def write(
    path: Path, columns: dict[str, Any], metadata: dict[str, str] | None = None, **options: Any
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path, **options)
    return path


def structs(numbers: range, paths: bool = True) -> Any:
    return pa.array(
        [{"bytes": png(n), "path": f"{n:02}.png" if paths else None} for n in numbers],
        pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
    )


def test_the_layout_of_datasets(tmp_path: Path) -> None:
    about = huggingface(image={"_type": "Image"}, label=LABEL, note={"_type": "Value"})
    for number, rows in enumerate((range(7), range(7, 12))):
        columns = {
            "note": [b"x"] * len(rows),
            "label": [n % 3 for n in rows],
            "image": structs(rows),
        }
        write(tmp_path / f"test-{number}.parquet", columns, about, row_group_size=2)
    source = open_images(tmp_path)
    assert source.describe() == f"12 images of 3 classes, Parquet {tmp_path}"
    assert source.labels is not None
    assert source.labels.tolist() == [n % 3 for n in range(12)]
    assert source.classes == ("cat", "dog", "eel")
    assert list(source.files) == [f"{n:02}.png" for n in range(12)]
    assert source.ids == [f"{n:02}" for n in range(12)]
    for index in (0, 11, 6, 7, 3, -1):
        np.testing.assert_array_equal(source.read(index), IMAGES[index])
    assert isinstance(source, ParquetSource)
    assert len(source._kept) == GROUPS_KEPT
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(source)).read(5), IMAGES[5])
    loaded = np.concatenate(
        [batch.images for batch in load_images(source, "none@1", workers=4, batch=5)]
    )
    np.testing.assert_array_equal(loaded, IMAGES)


@pytest.mark.parametrize(
    ("columns", "metadata", "labels", "classes"),
    [
        ({"img": [png(0), png(1)], "fine_label": [5, 2], "x": [b"", b""]}, None, [5, 2], None),
        ({"image": structs(range(2)), "label": ["b", "a"]}, None, [1, 0], ("a", "b")),
        ({"photo": structs(range(2))}, {"huggingface": "no json"}, None, None),
        ({"photo": structs(range(2))}, {"huggingface": "[" * 100_000}, None, None),
        ({"a.b": [png(0), png(1)], "a": [1, 2]}, None, None, None),
        (
            {"my.image": structs(range(2)), "x.y": [2, 1], "label.s": [0, 0]},
            huggingface(**{"x.y": LABEL}),
            [2, 1],
            ("cat", "dog", "eel"),
        ),
        ({"image": [{"bytes": png(n), "path": None} for n in range(2)]}, None, None, None),
        (
            {
                "image": pa.StructArray.from_arrays(
                    [pa.array([png(0), png(1)]), pa.array(["a.png", "b.png"]).dictionary_encode()],
                    ["bytes", "path"],
                )
            },
            None,
            None,
            None,
        ),
        ({"image": structs(range(2)), "label": [-1, -1]}, None, None, None),
        (
            {"a": [b"x", b"y"], "b": structs(range(2)), "kind": [2, 1]},
            huggingface(b={"_type": "Image"}, kind=LABEL),
            [2, 1],
            ("cat", "dog", "eel"),
        ),
    ],
)
def test_other_layouts(
    tmp_path: Path,
    columns: dict[str, Any],
    metadata: dict[str, str] | None,
    labels: list[int] | None,
    classes: tuple[str, ...] | None,
) -> None:
    source = open_images(write(tmp_path / "a.parquet", columns, metadata))
    assert (None if source.labels is None else source.labels.tolist()) == labels
    assert source.classes == classes
    np.testing.assert_array_equal(source.read(1), IMAGES[1])


def test_rows_without_names(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"image": structs(range(2), paths=False)})
    assert open_images(path).ids == [0, 1]
    assert list(open_images(path).files) == ["0", "1"]
    with pytest.raises(InputError, match=r"have no file names, .*id_rule = file_stem.*cifar10_c"):
        open_images(path, id_rule="file_stem")


def test_what_is_wrong_in_a_parquet(tmp_path: Path) -> None:
    def image(data: bytes | None, path: str) -> dict[str, object]:
        return {"bytes": data, "path": path}

    rows = [image(png(0), "a.png"), image(None, "b.png"), image(b"text", "c.png")]
    rows += [image(png(3), "g.jpg"), image(png(4), "../d.png"), image(png(5), "e.png")]
    rows += [image(png(6), "f\0.png")]
    path = write(tmp_path / "a.parquet", {"image": rows, "label": list(range(7))})
    with pytest.raises(InputError, match=r"row 4 \(\.\./d.png\): the path climbs out"):
        open_images(path)
    faults: list[Fault] = []
    source = open_images(path, faults=faults)
    assert list(source.files) == ["a.png", "b.png", "c.png", "g.jpg", "e.png"]
    assert source.labels is not None
    assert source.labels.tolist() == [0, 1, 2, 3, 5]
    assert "the name has a NUL character in it; not used" in faults[1].reason
    rows[3] = image(png(3), "a.jpg")
    twins = write(tmp_path / "twins.parquet", {"image": rows, "label": list(range(7))})
    with pytest.raises(InputError, match=r"row 0 \(a.png\) and .*have the same id"):
        open_images(twins, faults=[])
    with pytest.raises(InputError, match=r"row 1 \(b.png\): the image is not in the file, only"):
        source.read(1)
    with pytest.raises(InputError, match=r"row 2 \(c.png\): not an image"):
        source.read(2)
    np.testing.assert_array_equal(source.read(4), IMAGES[5])


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"x": [1, 2]}, r"expected one column of images, .*got x \(int64\)"),
        ({"a": [b"x"], "b": [b"y"]}, r"expected one column of images, .*got a \(binary\), b"),
        ({"image": [png(0)], "label": [None]}, "expected class numbers from 0 or names in label"),
        ({"image": [png(0)], "label": [1.5]}, "expected class numbers from 0 or names in label"),
        ({"image": pa.array([], pa.binary())}, "there are no images in"),
        ({"image": [{"bytes": png(0), "path": 3}]}, "image: expected text in .*path, got int64"),
        ({"image": [{"bytes": png(0), "path": ["a"]}]}, "expected text in the field path, got lis"),
        ({"image": [{"bytes": png(0), "path": b"a"}]}, "expected text in the field path, got bin"),
    ],
)
def test_other_columns(tmp_path: Path, columns: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        open_images(write(tmp_path / "a.parquet", columns))


def test_broken_files(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"image": [png(0)] * 50})
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    with pytest.raises(InputError, match=r"cannot read .*a.parquet"):
        open_images(path)
    path.write_bytes(data)
    source = open_images(path)
    path.write_bytes(b"PAR1" + bytes(len(data) - 4))
    with pytest.raises(InputError, match=r"cannot read .*a.parquet"):
        source.read(0)
    write(tmp_path / "a.parquet", {"image": [png(0)]})
    write(tmp_path / "b.parquet", {"img": [png(0)]})
    with pytest.raises(InputError, match=r"b.parquet and .*a.parquet have different columns"):
        open_images(tmp_path)


def test_a_file_has_no_splits(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"image": [png(0)]})
    for name in (path, tmp_path / "*.parquet"):
        with pytest.raises(InputError, match=r"parquet:test: Parquet has no splits"):
            open_images(f"{name}:test")
