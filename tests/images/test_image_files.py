"""Reading, writing and walking: each odd file has one behaviour."""

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy.errors import HardyError, InputError
from hardy.images import image_files as files
from hardy.images.image_files import read_image, walk, write_image

RGB = np.random.default_rng(5).integers(0, 256, (16, 20, 3), dtype=np.uint8)


def save(path: Path, image: Image.Image, **options: object) -> Path:
    image.save(path, **options)
    return path


def deep_png(path: Path, colour_type: int, channels: int) -> Path:
    """A PNG of 16 bits per channel, which Pillow cannot write."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 12, 10, 16, colour_type, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(range(12 * channels)) * 2 for _ in range(10))
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    return path


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".tif", ".ppm", ".webp", ".JPG"])
def test_what_is_written_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"new folder/a{suffix}"
    write_image(path, RGB)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    if suffix == ".JPG":
        theirs = save(tmp_path / "b.jpg", Image.fromarray(RGB), quality=85, optimize=True)
        assert path.read_bytes() == theirs.read_bytes()
    else:
        np.testing.assert_array_equal(read_image(path), RGB)


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK"])
def test_modes_are_converted_by_pillow(tmp_path: Path, mode: str) -> None:
    suffix = ".jpg" if mode == "CMYK" else ".png"
    path = save(tmp_path / f"a{suffix}", Image.fromarray(RGB).convert(mode))
    with Image.open(path) as image:
        assert image.mode == mode
        np.testing.assert_array_equal(read_image(path), np.asarray(image.convert("RGB")))


def test_exif_orientation_is_not_applied(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    path = save(tmp_path / "a.png", Image.fromarray(RGB), exif=exif)
    np.testing.assert_array_equal(read_image(path), RGB)


def test_a_cameras_mpo_gives_its_photograph(tmp_path: Path) -> None:
    preview = Image.new("RGB", (10, 8), "red")
    path = tmp_path / "a.jpg"
    Image.fromarray(RGB).save(path, "MPO", save_all=True, append_images=[preview])
    assert read_image(path).shape == RGB.shape


def test_16_bit_colours_packed_into_a_bmp_are_8_bit_images(tmp_path: Path) -> None:
    """Raw mode BGR;16 has 5 + 6 + 5 bits per pixel."""
    pixels = np.full((10, 12), 0b11111_000000_00000, "<u2").tobytes()
    masks = struct.pack("<III", 0xF800, 0x07E0, 0x001F)
    info = struct.pack("<IiiHHIIiiII", 40, 12, 10, 1, 16, 3, len(pixels), 0, 0, 0, 0)
    head = struct.pack("<2sIHHI", b"BM", 66 + len(pixels), 0, 0, 66)
    (tmp_path / "a.bmp").write_bytes(head + info + masks + pixels)
    assert read_image(tmp_path / "a.bmp")[0, 0].tolist() == [255, 0, 0]


def broken(folder: Path, what: str) -> Path:
    path = folder / "x.png"
    picture = Image.fromarray(RGB)
    match what:
        case "missing":
            return path
        case "folder":
            path.mkdir()
        case "empty":
            path.touch()
        case "text":
            path.write_text("not an image at all")
        case "pickle":
            np.save(folder / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
            return folder / "x.npy"
        case "truncated png":
            save(path, picture)
            path.write_bytes(path.read_bytes()[:-300])
        case "truncated jpeg":
            path = save(folder / "x.jpg", picture)
            path.write_bytes(path.read_bytes()[:-60])
        case "broken header":
            save(path, picture)
            path.write_bytes(path.read_bytes()[:20])
        case "16-bit grey":
            deep_png(path, 0, 1)
        case "16-bit colour":
            deep_png(path, 2, 3)
        case "16-bit colour with alpha":
            deep_png(path, 6, 4)
        case "16-bit grey with alpha":
            deep_png(path, 4, 2)
        case "16-bit ppm":
            path = folder / "x.ppm"
            path.write_bytes(b"P6 12 10 65535\n" + bytes(12 * 10 * 6))
        case "16-bit tiff":
            path = folder / "x.tif"
            _deep_tiff(path)
        case "float tiff":
            path = save(folder / "x.tif", Image.new("F", (12, 10)))
        case "animated gif" | "animated webp" | "animated png" | "pages":
            suffix = {"pages": "tif"}.get(what, what.split()[-1])
            frames = [Image.new("RGB", (12, 10), (shade, 0, 0)) for shade in (0, 90, 180)]
            path = folder / f"x.{suffix}"
            frames[0].save(path, save_all=True, append_images=frames[1:], duration=50)
        case "transparent":
            save(path, Image.new("RGBA", (12, 10), (1, 2, 3, 4)))
        case "small":
            save(path, Image.new("RGB", (12, 7)))
        case "bomb":
            path = folder / "x.ppm"
            path.write_bytes(b"P6 60000 60000 255\n")
    return path


def _deep_tiff(path: Path) -> None:
    """An uncompressed RGB TIFF of 16 bits per channel."""
    data = bytes(12 * 10 * 6)
    tags = [(256, 3, 1, 12), (257, 3, 1, 10), (258, 3, 3, 8 + len(data)), (259, 3, 1, 1)]
    tags += [(262, 3, 1, 2), (273, 4, 1, 8), (277, 3, 1, 3), (278, 3, 1, 10)]
    tags += [(279, 4, 1, len(data)), (284, 3, 1, 1)]
    entries = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    directory = struct.pack("<H", len(tags)) + entries + bytes(4)
    start = 8 + len(data) + 6
    depths = struct.pack("<HHH", 16, 16, 16)
    path.write_bytes(struct.pack("<2sHI", b"II", 42, start) + data + depths + directory)


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("missing", "there is no such file"),
        ("folder", "expected an image file, got a folder"),
        ("empty", "the file is empty"),
        ("text", "not an image of a known format"),
        ("pickle", "not an image of a known format"),
        ("truncated png", "truncated|broken|incomplete"),
        ("truncated jpeg", "truncated"),
        ("broken header", "not an image of a known format|Truncated"),
        ("16-bit grey", "expected 8 bits per channel, got .* mode I"),
        ("16-bit colour", "expected 8 bits per channel, got .* mode RGB;16B"),
        ("16-bit colour with alpha", "expected 8 bits per channel, got .* mode RGBA;16B"),
        ("16-bit grey with alpha", "expected 8 bits per channel, got .* mode LA;16B"),
        ("16-bit ppm", "expected 8 bits per channel, got .* RGB with values up to 65535"),
        ("16-bit tiff", "expected 8 bits per channel, got .* mode RGB;16L"),
        ("float tiff", "expected 8 bits per channel, got .* mode F"),
        ("animated gif", "expected a still image, got GIF of several frames"),
        ("animated webp", "expected a still image, got WEBP of several frames"),
        ("animated png", "expected a still image, got PNG of several frames"),
        ("pages", "expected a still image, got TIFF of several frames"),
        ("transparent", "transparent pixels"),
        ("small", "at least 8 pixels per side, got width 12, height 7"),
        ("bomb", "decompression bomb.*MAX_IMAGE_PIXELS"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, what: str, reason: str) -> None:
    path = broken(tmp_path, what)
    with pytest.raises(InputError, match=reason) as caught:
        read_image(path)
    assert str(caught.value).startswith(f"cannot read {path}: ")


def test_unknown_formats_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"cannot write .*x.gif: expected .*\.png keeps every byte"
    ):
        write_image(tmp_path / "x.gif", RGB)


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.png"
    write_image(path, RGB)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(HardyError, match=r"x.png could not be written .disk full"):
        write_image(path, 255 - RGB)
    assert [p.name for p in tmp_path.iterdir()] == ["x.png"]
    np.testing.assert_array_equal(read_image(path), RGB)


def test_a_place_that_is_no_folder_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HardyError, match="could not be written"):
        write_image(tmp_path / "file" / "x.png", RGB)


def test_walk_finds_images_by_suffix(tmp_path: Path) -> None:
    for name in (
        "b/2.PNG",
        "b/1.jpeg",
        "a.jpg",
        "labels.csv",
        ".hidden.png",
        ".git/x.png",
        "c.npy",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert walk(tmp_path) == ([Path("a.jpg"), Path("b/1.jpeg"), Path("b/2.PNG")], 2, [])


def test_walk_reports_a_folder_that_cannot_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "a.png").touch()
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def forbidding(path: object) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", forbidding)
    images, _, closed = walk(tmp_path)
    assert images == [Path("open/a.png")]
    assert closed == [f"cannot list {tmp_path / 'closed'}: Permission denied"]
