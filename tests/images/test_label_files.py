"""Labels as people have them: Kaggle's list, ILSVRC's ground truth, maps, numbered folders."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy.errors import InputError
from hardy.images import Fault, Source, open_images
from hardy.images.label_files import FILE_COLUMNS, LABEL_COLUMNS
from hardy.images.labels import classes_of
from hardy.suites import load
from tests.photos import random_images

RGB = random_images(1, 12, 10)[0]
TENCH, GOLDFISH, FOX = "n01440764", "n01443537", "n02119789"
VAL = [f"ILSVRC2012_val_0000000{n}.JPEG" for n in (1, 2, 3)]


def put(root: Path, names: Sequence[str]) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(RGB).save(root / name, "PNG")
    return root


def beside(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / "kit").mkdir(exist_ok=True)
    (tmp_path / "kit" / name).write_text(text, encoding="utf-8")
    return tmp_path / "kit" / name


def said(source: Source) -> dict[str, str]:
    assert source.labels is not None
    names = source.classes or [str(n) for n in range(1000)]
    return {file: names[n] for file, n in zip(source.files, source.labels, strict=True)}


def test_kaggles_list(tmp_path: Path) -> None:
    """It has more images than are here, names without suffix, and boxes of several classes."""
    rows = [
        "ImageId,PredictionString",
        "ILSVRC2012_val_00048981,n03995372 85 1 499 272 ",
        f"ILSVRC2012_val_00000002,{FOX} 3 4 5 6 n03995372 31 77 377 374 ",
        f"ILSVRC2012_val_00000001,{TENCH} 111 108 230 173 {TENCH} 1 2 3 4 ",
        f"ILSVRC2012_val_00000003,{GOLDFISH} 5 8 20 173 ",
    ]
    path = beside(tmp_path, "LOC_val_solution.csv", "\n".join(rows) + "\n")
    source = open_images(put(tmp_path / "val", VAL), labels=path)
    assert said(source) == dict(zip(VAL, (TENCH, FOX, GOLDFISH), strict=True))
    path.write_text("\n".join(rows[:-1]))
    faults: list[Fault] = []
    assert len(open_images(tmp_path / "val", labels=path, faults=faults)) == 2
    assert [f"{VAL[2]} has no label in" in fault.reason for fault in faults] == [True]


MAPS = {
    "map_clsloc.txt": f"{FOX} 1 kit_fox\n{TENCH} 449 tench\n{GOLDFISH} 450 goldfish\n",
    "label_map.csv": f"1,{FOX}\n449,{TENCH}\n450,{GOLDFISH}\n",
    "label_map.txt": f"1 {FOX}\n\n449 {TENCH}\n450 {GOLDFISH}",
    "label_map.json": json.dumps({"1": [FOX, "kit fox"], "449": TENCH, "450": GOLDFISH}),
}


@pytest.mark.parametrize("name", [*MAPS, "meta.mat"])
def test_ilsvrcs_ground_truth_goes_by_a_map_beside_it(tmp_path: Path, name: str) -> None:
    truth = beside(tmp_path, "ILSVRC2012_validation_ground_truth.txt", "449\n1\n450\n")
    put(tmp_path / "val", VAL)
    with pytest.raises(InputError, match=r"ILSVRC's order is its own, .*meta.mat or map_clsloc"):
        open_images(tmp_path / "val", labels=truth)
    if name == "meta.mat":
        savemat = pytest.importorskip("scipy.io").savemat
        kinds = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("words", "O")]
        rows = [(1, FOX, "kit fox"), (449, TENCH, "tench"), (450, GOLDFISH, "goldfish")]
        savemat(truth.with_name(name), {"synsets": np.array(rows, kinds)})
    else:
        beside(tmp_path, name, MAPS[name])
    source = open_images(tmp_path / "val", labels=truth)
    assert said(source) == dict(zip(VAL, (TENCH, FOX, GOLDFISH), strict=True))
    got = classes_of(load("imagenet_c"), source.labels, source.classes, 3)
    assert got.labels.tolist()[0] == 0  # and not 448


def test_a_line_belongs_to_the_image_of_its_number(tmp_path: Path) -> None:
    """Also where only some are here, or they lie in class folders, which sort in another order."""
    truth = beside(tmp_path, "synset_labels.txt", f"{TENCH}\n{FOX}\n{GOLDFISH}\n")
    put(tmp_path / "val", [f"b/{VAL[0]}", f"a/{VAL[2]}"])
    source = open_images(tmp_path / "val", labels=truth)
    assert said(source) == {f"a/{VAL[2]}": GOLDFISH, f"b/{VAL[0]}": TENCH}


def test_lines_with_a_zero_are_class_numbers_in_the_order_of_the_files(tmp_path: Path) -> None:
    lines = beside(tmp_path, "labels.txt", "3\n0\n")
    source = open_images(put(tmp_path / "set", ["b.png", "a.png"]), labels=lines)
    assert said(source) == {"a.png": "3", "b.png": "0"}
    put(tmp_path / "set", ["c/d.png"])
    for text in ("3\n0\n", "3\n0\n2\n"):
        lines.write_text(text)
        with pytest.raises(
            InputError, match=r"one label per line for 3 images in one folder, .*go"
        ):
            open_images(tmp_path / "set", labels=lines)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("label_map.csv", f"1,{FOX}\n", "label_map.csv has no class for the label 449 of"),
        ("label_map.csv", "1\n", r"expected number,class in each line, got \['1'\]"),
        ("label_map.json", "[1, 2]", "expected names and their classes"),
        ("label_map.json", '{"1": null}', "expected names and their classes"),
        ("label_map.json", "{", "label_map.json: expected JSON"),
        ("meta.mat", "not MATLAB's", "expected the meta.mat of ILSVRC's development kit"),
    ],
)
def test_maps_that_cannot_be_used(tmp_path: Path, name: str, text: str, reason: str) -> None:
    truth = beside(tmp_path, "truth.txt", "449\n1\n450\n")
    beside(tmp_path, name, text)
    with pytest.raises(InputError, match=reason):
        open_images(put(tmp_path / "val", VAL), labels=truth)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("map.json", json.dumps({"big fish": TENCH, "gold": [GOLDFISH, "x"], "absent": FOX})),
        ("map.csv", f"big fish,{TENCH}\ngold,{GOLDFISH}\n"),
    ],
)
def test_a_label_map_of_class_folders(tmp_path: Path, name: str, text: str) -> None:
    files = ["big fish/a.png", "big fish/deep/b.png", "gold/c.png"]
    source = open_images(put(tmp_path / "set", files), labels=beside(tmp_path, name, text))
    assert said(source) == dict(zip(files, (TENCH, TENCH, GOLDFISH), strict=True))


def test_a_label_map_lacks_a_folder(tmp_path: Path) -> None:
    put(tmp_path / "set", ["a/1.png", "b/2.png"])
    with pytest.raises(InputError, match=r"b/2.png has no label in"):
        open_images(tmp_path / "set", labels=beside(tmp_path, "map.json", '{"a": 0}'))


@pytest.mark.parametrize("key", ["1", "1.png"])
def test_a_short_name_fits_one_file_only(tmp_path: Path, key: str) -> None:
    put(tmp_path / "set", ["x/1.png", "y/1.png", "y/2.png"])
    labels = beside(tmp_path, "labels.csv", f"{key},5\n2.png,6\n")
    with pytest.raises(InputError, match=rf"name of one file, got {key}, which fits 2 files in"):
        open_images(tmp_path / "set", labels=labels)
    labels.write_text("x/1.png,5\ny/1.png,4\n2.png,6\n")
    source = open_images(tmp_path / "set", labels=labels)
    assert said(source) == {"x/1.png": "5", "y/1.png": "4", "y/2.png": "6"}


@pytest.mark.parametrize("absent", [f"absent,{FOX}\n", f"absent.png,{FOX}\n", "name,kind\n"])
def test_a_list_has_more_than_is_here(tmp_path: Path, absent: str) -> None:
    put(tmp_path / "set", ["big fish/a.png", "gold/c.png"])
    labels = beside(tmp_path, "map.csv", f"{absent}big fish,{TENCH}\ngold,{GOLDFISH}\n")
    source = open_images(tmp_path / "set", labels=labels)
    assert said(source) == {"big fish/a.png": TENCH, "gold/c.png": GOLDFISH}


def test_words_with_spaces_between(tmp_path: Path) -> None:
    put(tmp_path / "set", ["a.png", "b.png"])
    words = beside(tmp_path, "val.txt", "b.png 65\na.png\t7\n")
    assert said(open_images(tmp_path / "set", labels=words)) == {"a.png": "7", "b.png": "65"}
    words.write_text("a.png golden retriever\nb.png cat\n")
    with pytest.raises(
        InputError, match=r"val.txt, line 1: expected file,label, got \['a.png', 'g"
    ):
        open_images(tmp_path / "set", labels=words)


def test_folders_called_by_numbers_are_class_numbers(tmp_path: Path) -> None:
    put(tmp_path, [f"{n}/x{n}.png" for n in range(12)])
    source = open_images(tmp_path)
    assert said(source) == {f"{n}/x{n}.png": str(n) for n in range(12)}
    assert source.classes == tuple(map(str, range(12)))
    got = classes_of(load("imagenet_c"), source.labels, source.classes, 12)
    assert got.labels.tolist() == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]  # the files are sorted


@pytest.mark.parametrize(
    ("folders", "labels", "classes"),
    [
        (["000", "010", "002"], [0, 2, 10], None),
        (["0", "999"], [0, 999], None),
        (["00", "01"], [0, 1], ("00", "01")),
        (["2019", "2020"], [0, 1], ("2019", "2020")),  # without a 0 they are names, as before
        (["0", "00"], [0, 1], ("0", "00")),
        (["0", "1", "cat"], [0, 1, 2], ("0", "1", "cat")),
    ],
)
def test_some_numbers_only(
    tmp_path: Path, folders: list[str], labels: list[int], classes: tuple[str, ...] | None
) -> None:
    source = open_images(put(tmp_path, [f"{folder}/x{folder}.png" for folder in folders]))
    assert source.labels is not None
    assert (source.labels.tolist(), source.classes) == (labels, classes)


@pytest.mark.parametrize("file", FILE_COLUMNS)
@pytest.mark.parametrize("label", ["Label", "class_id"])
def test_a_first_line_calls_the_columns_as_people_do(tmp_path: Path, file: str, label: str) -> None:
    put(tmp_path / "set", ["0001.png", "0002.png"])
    text = f"{label},split,{file}\ncat,val,0002\ndog,val,0001.png\n"
    source = open_images(tmp_path / "set", labels=beside(tmp_path, "labels.csv", text))
    assert said(source) == {"0001.png": "dog", "0002.png": "cat"}


def test_an_id_may_be_a_number_beside_the_file(tmp_path: Path) -> None:
    put(tmp_path / "set", ["a.png", "b.png"])
    text = "id,image_name,label,class_id\n0,b,cat,7\n1,a,dog,8\n"
    source = open_images(tmp_path / "set", labels=beside(tmp_path, "labels.csv", text))
    assert said(source) == {"a.png": "dog", "b.png": "cat"}


def test_the_page_lists_what_columns_may_be_called() -> None:
    page = Path(__file__, "../../../docs/building.md").resolve().read_text("utf-8")
    assert all(f"`{name}`" in page for name in (*FILE_COLUMNS, *LABEL_COLUMNS))


def test_labels_of_other_files(tmp_path: Path) -> None:
    put(tmp_path / "set", ["0001.png", "0002.png"])
    labels = beside(tmp_path, "labels.csv", "id,label\n1,cat\n2,dog\n")
    with pytest.raises(InputError, match=r"names of files in .*set, such as 0001.png, got .* 1$"):
        open_images(tmp_path / "set", labels=labels, faults=[])


@pytest.mark.parametrize("kind", ["flat", "array"])
def test_a_missing_file_of_labels(tmp_path: Path, kind: str) -> None:
    images = put(tmp_path / "set", ["a.png"])
    if kind == "array":
        images = tmp_path / "set.npy"
        np.save(images, RGB[None])
    with pytest.raises(InputError, match=r"^there is no file nowhere.csv; expected the labels"):
        open_images(images, labels="nowhere.csv")
    with pytest.raises(InputError, match=r"expected a file with the labels .*, got a folder"):
        open_images(images, labels=tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")  # to open it would be to wait for ever
        with pytest.raises(InputError, match=r"expected a file with the labels .*, got no file"):
            open_images(images, labels=tmp_path / "pipe.csv")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("map_clsloc.txt", MAPS["map_clsloc.txt"]),
        ("map.csv", f"{TENCH},449\n{GOLDFISH},450\n"),
        ("map.json", json.dumps({TENCH: 449, GOLDFISH: 450})),
    ],
)
def test_ilsvrcs_numbers_are_not_those_of_models(tmp_path: Path, name: str, text: str) -> None:
    put(tmp_path / "set", [f"{TENCH}/a.png", f"{GOLDFISH}/b.png"])
    labels = beside(tmp_path, name, text)
    reason = rf"the number 449 for {TENCH}.* is 0 in the order of models; .* need no `labels`"
    if name == "map_clsloc.txt":
        reason = rf"the number 1 for {FOX}.* is 278 in the order of models"
    with pytest.raises(InputError, match=reason):
        open_images(tmp_path / "set", labels=labels)


@pytest.mark.parametrize("numbers", [(0, 1), (1, 0)])
def test_numbers_of_ones_own_for_wordnets_names(tmp_path: Path, numbers: tuple[int, int]) -> None:
    """They are in the order of models, or have a 0 among them."""
    put(tmp_path / "set", [f"{TENCH}/a.png", f"{GOLDFISH}/b.png"])
    labels = beside(tmp_path, "map.csv", f"{TENCH},{numbers[0]}\n{GOLDFISH},{numbers[1]}\n")
    source = open_images(tmp_path / "set", labels=labels)
    assert source.labels is not None
    assert source.labels.tolist() == list(numbers)
    labels.write_text(f"{GOLDFISH},1\n")
    assert len(open_images(tmp_path / "set", labels=labels, faults=[])) == 1


def test_a_label_map_means_folders_though_a_file_is_called_as_one(tmp_path: Path) -> None:
    put(tmp_path / "set", ["dog/cat.png", "dog/b.png", "cat/rex.png"])
    labels = beside(tmp_path, "map.csv", "cat,1\ndog,0\n")
    source = open_images(tmp_path / "set", labels=labels)
    assert said(source) == {"cat/rex.png": "1", "dog/b.png": "0", "dog/cat.png": "0"}


def test_a_list_means_files_though_a_folder_is_called_as_one(tmp_path: Path) -> None:
    put(tmp_path / "set", ["dog/cat.png", "cat/rex.png"])
    labels = beside(tmp_path, "list.csv", "cat,1\nrex,0\n")
    source = open_images(tmp_path / "set", labels=labels)
    assert said(source) == {"cat/rex.png": "0", "dog/cat.png": "1"}


@pytest.mark.parametrize("text", ["cat,1\ndog,0\n", "cat,1\nx,0\n"])
def test_a_name_that_is_a_file_and_a_folder(tmp_path: Path, text: str) -> None:
    """Both are named, or neither all files nor all folders are."""
    put(tmp_path / "set", ["dog/cat.png", "cat/dog.png"])
    reason = r"got (cat|dog), which in .*set is both; if the file is meant, write folder and suffix"
    with pytest.raises(InputError, match=reason):
        open_images(tmp_path / "set", labels=beside(tmp_path, "map.csv", text), faults=[])


@pytest.mark.parametrize(
    "header", ["file,label,label", "File,class_id,classid", "image,label,image"]
)
def test_a_column_that_comes_twice_is_refused(header: str, tmp_path: Path) -> None:
    folder = put(tmp_path / "images", ["a.png", "b.png"])
    labels = beside(tmp_path, "labels.csv", f"{header}\na.png,0,b.png\nb.png,1,a.png\n")
    with pytest.raises(InputError, match=r"labels\.csv, line 1: expected one column .*, got 2 in"):
        open_images(folder, labels=labels)
