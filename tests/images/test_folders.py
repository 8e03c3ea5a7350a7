"""Class folders and flat folders: order, labels, ids, and what cannot be used."""

import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hardy.errors import InputError
from hardy.images import Fault, Source, open_images
from hardy.images.source import count_left_out
from tests.photos import random_images

RGB = random_images(1, 12, 10)[0]


def put(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(RGB).save(root / name, "PNG")
    return root


def test_class_folders_in_the_order_of_imagefolder(tmp_path: Path) -> None:
    put(tmp_path, "b/2.png", "b/10.png", "a/x.JPEG", "a/sub/y.png", "a/sub-1/z.png", "C/q.bmp")
    put(tmp_path, "a/sub/deep/w.png", ".hidden/h.png", "b/.h.png")
    (tmp_path / "b/notes.txt").write_text("not an image")
    source = open_images(tmp_path)
    # Capitals sort first, and "a/sub-1" before "a/sub/deep": ImageFolder sorts the folders' paths.
    expected = ["C/q.bmp", "a/x.JPEG", "a/sub/y.png", "a/sub-1/z.png", "a/sub/deep/w.png"]
    expected += ["b/10.png", "b/2.png"]
    assert list(source.files) == expected
    assert source.classes == ("C", "a", "b")
    assert source.labels is not None
    assert source.labels.tolist() == [0, 1, 1, 1, 1, 2, 2]
    assert source.ids == [name.rpartition(".")[0] for name in expected]
    assert source.describe() == f"7 images of 3 classes, class folders in {tmp_path}"
    np.testing.assert_array_equal(source.read(3), RGB)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(source)).read(3), RGB)


def test_id_rules(tmp_path: Path) -> None:
    put(tmp_path, "a/x.1.png", "b/y.png")
    assert open_images(tmp_path, id_rule="file_stem").ids == ["x.1", "y"]
    assert open_images(tmp_path, id_rule="relative_path").ids == ["a/x.1", "b/y"]
    assert open_images(tmp_path, id_rule="row_index").ids == [0, 1]
    with pytest.raises(InputError, match='unknown id rule "stem"'):
        open_images(tmp_path, id_rule="stem")


def test_equal_ids_name_both_files(tmp_path: Path) -> None:
    put(tmp_path, "a/x.png", "b/x.png", "b/y.jpg", "b/y.png")
    with pytest.raises(InputError, match=r'a/x.png and .*b/x.png have the same id "x" .*file_stem'):
        open_images(tmp_path, id_rule="file_stem")
    with pytest.raises(InputError, match=r'b/y.jpg and .*b/y.png have the same id "b/y"'):
        open_images(tmp_path)
    with pytest.raises(InputError, match=r"2 images in all; rename them, or, .*`own_classes=True`"):
        open_images(tmp_path, id_rule="file_stem", faults=[])


def test_faults_say_how_many_images_they_keep_out(tmp_path: Path) -> None:
    put(tmp_path, "a/1.png", "b/2.png", "beside.png", "too.png", "third.png")
    (tmp_path / "c").mkdir()
    faults: list[Fault] = []
    open_images(tmp_path, faults=faults)
    assert count_left_out(faults) == {"beside the class folders": 3}
    assert "beside.png lies beside class folders, and so do 2 more; put it" in faults[0].reason


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("folder", "x.png: expected an image file, got a folder"),
        ("dangling", "x.png: expected an image file, got a broken link or a device"),
        ("fifo", "x.png: expected an image file, got a broken link or a device"),
        ("empty class", "the class folder .*empty has no image files"),
        ("beside", "beside.png lies beside class folders; .*labels.csv"),
        ("cycle", "a/loop is a link to a folder around it"),
        ("loop", "cannot read .*a/0.png: Too many levels of symbolic links"),
        ("loop without suffix", "cannot read .*a/0: Too many levels of symbolic links"),
    ],
)
def test_what_is_wrong_in_a_folder_is_reported_and_the_rest_used(
    tmp_path: Path, what: str, reason: str
) -> None:
    put(tmp_path, "a/1.png", "b/2.png")
    match what:
        case "folder":
            (tmp_path / "a/x.png").mkdir()
        case "dangling":
            (tmp_path / "a/x.png").symlink_to("nowhere")
        case "fifo":
            os.mkfifo(tmp_path / "a/x.png")
        case "empty class":
            (tmp_path / "empty").mkdir()
        case "beside":
            put(tmp_path, "beside.png")
        case "cycle":
            (tmp_path / "a/loop").symlink_to(tmp_path / "a")
        case "loop":
            (tmp_path / "a/0.png").symlink_to("0.png")
        case "loop without suffix":
            (tmp_path / "a/0").symlink_to("0")
    with pytest.raises(InputError, match=reason):
        open_images(tmp_path)
    faults: list[Fault] = []
    assert list(open_images(tmp_path, faults=faults).files) == ["a/1.png", "b/2.png"]
    assert len(faults) == 1


def test_a_class_folder_may_be_a_link(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", "1.png")
    (tmp_path / "set").mkdir()
    (tmp_path / "set/a").symlink_to(tmp_path / "elsewhere")
    assert list(open_images(tmp_path / "set").files) == ["a/1.png"]


def test_a_flat_folder_without_labels(tmp_path: Path) -> None:
    source = open_images(put(tmp_path, "b.png", "a.JPG"))
    assert (list(source.files), source.labels, source.classes) == (["a.JPG", "b.png"], None, None)
    assert "2 images without labels" in source.describe()


def labelled(root: Path, text: str, **options: object) -> Source:
    (root / "labels.csv").write_text(text, encoding="utf-8")
    return open_images(root, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "labels", "classes"),
    [
        ("b.png,7\na.png,3\n", [3, 7], None),
        ("\ufefffile,label\r\na.png,dog\r\nb.png, cat\r\n", [1, 0], ("cat", "dog")),
        ("note,label,file\nx,5,a.png\ny,4,b.png\n\n", [5, 4], None),
        ("filename,class\na.png,5\nb.png,4\n", [5, 4], None),
        ("Class, Image\n5,a.png\n4,b.png\n", [5, 4], None),
        ('"a.png","a dog, asleep"\n"b.png","1"\n', [1, 0], ("1", "a dog, asleep")),
    ],
)
def test_labels_of_a_flat_folder(
    tmp_path: Path, text: str, labels: list[int], classes: tuple[str, ...] | None
) -> None:
    source = labelled(put(tmp_path, "a.png", "b.png"), text)
    assert list(source.files) == ["a.png", "b.png"]
    assert source.labels is not None
    assert (source.labels.tolist(), source.classes) == (labels, classes)
    (tmp_path / "labels.csv").rename(tmp_path.parent / "other.csv")
    again = open_images(tmp_path, labels=tmp_path.parent / "other.csv")
    assert again.labels is not None
    assert again.labels.tolist() == labels


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a.png,1\n", "b.png has no label in .*labels.csv; add a line"),
        ("a.png,1\nb.png,\n", r"labels.csv, line 2: expected file,label, got \['b.png', ''\]"),
        ("file,label\nb.png, \na.png,1\n", "labels.csv, line 2: expected file,label, got"),
        ("a.png,1\n,2\nb.png,3\n", r"labels.csv, line 2: expected file,label, got \['', '2'\]"),
    ],
)
def test_labels_and_files_that_do_not_pair(tmp_path: Path, text: str, reason: str) -> None:
    put(tmp_path, "a.png", "b.png")
    with pytest.raises(InputError, match=reason):
        labelled(tmp_path, text)
    faults: list[Fault] = []
    source = labelled(tmp_path, text, faults=faults)
    assert source.files[0] == "a.png"
    assert source.labels is not None
    assert (source.labels[0], source.classes) == (1, None)
    assert len(faults) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a.png\n", "line 1: expected file,label, got"),
        ("name,fold,kind\na.png,1,2\n", r"line 1: .*the columns' names, file,label, got \['name'"),
        ("kind,name\n1,a.png\n", r"line 1: .*the columns' names, file,label, got \['kind', 'name'"),
        ("a.png,1\nb.png,2\na.png,3\n", "line 3: a second label for a.png"),
        ("\udcff", "expected a CSV file of lines file,label"),
    ],
)
def test_broken_labels(tmp_path: Path, text: str, reason: str) -> None:
    put(tmp_path, "a.png", "b.png")
    (tmp_path / "labels.csv").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=reason):
        open_images(tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no image files in"):
        open_images(tmp_path)
    with pytest.raises(InputError, match=r"there is no file .*gone; expected images .*: data set"):
        open_images(tmp_path / "gone")
    with pytest.raises(InputError, match="got an image; name the folder it is in"):
        open_images(put(tmp_path, "a.png") / "a.png")
    with pytest.raises(InputError, match=":test: folder has no splits; leave :test out"):
        open_images(f"{tmp_path}:test")


@pytest.mark.parametrize("path", [b"g", 3, None, "a\0b", ["a"]])
def test_paths_that_are_none(path: Any) -> None:
    with pytest.raises(InputError, match=r"expected the path of images of .* or folder, got"):
        open_images(path)


def test_what_is_asked_for_wrongly(tmp_path: Path) -> None:
    put(tmp_path, "a.png")
    with pytest.raises(InputError, match=r"expected a list to put faults into, or None, got \(\)"):
        open_images(tmp_path, faults=())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected the path of a file of labels, got b'x'"):
        open_images(tmp_path, labels=b"x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"a file of labels, got array\(\[ *0, +1, .{40,50}…$"):
        open_images(tmp_path, labels=np.arange(500))  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a/1.png", "b/2.png")
    listed = os.scandir

    def scandir(folder: str) -> object:
        if str(folder).endswith("b"):
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match=r"cannot list .*b: Permission denied"):
        open_images(tmp_path)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = open_images(put(tmp_path, "a/1.png"))

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("PIL.Image.open", denied)
        with pytest.raises(InputError, match=r"cannot read .*a/1.png: .*Permission denied"):
            source.read(0)
    monkeypatch.setattr(Path, "stat", denied)
    with pytest.raises(InputError, match=r"cannot read .*a/1.png: .*Permission denied"):
        source.read(0)


def test_a_file_that_goes_away(tmp_path: Path) -> None:
    source = open_images(put(tmp_path, "a/1.png"))
    shutil.rmtree(tmp_path / "a")
    with pytest.raises(InputError, match=r"cannot read .*a/1.png: there is no such file"):
        source.read(0)
