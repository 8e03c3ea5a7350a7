"""`hardy.stylise`: which style an image gets, what is written, and how a stopped set goes on."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import hardy
from hardy.errors import HardyError, InputError
from hardy.images import open_images
from hardy.progress import untracked
from hardy.stylise import stylised_set
from hardy.stylise.dressing import Dresser
from hardy.stylise.style_pictures import StylePictures
from hardy.stylise.stylising import Stylised
from hardy.train.training_data import read_data
from tests.stylise.tiny_adain import random_net, tiny, write_classes, write_pictures

__all__ = ["tiny"]

CPU = torch.device("cpu")


def run(data: Path, root: Path, out: str = "out", **more: Any) -> Stylised:
    given = {"weights": root / "tiny.safetensors", "device": "cpu", "track": untracked} | more
    styles = given.pop("styles", root / "styles")
    return hardy.stylise(data, styles, root / out, **given)


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.suffix in (".png", ".npy", ".csv"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def photos(tiny: Path, tmp_path: Path) -> Path:
    write_pictures(tmp_path / "styles", 5)
    return write_classes(tmp_path / "photos")


def test_class_folders_keep_names_and_labels(photos: Path, tmp_path: Path) -> None:
    done = run(photos, tmp_path)
    assert (done.made, done.kept, done.faults) == (6, 0, [])
    before, after = open_images(photos), open_images(tmp_path / "out")
    assert (after.classes, after.ids) == (before.classes, before.ids)
    assert after.labels.tolist() == before.labels.tolist()
    data = read_data(str(tmp_path / "out"), CPU)
    assert data.shape == (3, 10, 12)
    assert not np.array_equal(data.images.numpy(), read_data(str(photos), CPU).images.numpy())
    assert not (tmp_path / "out/labels.csv").exists()


def test_what_is_written_is_what_the_net_makes_of_it(photos: Path, tmp_path: Path) -> None:
    run(photos, tmp_path, alpha=0.5, seed=3)
    pictures = StylePictures(tmp_path / "styles", 3)
    image = np.asarray(Image.open(photos / "dog/01.png"))
    made, style = Dresser(random_net(), pictures, 0.5, CPU).dressed(image, "dog/01")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "out/dog/01.png")), made)
    lines = map(json.loads, (tmp_path / "out/stylised.jsonl").read_text().splitlines())
    (line,) = (line for line in lines if line["source"] == "dog/01.png")
    assert line["styles"] == [style] == [pictures.drawn("dog/01")[0]]
    record = json.loads((tmp_path / "out/stylised.json").read_text())
    assert (record["alpha"], record["seed"], record["styles"]["pictures"]) == (0.5, 3, 5)


def test_other_images_beside_it_change_nothing(photos: Path, tmp_path: Path) -> None:
    run(photos, tmp_path)
    (photos / "cat/00.png").unlink()
    write_pictures(photos / "ant", 1, 10, 12)
    run(photos, tmp_path, "other")
    one, other = content(tmp_path / "out"), content(tmp_path / "other")
    assert all(one[name] == other[name] for name in one.keys() & other.keys())
    assert len(one.keys() & other.keys()) == 5


def stop_after(count: int) -> Any:
    """As Ctrl-C would, once so many files were written."""

    def track(items, total, unit="", amount=len):
        for number, item in enumerate(items):
            if number == count:
                raise KeyboardInterrupt
            yield item

    return track


@pytest.mark.parametrize("kind", ["files", "arrays"])
def test_a_stopped_set_goes_on_to_the_same_bytes(
    kind: str, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stylised_set.StylisedArrays, "size", 2)
    data = photos if kind == "files" else as_array(photos, tmp_path)
    run(data, tmp_path, "whole")
    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path, track=stop_after(2))
    with pytest.raises(InputError, match=r"expected a whole set of images, got .*out, which"):
        open_images(tmp_path / "out")
    first = "cat/01.png" if kind == "files" else "parts/000000002.npy"
    (tmp_path / "out" / first).write_bytes(b"cut off")
    with (tmp_path / "out/stylised.jsonl").open("ab") as file:
        file.write(b'{"source": "cut o')
    done = run(data, tmp_path)
    assert done.kept == (1 if kind == "files" else 2)
    assert done.made == 6 - done.kept
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert run(data, tmp_path)[1:] == (0, 6, [])
    assert not list((tmp_path / "out").rglob(".*"))


def as_array(photos: Path, root: Path) -> Path:
    source = open_images(photos)
    images = np.stack([source.read(row) for row in range(len(source))])
    np.savez(root / "set.npz", images=images, labels=[2, 0, 1, 1, 0, 2])
    return root / "set.npz"


def test_an_array_becomes_a_folder_of_arrays(photos: Path, tmp_path: Path) -> None:
    done = run(as_array(photos, tmp_path), tmp_path)
    assert done.made == 6
    assert sorted(content(tmp_path / "out")) == ["images.npy", "labels.npy"]
    data = read_data(str(tmp_path / "out"), CPU)
    assert data.labels.tolist() == [2, 0, 1, 1, 0, 2]
    image = open_images(tmp_path / "set.npz").read(4)
    dresser = Dresser(random_net(), StylePictures(tmp_path / "styles", 0), 1.0, CPU)
    np.testing.assert_array_equal(data.images[4].numpy(), dresser.dressed(image, 4)[0])


def test_a_flat_folder_takes_its_labels_along(photos: Path, tmp_path: Path) -> None:
    flat = write_pictures(tmp_path / "flat", 3, 12, 12)
    (flat / "labels.csv").write_text("file,label\n00.png,b\n01.png,a\n02.png,b\n")
    run(flat, tmp_path)
    found = open_images(tmp_path / "out")
    assert (found.classes, found.labels.tolist()) == (("a", "b"), [1, 0, 1])
    # Without one of the classes the others would be numbered otherwise, by their names.
    (flat / "01.png").write_bytes(b"damaged")
    (flat / "labels.csv").write_text("00.png,c\n01.png,a\n02.png,b\n")
    done = run(flat, tmp_path, "other")
    assert "01.png" in done.faults[0]
    found = open_images(tmp_path / "other")
    assert (found.classes, found.labels.tolist()) == (None, [2, 1])


def test_numbered_folders_keep_their_numbers(photos: Path, tmp_path: Path) -> None:
    for name in ("0", "2", "10"):
        write_pictures(tmp_path / "numbered" / name, 1, 8, 8)
    run(tmp_path / "numbered", tmp_path)
    before, after = open_images(tmp_path / "numbered"), open_images(tmp_path / "out")
    assert after.labels.tolist() == before.labels.tolist()
    assert after.classes == before.classes


def test_images_that_cannot_be_read_are_left_out_and_listed(photos: Path, tmp_path: Path) -> None:
    (photos / "owl/00.png").write_bytes(b"")
    done = run(photos, tmp_path)
    assert done.made == 5
    (line,) = done.faults
    assert "owl/00.png: the file is empty" in line


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 0.5}, "another set: alpha is 0.5 and was 1.0"),
        ({"seed": 1}, "another set: seed is 1 and was 0"),
        ({"recipe": "resize32_exact@1"}, "another set: recipe is"),
    ],
)
def test_a_folder_holds_one_set(change, message, photos: Path, tmp_path: Path) -> None:
    run(photos, tmp_path)
    with pytest.raises(InputError, match=message):
        run(photos, tmp_path, **change)


def test_other_pictures_or_images_are_another_set(photos: Path, tmp_path: Path) -> None:
    run(photos, tmp_path)
    before = content(tmp_path / "out")
    write_pictures(tmp_path / "styles", 6)
    with pytest.raises(InputError, match="the pictures of styles are others"):
        run(photos, tmp_path)
    shutil.rmtree(tmp_path / "styles")
    write_pictures(tmp_path / "styles", 5)
    shutil.copy(photos / "cat/00.png", photos / "cat/02.png")
    with pytest.raises(InputError, match="the images, their names or labels are others"):
        run(photos, tmp_path)
    (photos / "cat/02.png").unlink()
    shutil.copy(photos / "cat/01.png", photos / "cat/00.png")  # other pixels by the same name
    assert run(photos, tmp_path)[1:3] == (1, 5)
    assert [name for name in before if content(tmp_path / "out")[name] != before[name]] == [
        "cat/00.png"
    ]


def test_bad_input(photos: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=r"pictures in the folder of `styles` .*empty, got no im"):
        run(photos, tmp_path, styles=empty)
    with pytest.raises(InputError, match=r"a folder of pictures as `styles`, got .*nowhere"):
        run(photos, tmp_path, styles=tmp_path / "nowhere")
    for alpha in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match="expected `alpha` from 0 to 1"):
            run(photos, tmp_path, alpha=alpha)
    with pytest.raises(InputError, match="lie one within the other"):
        run(photos, tmp_path, "photos/out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    with pytest.raises(InputError, match="full holds other things than a stylised set"):
        run(photos, tmp_path, "full")
    assert not (tmp_path / "out").exists()


def test_draws_hang_on_id_and_seed_and_are_uniform(tmp_path: Path) -> None:
    folder = write_pictures(tmp_path / "styles", 4)
    pictures = StylePictures(folder, 0)
    assert pictures.drawn("a/b") == StylePictures(folder, 0).drawn("a/b")
    assert pictures.drawn("a/b") != StylePictures(folder, 1).drawn("a/b")
    counts = Counter(pictures.drawn(id)[0] for id in range(400))
    assert len(counts) == 4
    assert min(counts.values()) > 60


def test_a_picture_that_cannot_be_read_is_passed_over(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "styles/03.png").write_bytes(b"damaged")
    done = run(photos, tmp_path)
    assert done.made == 6
    assert all("passed over as a style: cannot read" in line for line in done.faults)
    text = (tmp_path / "out/stylised.jsonl").read_text()
    assert "03.png" not in [
        style for line in text.splitlines() for style in json.loads(line)["styles"]
    ]
    for path in (tmp_path / "styles").iterdir():
        path.write_bytes(b"damaged")
    with pytest.raises(HardyError, match=r"none of 8 pictures drawn for the image cat/00 can be"):
        run(photos, tmp_path, "other")


def test_alpha_0_leaves_the_style_out(tiny: Path, tmp_path: Path) -> None:
    image = np.asarray(Image.open(write_pictures(tmp_path / "one", 1) / "00.png"))
    made = []
    for folder in ("few", "many"):
        pictures = StylePictures(write_pictures(tmp_path / folder, len(folder)), 0)
        made.append(Dresser(random_net(), pictures, 0.0, CPU).dressed(image, 0)[0])
    np.testing.assert_array_equal(*made)
