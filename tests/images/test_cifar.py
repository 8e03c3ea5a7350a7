"""CIFAR as its authors give it out, made here byte by byte, and pickles that want more."""

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.images import cifar, open_images
from tests.photos import random_images

COUNT = 4  # images in a batch


def python2(value: object) -> bytes:
    """A value as Python 2 pickled it with protocol 2: strings are bytes, arrays by three names."""
    if isinstance(value, bytes):
        return (
            b"U" + bytes([len(value)]) if len(value) < 256 else b"T" + struct.pack("<i", len(value))
        ) + value
    if isinstance(value, bool | None):
        return {True: b"\x88", False: b"\x89", None: b"N"}[value]
    if isinstance(value, int):
        return b"J" + struct.pack("<i", value)
    if isinstance(value, list):
        return b"](" + b"".join(map(python2, value)) + b"e"
    if isinstance(value, dict):
        return b"}(" + b"".join(python2(k) + python2(v) for k, v in value.items()) + b"u"
    if isinstance(value, tuple):
        return b"(" + b"".join(map(python2, value)) + b"t"
    assert isinstance(value, np.ndarray)
    dtype = (
        b"cnumpy\ndtype\n"
        + python2((b"u1", 0, 1))
        + b"R"
        + python2((3, b"|", None, None, None, -1, -1, 0))
        + b"b"
    )
    make = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n"
        + python2((0,))
        + python2(b"b")
        + b"tR"
    )
    state = (
        b"("
        + python2(1)
        + python2(value.shape)
        + dtype
        + python2(False)
        + python2(value.tobytes())
        + b"tb"
    )
    return make + state


def planes(images: np.ndarray) -> np.ndarray:
    return images.transpose(0, 3, 1, 2).reshape(len(images), -1)


def write(folder: Path, form: str, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Six batches of CIFAR-10 or two files of CIFAR-100; gives the training images and labels."""
    train = [f"data_batch_{i}" for i in range(1, 6)] if classes == 10 else ["train"]
    files = [*train, "test_batch" if classes == 10 else "test"]
    images = random_images(COUNT * len(files), 32, 32)
    labels = np.arange(len(images)) * 7 % classes
    for number, name in enumerate(files):
        rows = slice(number * COUNT, (number + 1) * COUNT)
        data, its = planes(images[rows]), [int(label) for label in labels[rows]]
        if form == "python":
            batch: dict[object, object] = {
                b"batch_label": b"x",
                b"data": data,
                b"filenames": [b"a.png"] * COUNT,
            }
            batch[b"labels" if classes == 10 else b"fine_labels"] = its
            batch[b"coarse_labels"] = [0] * COUNT
            (folder / name).write_bytes(b"\x80\x02" + python2(batch) + b".")
        else:
            head = [[label] if classes == 10 else [3, label] for label in its]
            records = np.concatenate([np.array(head, np.uint8), data], axis=1)
            (folder / f"{name}.bin").write_bytes(records.tobytes())
    names = [f"class{number}" for number in range(classes)]
    if form == "python":
        key = b"label_names" if classes == 10 else b"fine_label_names"
        meta = python2({key: [name.encode() for name in names]})
        (folder / ("batches.meta" if classes == 10 else "meta")).write_bytes(
            b"\x80\x02" + meta + b"."
        )
    else:
        file = "batches.meta.txt" if classes == 10 else "fine_label_names.txt"
        (folder / file).write_text("\n".join(names) + "\n\n")
    return images, labels


@pytest.mark.parametrize("classes", [10, 100])
@pytest.mark.parametrize("form", ["python", "binary"])
def test_both_forms(tmp_path: Path, form: str, classes: int) -> None:
    images, labels = write(tmp_path, form, classes)
    with pytest.raises(InputError, match=f"training and a test set; say which: {tmp_path}:test"):
        open_images(tmp_path)
    with pytest.raises(InputError, match="one file of CIFAR has no splits"):
        open_images(f"{next(tmp_path.glob('t*'))}:test")
    train, test = (open_images(f"{tmp_path}:{split}") for split in ("train", "test"))
    assert (len(train), len(test)) == (len(images) - COUNT, COUNT)
    for source, start in ((train, 0), (test, len(train))):
        for index in range(len(source)):
            np.testing.assert_array_equal(source.read(index), images[start + index])
        assert source.labels is not None
        assert source.labels.tolist() == labels[start : start + len(source)].tolist()
        assert source.classes == tuple(f"class{number}" for number in range(classes))
        assert source.ids == range(len(source))
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(source)).read(-1), images[start + len(source) - 1]
        )
    with pytest.raises(IndexError):
        test.read(COUNT)
    assert test.describe().startswith(
        f"4 images of {classes} classes, CIFAR-{classes}, {form} form,"
    )
    file = {("python", 10): "test_batch", ("python", 100): "test"}.get((form, classes))
    file = file or ("test_batch.bin" if classes == 10 else "test.bin")
    np.testing.assert_array_equal(open_images(tmp_path / file).read(2), test.read(2))


def test_what_a_cifar_folder_can_lack(tmp_path: Path) -> None:
    write(tmp_path, "binary", 10)
    with pytest.raises(InputError, match="brings its own labels; leave"):
        open_images(f"{tmp_path}:test", labels="x.npy")
    with pytest.raises(InputError, match=r"have no file names, .*id_rule = file_stem.*cifar10_c"):
        open_images(f"{tmp_path}:test", id_rule="file_stem")
    (tmp_path / "batches.meta.txt").write_text("only\ntwo\n")
    with pytest.raises(InputError, match=r"expected the names of 10 classes, got .*only"):
        open_images(f"{tmp_path}:test")
    (tmp_path / "batches.meta.txt").unlink()
    assert open_images(f"{tmp_path}:test").classes is None
    (tmp_path / "data_batch_3.bin").unlink()
    with pytest.raises(InputError, match=r"data_batch_3.bin is missing: expected data_batch_1.bin"):
        open_images(f"{tmp_path}:train")
    (tmp_path / "test_batch.bin").write_bytes(bytes(3072))
    with pytest.raises(InputError, match="expected records of 3073 bytes, got 3,072 bytes"):
        open_images(f"{tmp_path}:test")
    (tmp_path / "test_batch.bin").write_bytes(bytes([77]) + bytes(3072))
    with pytest.raises(InputError, match="expected labels below 10, got 77"):
        open_images(f"{tmp_path}:test")


def forged(folder: Path, pickled: bytes) -> Path:
    (folder / "test_batch").write_bytes(pickled)
    return folder / "test_batch"


@pytest.mark.parametrize(
    "pickled",
    [
        b"cos\nsystem\n(U\x07touch xtR.",
        b"c__builtin__\neval\n(U\x011tR.",
        b"\x80\x02cnumpy\nload\n.",
        b"\x80\x02cnumpy.core.multiarray\nfromfile\n.",
        b"(ios\nsystem\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        pickle.dumps(Path("x")),
        pickle.dumps(np.float64(3)),
    ],
)
def test_other_names_in_a_pickle_are_refused(tmp_path: Path, pickled: bytes) -> None:
    with pytest.raises(
        InputError, match=r"test_batch: .*it asks for .*, which Hardy will not load"
    ):
        open_images(forged(tmp_path, pickled))


DATA = planes(random_images(2, 32, 32))


def laughs() -> bytes:
    nested = b"]" + b"".join(b"q%c0](h%ch%ce" % (n, n, n) for n in range(60))
    whole = python2({b"data": DATA, b"labels": [1, 2]}) + b"."
    return nested + whole.replace(python2(b"u1"), b"h\x3b", 1)


@pytest.mark.parametrize(
    ("pickled", "reason"),
    [
        (python2({b"data": DATA, b"labels": [1, 2, 3]}) + b".", "2 in all, got 3"),
        (python2({b"data": DATA, b"labels": [1, -2]}) + b".", "a list labels of class numbers"),
        (python2({b"data": DATA, b"labels": b"12"}) + b".", "a list labels of class numbers"),
        (
            python2({b"data": DATA[:, :7], b"labels": [1, 2]}) + b".",
            r"\(N, 3072\), got shape \(2, 7\)",
        ),
        (python2({b"data": [1, 2], b"labels": [1, 2]}) + b".", r"array data \(N, 3072\), got none"),
        (
            python2({b"data": DATA, b"labels": [1, 2]}).replace(b"u1", b"O8") + b".",
            "in the place of",
        ),
        (python2({b"data": DATA, b"labels": [1, 2]})[:-900], "but only 5\\d* remain|exhausted"),
        (python2([1, 2]) + b".", "AttributeError"),
        (
            python2({b"data": DATA}).replace(struct.pack("<i", 2), struct.pack("<i", 9), 1) + b".",
            "reshape",
        ),
        (b"\x80\x02not a pickle", "expected a pickled file of CIFAR"),
        (b"", "pickle exhausted"),
        (b"\x80\x02Nr" + struct.pack("<I", 2**27) + b".", "more than 1,000,000 places in the mem"),
        (b"Np134217728\n.", "more than 1,000,000 places in the memo"),
        # A list of two of a list of two of..., 2**60 in all.
        (laughs(), "in the place of bytes"),
    ],
)
def test_pickles_that_are_not_cifar(tmp_path: Path, pickled: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        open_images(forged(tmp_path, pickled))


def test_a_pickle_cannot_change_the_reader(tmp_path: Path) -> None:
    """A file may set attributes on what it is handed; the next file must not see it."""
    poison = b"cnumpy\ndtype\n(N}(U\x04codeU\x02u1utb."
    with pytest.raises(InputError):
        open_images(forged(tmp_path, poison))
    wrong = python2({b"data": DATA, b"labels": [1, 2]}).replace(b"u1", b"O8") + b"."
    with pytest.raises(InputError, match="in the place of bytes"):
        open_images(forged(tmp_path, wrong))


def test_too_large_for_cifar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar, "LARGEST", 10)
    with pytest.raises(InputError, match="expected at most 10 bytes of CIFAR, got 11"):
        open_images(forged(tmp_path, b"x" * 11))
