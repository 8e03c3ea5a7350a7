"""Building a suite: the same bytes as on the fly, however it is done; and what is refused."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import HardyError, InputError
from hardy.execute import executor
from hardy.suites import load
from hardy.variants.disk.build import build_cells
from hardy.variants.disk.build_header import HEADER
from hardy.variants.disk.manifest import LINES
from hardy.variants.disk.verify import verify
from hardy.variants.generated import Generated
from hardy.variants.stored import open_stored
from tests.photos import photos as pixels_of
from tests.suites.helpers import built, cells_of, opened, tree, write_photos, write_rows

FORMATS = ("jpeg", "png", "npy", "tar")


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_photos(tmp_path_factory.mktemp("photos") / "val")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("rows"))


@pytest.mark.parametrize("suite", ["cifar10_c", "cifar10_p"])
def test_images_of_another_size_are_refused(suite: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((4, 64, 64, 3), np.uint8), labels=range(4))
    message = (
        r"expected images of 32 x 32 for CIFAR-10-., which takes them as they are, got 64 x 64"
    )
    with pytest.raises(InputError, match=message):
        built(suite, tmp_path / "a.npz", tmp_path / "out", "brightness")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_read_back_is_what_is_made_on_the_fly(
    format: str, photos: Path, tmp_path: Path
) -> None:
    """It is the same by name, to the byte, and where the files are JPEG with that step."""
    suite = load("imagenet_c")
    names = ("gaussian_noise", "fog", "contrast")
    outcome = built("imagenet_c", photos, tmp_path / "c", *names, severities=(1, 5), format=format)
    assert outcome == (6, 0, [])
    assert verify(tmp_path / "c").fine
    stored = open_stored(tmp_path / "c")
    cells = cells_of(suite, *names, severities=(1, 5))
    source = opened(photos, suite)
    made = Generated(suite, source, stored=format in ("jpeg", "tar"))
    assert stored.cells == cells
    assert list(stored.ids) == list(made.ids)
    assert stored.classes == made.classes == ("n00000000", "n00000001")
    np.testing.assert_array_equal(stored.labels, made.labels)
    for indices in ([4, 0], list(range(6))):
        there, now = stored.chunk(indices), made.chunk(indices)
        for cell in cells:
            np.testing.assert_array_equal(there.make(cell), now.make(cell), err_msg=str(cell))


def test_numbers_of_classes_are_the_suites(tmp_path: Path) -> None:
    """Whoever reads arrays or tars does not see the names of the folders."""
    pictures = tmp_path / "val"
    for k, pixels in enumerate(pixels_of(32)[:6]):
        place = pictures / ("cat", "horse")[k // 3] / f"{k}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place)
    notes: list[str] = []
    how: dict[str, Any] = {"images": pictures, "only": ["contrast"], "workers": 1}
    how |= {"announce": lambda plan: notes.extend(plan.notes)}
    hardy.build("cifar10_c", out=tmp_path / "c", **how)
    assert notes == [
        "labels are numbers of the 10 classes of CIFAR-10-C; say `own_classes=True` "
        "for numbers of those that are here"
    ]
    labels = np.load(tmp_path / "c/labels.npy")
    assert labels.tolist() == 5 * [3, 3, 3, 7, 7, 7]
    assert verify(tmp_path / "c").fine
    files = {"suite": "cifar10_c", "only": ["contrast"], "store": tmp_path / "runs"}
    here = hardy.evaluate("fake:10", images=pictures, **files)
    there = hardy.evaluate("fake:10", files=tmp_path / "c", **files)
    error = "error contrast"
    assert here.score()[error].value == there.score()[error].value
    with pytest.raises(InputError, match="the list of images or labels is another"):
        hardy.build("cifar10_c", out=tmp_path / "c", own_classes=True, **how)
    hardy.build("cifar10_c", out=tmp_path / "own", own_classes=True, **how)
    assert np.load(tmp_path / "own/labels.npy").tolist() == 5 * [0, 0, 0, 1, 1, 1]
    hardy.build("cifar10_c", out=tmp_path / "tar", format="tar", **how)
    with tarfile.open(next((tmp_path / "tar").rglob("*.tar"))) as shard:
        said = {shard.extractfile(name).read() for name in shard.getnames() if name.endswith("cls")}
    assert said == {b"3", b"7"}


def test_the_official_layouts(photos: Path, rows: Path, tmp_path: Path) -> None:
    built("imagenet_c", photos, tmp_path / "c", "contrast", severities=(2,))
    names = [f"contrast/2/n0000000{k % 2}/photo_{k:03d}.JPEG" for k in range(6)]
    assert sorted(tree(tmp_path / "c")) == sorted([*names, HEADER, LINES])
    with Image.open(tmp_path / "c" / names[0]) as image:
        assert (image.format, image.size, image.mode) == ("JPEG", (224, 224), "RGB")
        assert image.layer[0][1:3] == (2, 2)  # 4:2:0
    built("cifar10_c", rows, tmp_path / "cifar", "contrast")
    assert sorted(tree(tmp_path / "cifar")) == ["contrast.npy", "labels.npy", HEADER, LINES]
    array = np.load(tmp_path / "cifar" / "contrast.npy")
    assert (array.shape, array.dtype) == ((35, 32, 32, 3), np.uint8)
    np.testing.assert_array_equal(np.load(tmp_path / "cifar" / "labels.npy"), [*range(7)] * 5)


def test_jpeg_is_optimised_and_decodes_as_pillows_own(photos: Path, tmp_path: Path) -> None:
    built("imagenet_c", photos, tmp_path / "j", "contrast", severities=(1,))
    built("imagenet_c", photos, tmp_path / "p", "contrast", severities=(1,), format="png")
    for name, data in tree(tmp_path / "j").items():
        if name.endswith(".JPEG"):
            exact = Image.open((tmp_path / "p" / name).with_suffix(".png"))
            file = io.BytesIO()
            exact.save(file, "JPEG", quality=85, optimize=True)
            np.testing.assert_array_equal(Image.open(io.BytesIO(data)), Image.open(file))
            assert abs(len(data) - len(file.getvalue())) < 0.01 * len(data)


@pytest.mark.parametrize("format", FORMATS)
def test_the_bytes_do_not_depend_on_workers(format: str, photos: Path, tmp_path: Path) -> None:
    many = write_photos(tmp_path / "val", 20) if format == "jpeg" else photos
    built("imagenet_c", many, tmp_path / "1", format=format)
    built("imagenet_c", many, tmp_path / "2", format=format, workers=2)
    assert tree(tmp_path / "1") == tree(tmp_path / "2")


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_the_bytes_do_not_depend_on_four_workers(format: str, tmp_path: Path) -> None:
    images = write_photos(tmp_path / "val", 40)
    for workers in (1, 2, 4):
        built("imagenet_c", images, tmp_path / str(workers), "all", format=format, workers=workers)
    assert tree(tmp_path / "1") == tree(tmp_path / "2") == tree(tmp_path / "4")


def test_the_same_command_has_nothing_to_do(photos: Path, tmp_path: Path) -> None:
    assert built("imagenet_c", photos, tmp_path / "c") == (6, 0, [])
    before = tree(tmp_path / "c")
    assert built("imagenet_c", photos, tmp_path / "c") == (0, 6, [])
    assert tree(tmp_path / "c") == before


@pytest.mark.parametrize("format", FORMATS)
def test_a_build_is_extended(format: str, photos: Path, tmp_path: Path) -> None:
    """The order is free; what was there is not written again."""
    out = tmp_path / "c"
    built("imagenet_c", photos, out, "contrast", severities=(2,), format=format)
    first = {path: path.stat().st_ino for path in out.rglob("*") if "contrast" in path.as_posix()}
    outcome = built("imagenet_c", photos, out, severities=(1, 2), format=format)
    assert (outcome.built, outcome.kept) == (6, 0)
    assert {path: path.stat().st_ino for path in first} == first
    built("imagenet_c", photos, out, "jpeg_compression", severities=(3,), format=format)
    built("imagenet_c", photos, out, "contrast", severities=(3,), format=format)
    built("imagenet_c", photos, tmp_path / "at once", severities=(1, 2, 3), format=format)
    assert tree(out) == tree(tmp_path / "at once")
    assert verify(out).fine


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_deleted_is_built_again(format: str, photos: Path, tmp_path: Path) -> None:
    built("imagenet_c", photos, tmp_path, "contrast", severities=(1, 2), format=format)
    before = tree(tmp_path)
    gone = next(path for path in sorted(tmp_path.rglob("*")) if "manifest" not in path.name
                and path.is_file())  # fmt: skip
    gone.unlink()
    built("imagenet_c", photos, tmp_path, "contrast", severities=(1, 2), format=format)
    assert tree(tmp_path) == before


def test_the_manifest_says_how_it_was_made(photos: Path, tmp_path: Path) -> None:
    built("imagenet_c", photos, tmp_path / "c", "contrast", seed=5)
    header = json.loads((tmp_path / "c" / HEADER).read_bytes())
    suite = load("imagenet_c")
    assert header["suite"] == "imagenet_c"
    assert header["suite_version"] == suite.version
    assert header["suite_hash"] == suite.content_hash()
    assert (header["seed"], header["format"], header["images"]) == (5, "jpeg", 6)
    assert header["labels"] == [0, 0, 0, 1, 1, 1]
    assert {"python", "numpy", "numba", "pillow", "opencv-python-headless"} <= set(
        header["versions"]
    )
    lines = [json.loads(line) for line in (tmp_path / "c" / LINES).read_text().splitlines()]
    assert [line["unit"] for line in lines] == list(range(6))
    assert list(lines[0]["cells"]) == [f"contrast:{k}" for k in range(1, 6)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "seed is 1 and was 0"),
        ({"name": "imagenet_c_299"}, "suite is 'imagenet_c_299' and was 'imagenet_c'"),
        ({"format": "png"}, "format is 'png' and was 'jpeg'"),
        ({"images": "fewer"}, "images is 5 and was 6"),
        ({"images": "renamed"}, "holds another build: .*the list of images or labels is another;"),
        (
            {"images": "relabelled"},
            "holds another build: .*the list of images or labels is another;",
        ),
        ({"images": "repainted"}, "the pixels of n00000000/photo_000.JPEG are others"),
    ],
)
def test_another_build_in_the_folder_is_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    images, out = write_photos(tmp_path / "val"), tmp_path / "c"
    built("imagenet_c", images, out, "contrast", severities=(1,))
    before = tree(out)
    photo = images / "n00000000" / "photo_000.JPEG"
    match change.pop("images", None):
        case "fewer":
            photo.unlink()
        case "renamed":
            photo.rename(photo.with_name("photo_000b.JPEG"))
        case "relabelled":
            photo.rename(images / "n00000001" / photo.name)
        case "repainted":
            Image.fromarray(np.full((256, 256, 3), 90, np.uint8)).save(photo)
    name = str(change.pop("name", "imagenet_c"))
    with pytest.raises(InputError, match=message) as refused:
        built(name, images, out, "contrast", severities=(1,), **change)  # type: ignore[arg-type]
    assert ("the pixels" in str(refused.value)) == ("the pixels" in message)
    assert tree(out) == before


def test_a_folder_of_other_things_is_refused(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="expected a new or empty folder, or one that Hardy"):
        built("imagenet_c", photos, tmp_path)
    with pytest.raises(InputError, match="expected a new or empty folder"):
        built("imagenet_c", photos, tmp_path / "thesis.txt")
    assert tree(tmp_path) == {"thesis.txt": b"mine"}


@pytest.mark.parametrize(
    ("name", "format", "message"),
    [
        ("imagenet_c", "mp4", 'for imagenet_c among jpeg, png, npy, tar, got "mp4"'),
        ("imagenet_p", "jpeg", 'for imagenet_p among mp4, npy, got "jpeg"'),
    ],
)
def test_formats_that_a_suite_has_not(
    name: str, format: str, message: str, photos: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        built(name, photos, tmp_path / "out", "all", format=format)
    assert not (tmp_path / "out").exists()


def test_too_little_room_is_found_before_the_start(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**6, 10**6, 1000))
    with pytest.raises(
        HardyError, match=r"60 outputs need about .* kB, and .* 1 kB free; make room"
    ):
        built("imagenet_c", photos, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_estimate_is_close(photos: Path, tmp_path: Path) -> None:
    suite, plans = load("imagenet_c"), []
    for format in FORMATS:
        out = tmp_path / format
        build_cells(
            suite,
            opened(photos, suite),
            out,
            cells_of(suite, "gaussian_noise", "fog"),
            executor=executor(1),
            format=format,
            announce=plans.append,
        )
        plan = plans.pop()
        assert (plan.images, plan.outputs) == (6, 60)
        size = sum(map(len, tree(out).values()))
        assert size / 2 < plan.size < size * 2, format
