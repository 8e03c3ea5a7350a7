"""`hardy corrupt` on annotated trees, as COCO, Cityscapes and Pascal VOC are laid out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.corrupt import CORRUPTIONS
from hardy.errors import InputError
from hardy.variants.mirror_manifest import CORRUPTED

DRAWS = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def save(path: str, size: tuple[int, ...] = (48, 64, 3), mode: str | None = None) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(DRAWS.integers(0, 256, size, dtype=np.uint8))
    (image.convert(mode) if mode else image).save(path)


def tree(folder: str) -> list[str]:
    found = (path.relative_to(folder) for path in Path(folder).rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in found if path.name != CORRUPTED)


def test_a_tree_of_coco_is_evaluated_by_changing_one_path() -> None:
    sizes = {"000000000139.jpg": (480, 640, 3), "000000000285.jpg": (64, 48, 3)}
    for name, size in sizes.items():
        save(f"coco/val2017/{name}", size)
    images = [
        {"file_name": name, "height": size[0], "width": size[1]} for name, size in sizes.items()
    ]
    listing = Path("coco/annotations/instances_val2017.json")
    listing.parent.mkdir()
    listing.write_text(json.dumps({"images": images}))
    before = listing.read_bytes()
    made = hardy.corrupt_files("coco", "coco-c", "fog:3 contrast:5", keep_format=True)
    assert (made.done, made.others, made.masks) == (4, 1, ())
    for cell in ("fog/3", "contrast/5"):
        for image in json.loads(listing.read_bytes())["images"]:
            with Image.open(f"coco-c/{cell}/val2017/{image['file_name']}") as found:
                assert (found.format, found.mode) == ("JPEG", "RGB")
                assert found.size == (image["width"], image["height"])
    assert listing.read_bytes() == before
    assert not any("annotations" in name for name in tree("coco-c"))


@pytest.mark.parametrize(
    ("photo", "mask"),
    [
        ("leftImg8bit/val/ulm/u_leftImg8bit.png", "gtFine/val/ulm/u_gtFine_labelIds.png"),
        ("JPEGImages/2007.jpg", "SegmentationClass/2007.png"),
        ("images/validation/ADE_1.jpg", "Annotations/validation/ADE_1.png"),
        ("val2017/1.jpg", "annotations/panoptic_val2017/1.png"),
    ],
)
def test_masks_that_are_images_are_passed_over(photo: str, mask: str, run) -> None:
    save(f"set/{photo}")
    save(f"set/{mask}", (48, 64), "P")
    made = hardy.corrupt_files("set", "set-c", "contrast:1-2", keep_format=True)
    assert tree("set-c") == [f"contrast/1/{photo}", f"contrast/2/{photo}"]
    folder = mask.partition("/")[0]
    assert (made.masks, made.others, made.done) == ((folder,), 1, 2)
    code, out, _ = run("corrupt", "set", "set-c", "--with", "contrast", "--keep-format")
    assert code == 0
    assert f"passed over, as masks or annotations: {folder}\n" in out


def test_masks_alone_are_refused_and_their_folder_itself_is_not() -> None:
    save("set/gtFine/a.png")
    with pytest.raises(InputError, match=r"only masks or annotations in set, .* gtFine; name the"):
        hardy.corrupt_files("set", "out", "contrast", 1)
    assert hardy.corrupt_files("set/gtFine", "out", "contrast", 1).done == 1


def test_what_moves_pixels_is_named(run) -> None:
    save("photos/a.jpg")
    made = hardy.corrupt_files("photos", "out", "glass_blur:1 contrast:1 elastic_transform:1")
    assert made.moved == ("glass_blur", "elastic_transform")
    code, out, _ = run("corrupt", "photos", "out", "--with", "glass_blur:1-2", "--with", "fog:1")
    assert code == 0
    assert "boxes and masks fit only nearly under glass_blur: pixels move\n" in out
    assert hardy.corrupt_files("photos/a.jpg", "a.png", "glass_blur", 1).moved == ()


def test_what_moves_objects_is_refused_with_the_reason(run) -> None:
    save("photos/a.jpg")
    moving = [name for name in hardy.corruptions() if CORRUPTIONS[name].moves == "objects"]
    assert "noc_rotation" in moving
    for name in moving:
        with pytest.raises(InputError, match=rf"^{name} moves objects, so that boxes and masks"):
            hardy.corrupt_files("photos", "out", name, 1)
    code, _, err = run("corrupt", "photos", "out", "--with", "noc_rotation:1 noc_shear:1 fog:1")
    assert code == 2
    assert re.search(r"noc_rotation, noc_shear move objects, .* leave them out, or say --geom", err)
    assert not Path("out").exists()
    assert run("corrupt", "photos", "out", "--with", "noc_rotation:1", "--geometry")[0] == 0
    assert hardy.corrupt_files("photos/a.jpg", "a.png", "noc_rotation", 1).done == 1


def test_a_perturbation_is_told_from_a_corruption(run) -> None:
    save("photos/a.jpg")
    _, _, err = run("corrupt", "photos", "out", "--with", "tilt:1")
    assert 'expected a corruption such as "fog", got the perturbation "tilt", which makes' in err


def test_images_of_other_kinds_go_by_one_rule() -> None:
    """Grey and palettes become RGB; transparency and 16 bits are listed, and left out."""
    save("photos/grey.jpg", (40, 56))
    save("photos/palette.png", mode="P")
    save("photos/opaque.png", mode="RGBA")
    save("photos/clear.png", (40, 56, 4))
    Image.fromarray(DRAWS.integers(0, 65536, (40, 56), dtype=np.uint16)).save("photos/deep.png")
    made = hardy.corrupt_files("photos", "out", "contrast", 1, keep_format=True)
    assert tree("out") == ["grey.jpg", "opaque.png", "palette.png"]
    for name in tree("out"):
        with Image.open(Path("photos", name)) as clean, Image.open(Path("out", name)) as corrupted:
            assert (corrupted.mode, corrupted.size) == ("RGB", clean.size)
            assert corrupted.format == clean.format
    transparent, deep = sorted(made.bad)
    assert "clear.png: expected an image without transparency" in transparent
    assert "deep.png: expected 8 bits per channel" in deep
