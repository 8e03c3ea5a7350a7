"""Arrays of images: rows as they were saved, from files that are not loaded; refusals."""

import io
import pickle
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.images import open_images
from tests.photos import random_images

IMAGES = random_images(5, 9, 11)
LABELS = np.array([3, 1, 4, 1, 5])


def saved(path: Path, array: np.ndarray) -> Path:
    np.save(path, array, allow_pickle=array.dtype == object)
    return path


@pytest.mark.parametrize("kind", ["npy", "stored npz", "compressed npz"])
def test_rows_come_back(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    with path.open("wb") as stream:
        if kind == "npy":
            np.save(stream, IMAGES)
        elif kind == "stored npz":
            np.savez(stream, labels=LABELS, images=IMAGES)
        else:
            np.savez_compressed(stream, labels=LABELS[:, None], images=IMAGES)
    labels = saved(tmp_path / "labels.npy", LABELS) if kind == "npy" else None
    source = open_images(path, labels=labels)
    assert len(source) == 5
    for index in (0, 4, -1, 2):
        np.testing.assert_array_equal(source.read(index), IMAGES[index])
    assert source.ids == range(5)
    assert source.labels is not None
    assert source.labels.tolist() == LABELS.tolist()
    assert list(source.files) == ["0", "1", "2", "3", "4"]
    assert source.describe() == f"5 images of 4 classes, array {path}"
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(source)).read(2), IMAGES[2])
    with pytest.raises(IndexError):
        source.read(5)
    source.read(0)[:] = 0
    np.testing.assert_array_equal(source.read(0), IMAGES[0])


def test_a_row_is_read_from_the_file_when_it_is_asked_for(tmp_path: Path) -> None:
    for name in ("a.npy", "a.npz"):
        path = tmp_path / name
        if name == "a.npy":
            np.save(path, IMAGES)
        else:
            np.savez(path, images=IMAGES)
        source = open_images(path)
        data = path.read_bytes()
        path.write_bytes(data.replace(IMAGES[3].tobytes(), IMAGES[0].tobytes()))
        np.testing.assert_array_equal(source.read(3), IMAGES[0])
        path.write_bytes(data[:300])
        with pytest.raises(InputError, match="has become shorter since it was opened"):
            source.read(3)


@pytest.mark.parametrize(
    ("text", "labels", "classes"),
    [
        ("3\n1\n4\n1\n5\n", [3, 1, 4, 1, 5], None),
        ("3\r\n1\r\n4\r\n1\r\n5", [3, 1, 4, 1, 5], None),
        ("cat\na dog\ncat\nbee\ncat", [2, 0, 2, 1, 2], ("a dog", "bee", "cat")),
    ],
)
def test_labels_as_text(
    tmp_path: Path, text: str, labels: list[int], classes: tuple[str, ...] | None
) -> None:
    (tmp_path / "labels.txt").write_text(text)
    source = open_images(saved(tmp_path / "a.npy", IMAGES), labels=tmp_path / "labels.txt")
    assert source.labels is not None
    assert (source.labels.tolist(), source.classes) == (labels, classes)


@pytest.mark.parametrize(
    ("array", "todo"),
    [
        (IMAGES[0], r"got uint8 \(9, 11, 3\); one image alone needs a first axis: images\[None\]"),
        (IMAGES[..., 0], r"got uint8 \(5, 9, 11\); grey becomes RGB"),
        (IMAGES.transpose(0, 3, 1, 2).copy(), r"got uint8 \(5, 3, 9, 11\); channels go last"),
        (IMAGES[..., :1].copy(), r"got uint8 \(5, 9, 11, 1\)"),
        (IMAGES / 255, r"got float64 \(5, 9, 11, 3\); convert it: np.clip"),
        (np.asfortranarray(IMAGES), "Fortran order: np.ascontiguousarray"),
        (IMAGES[:0], r"got uint8 \(0, 9, 11, 3\)"),
        (np.array([{"a": 1}], dtype=object), "got object"),
        (np.zeros(4, [("a", "u1")]), "expected uint8 images"),
    ],
)
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_arrays_of_another_kind(tmp_path: Path, suffix: str, array: np.ndarray, todo: str) -> None:
    path = tmp_path / f"a.{suffix}"
    if suffix == "npy":
        saved(path, array)
    else:
        np.savez(path, images=array)
    with pytest.raises(InputError, match=todo):
        open_images(path)


def test_a_pickle_in_an_array_is_never_loaded(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path(tmp_path / "sprung").touch, ())

    trap = np.array([Trap()] * 5, dtype=object)
    with pytest.raises(InputError, match="Hardy never unpickles"):
        open_images(saved(tmp_path / "a.npy", IMAGES), labels=saved(tmp_path / "l.npy", trap))
    np.savez(tmp_path / "b.npz", images=IMAGES, labels=trap)
    with pytest.raises(InputError, match="Hardy never unpickles"):
        open_images(tmp_path / "b.npz")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (LABELS[:4], "expected one label per image, 5 in all, got 4"),
        (LABELS - 2, "expected class numbers"),
        (LABELS / 2, "expected class numbers"),
        (np.zeros((5, 2), int), r"expected class numbers \(N,\) from 0, got int64 \(5, 2\)"),
    ],
)
def test_labels_that_do_not_fit(tmp_path: Path, labels: np.ndarray, reason: str) -> None:
    images = saved(tmp_path / "a.npy", IMAGES)
    with pytest.raises(InputError, match=reason):
        open_images(images, labels=saved(tmp_path / "l.npy", labels))
    np.savez(tmp_path / "b.npz", images=IMAGES, labels=labels)
    with pytest.raises(InputError, match=reason):
        open_images(tmp_path / "b.npz")


def test_broken_files(tmp_path: Path) -> None:
    whole = io.BytesIO()
    np.save(whole, IMAGES)
    path = tmp_path / "a.npy"
    path.write_bytes(whole.getvalue()[:-1])
    with pytest.raises(InputError, match="1,485 bytes of pixels, got 1,484: the file is truncated"):
        open_images(path)
    path.write_bytes(whole.getvalue()[:60])
    with pytest.raises(InputError, match=r"expected uint8 images .* in NumPy's format, but"):
        open_images(path)
    np.savez_compressed(tmp_path / "b.npz", images=IMAGES)
    data = bytearray((tmp_path / "b.npz").read_bytes())
    data[200:300] = bytes(100)
    (tmp_path / "b.npz").write_bytes(data)
    with pytest.raises(InputError, match=r"cannot read .*b\.npz"):
        open_images(tmp_path / "b.npz")
    (tmp_path / "b.npz").write_bytes(data[:500])
    with pytest.raises(InputError, match=r"cannot read .*b\.npz: File is not a zip file"):
        open_images(tmp_path / "b.npz")


def test_other_archives_and_rules(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=IMAGES, y=LABELS)
    with pytest.raises(InputError, match="expected the arrays images and labels, got x, y"):
        open_images(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("images.npy", b"no array")
    with pytest.raises(InputError, match="images: expected uint8 images"):
        open_images(tmp_path / "b.zip")
    np.savez(tmp_path / "c.npz", images=IMAGES, labels=LABELS)
    with pytest.raises(InputError, match=r"c.npz has labels, and so has .*l.npy"):
        open_images(tmp_path / "c.npz", labels=saved(tmp_path / "l.npy", LABELS))
    with pytest.raises(InputError, match=r"have no file names, .*id_rule = file_stem.*cifar10_c"):
        open_images(tmp_path / "c.npz", id_rule="file_stem")


def header(shape: str, dtype: str = "|u1") -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def zipped(path: Path, method: int, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_a_small_file_cannot_ask_for_much_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(
        tmp_path / "a.npz",
        zipfile.ZIP_DEFLATED,
        images=header("(3000, 32, 32, 3)") + bytes(9216000),
    )
    assert len(open_images(path)) == 3000
    with monkeypatch.context() as patched:
        patched.setenv("HARDY_LARGEST_INFLATED", "9000000")
        with pytest.raises(InputError, match=r"at most 9,000,000 bytes .*HARDY_LARGEST_INFLATED"):
            open_images(path)
        patched.setenv("HARDY_LARGEST_INFLATED", "10000000")
        patched.setenv("HARDY_MOST_IMAGES", "2999")
        with pytest.raises(InputError, match=r"images: expected at most 2,999 images, got 3,000"):
            open_images(path)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        claims = zipped(tmp_path / "c.npz", method, images=header("(2796202, 32, 32, 3)"))
        with pytest.raises(InputError, match="expected 8,589,932,544 bytes of pixels, got 0"):
            open_images(claims)
    with pytest.raises(InputError, match=r"images: expected what np\.savez writes, got another"):
        open_images(zipped(tmp_path / "x.npz", zipfile.ZIP_LZMA, images=npy(IMAGES)))


def test_nothing_is_unpacked_for_labels_that_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    np.savez_compressed(tmp_path / "a.npz", images=IMAGES, labels=LABELS[:-1])
    with pytest.raises(InputError, match="labels: expected one label per image, 5 in all, got 4"):
        open_images(tmp_path / "a.npz")
    np.savez_compressed(tmp_path / "b.npz", images=IMAGES)
    short = saved(tmp_path / "labels.npy", LABELS[:-1])
    with pytest.raises(InputError, match="expected one label per image, 5 in all, got 4"):
        open_images(tmp_path / "b.npz", labels=short)


@pytest.mark.parametrize("shape", ["(100000000000,)", "(100000000000, 1)"])
def test_labels_that_claim_much_memory(tmp_path: Path, shape: str) -> None:
    claim = header(shape, "<i8")
    (tmp_path / "labels.npy").write_bytes(claim)
    with pytest.raises(InputError, match="expected 800,000,000,000 bytes of labels, got 0: the fi"):
        open_images(saved(tmp_path / "a.npy", IMAGES), labels=tmp_path / "labels.npy")
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = zipped(tmp_path / "a.npz", method, images=npy(IMAGES), labels=claim)
        with pytest.raises(InputError, match="labels: expected one label per image, 5 in all, got"):
            open_images(path)


@pytest.mark.parametrize(
    "shape", ["(" * 200, "(" * 9000, "-" * 9000 + "1", "(-1,)", f"(0x{'f' * 8000},)", "(1.5,)", "3"]
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_headers_that_are_none(tmp_path: Path, shape: str) -> None:
    (tmp_path / "a.npy").write_bytes(header(shape))
    with pytest.raises(InputError, match=r"a.npy: expected uint8 images .* in NumPy's format, but"):
        open_images(tmp_path / "a.npy")
    saved(tmp_path / "b.npy", IMAGES)
    with pytest.raises(InputError, match=r"a.npy: expected class numbers .* in NumPy's format, b"):
        open_images(tmp_path / "b.npy", labels=tmp_path / "a.npy")


def test_a_member_that_ends_too_early(tmp_path: Path) -> None:
    """The directory of the archive promises more than the member turns out to have."""
    path = zipped(tmp_path / "a.npz", zipfile.ZIP_DEFLATED, images=npy(IMAGES)[:-300])
    data = path.read_bytes()
    short = (len(npy(IMAGES)) - 300).to_bytes(4, "little")
    path.write_bytes(data.replace(short, len(npy(IMAGES)).to_bytes(4, "little")))
    with pytest.raises(InputError, match=r"cannot read .*a.npz: "):
        open_images(path)
