"""Official files and built ones, behind the face of what is made on the fly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy.errors import InputError
from hardy.suites import load
from hardy.suites.cells import Cell
from hardy.variants import Variants
from hardy.variants.disk import encode
from hardy.variants.disk.build_header import HEADER
from hardy.variants.disk.verify import verify
from hardy.variants.generated import Generated
from hardy.variants.stored import open_stored
from tests.photos import photos
from tests.records import read_unsealed
from tests.suites.helpers import built, cells_of, opened, write_photos, write_rows

FILES = ("n01/a_1.JPEG", "n01/a_2.JPEG", "n02/b_1.JPEG", "n02/b_2.JPEG")


def pixels(side: int, *number: int) -> np.ndarray:
    return np.roll(photos(side)[number[0] % 8], 7 * sum(number), axis=1)


def official(folder: Path, side: int, cells: dict[str, tuple[int, ...]], files=FILES) -> None:  # type: ignore[no-untyped-def]
    """`corruption/severity/class/file`, as Pillow writes it."""
    for number, (name, severities) in enumerate(cells.items()):
        for severity in severities:
            for index, file in enumerate(files):
                path = folder / name / str(severity) / file
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(pixels(side, index, number, severity)).save(
                    path, "JPEG", quality=85
                )


def check_face(variants: Variants, count: int, shape: tuple[int, ...]) -> None:
    """What evaluation relies on."""
    assert len(variants) == len(variants.ids) == count
    assert len(set(variants.ids)) == count
    if variants.labels is not None:
        assert variants.labels.shape == (count,)
        assert variants.labels.dtype == np.int64
    assert f"{count:,} images" in variants.describe()
    assert variants.suite.name in variants.describe()
    for cell in variants.cells:
        made = variants.chunk([count - 1, 0]).make(cell)
        assert made.shape == (2, *shape)
        assert made.dtype == np.uint8
        assert made.flags.c_contiguous
        np.testing.assert_array_equal(made[1:], variants.chunk([0]).make(cell))


@pytest.mark.parametrize(("name", "side"), [("imagenet_c", 224), ("tiny_imagenet_c", 64)])
@pytest.mark.parametrize("nested", [False, True])
def test_official_folders(name: str, side: int, nested: bool, tmp_path: Path) -> None:
    """As they are unpacked: all in one, or each archive in a folder of its own."""
    blur, weather = (tmp_path / "blur", tmp_path / "weather") if nested else (tmp_path, tmp_path)
    official(blur, side, {"defocus_blur": (1, 2, 3, 4, 5)})
    official(weather, side, {"fog": (1, 5)})
    (tmp_path / "README.txt").touch()
    stored = open_stored(tmp_path, load(name))
    check_face(stored, 4, (side, side, 3))
    assert list(map(str, stored.cells)) == [
        *(f"defocus_blur:{k}" for k in range(1, 6)),
        "fog:1",
        "fog:5",
    ]
    assert stored.classes == ("n01", "n02")
    assert stored.labels is not None
    assert stored.labels.tolist() == [0, 0, 1, 1]
    assert list(stored.ids) == ["a_1", "a_2", "b_1", "b_2"]
    path = weather / "fog" / "5" / FILES[2]
    with Image.open(path) as image:
        np.testing.assert_array_equal(stored.chunk([2]).make(Cell("fog", 5))[0], np.asarray(image))


def test_names_that_recur_in_every_class(tmp_path: Path) -> None:
    official(tmp_path, 64, {"fog": (1,)}, ("n01/test_0.JPEG", "n02/test_0.JPEG"))
    stored = open_stored(tmp_path, load("tiny_imagenet_c"))
    assert list(stored.ids) == ["n01/test_0", "n02/test_0"]


def test_files_without_classes(tmp_path: Path) -> None:
    official(tmp_path, 64, {"fog": (1,)}, ("a.JPEG", "b.JPEG"))
    stored = open_stored(tmp_path, load("tiny_imagenet_c"))
    check_face(stored, 2, (64, 64, 3))
    assert (stored.labels, stored.classes) == (None, None)


def test_official_folders_that_are_not_whole(tmp_path: Path) -> None:
    suite = load("tiny_imagenet_c")
    with pytest.raises(InputError, match="has no manifest, so expected the name of its suite"):
        open_stored(tmp_path)
    with pytest.raises(InputError, match=r"folders such as gaussian_noise/1, or .npy files"):
        open_stored(tmp_path, suite)
    official(tmp_path, 64, {"fog": (1, 2)})
    (tmp_path / "fog" / "2" / FILES[1]).unlink()
    with pytest.raises(InputError, match=r"fog:2 and fog:1 hold different files, 1 .* n01/a_2"):
        open_stored(tmp_path, suite)
    official(tmp_path, 64, {"fog": (1, 2)})
    Image.fromarray(pixels(32, 0)).save(tmp_path / "fog" / "2" / FILES[1])
    with pytest.raises(InputError, match=r"have one shape, got \(64, 64, 3\) and \(32, 32, 3\)"):
        open_stored(tmp_path, suite).chunk([0, 1]).make(Cell("fog", 2))
    (tmp_path / "fog" / "2" / FILES[1]).write_bytes(b"")
    with pytest.raises(InputError, match=r"fog/2/n01/a_2.JPEG: the file is empty"):
        open_stored(tmp_path, suite).chunk([0, 1]).make(Cell("fog", 2))


def cifar_c(folder: Path, count: int = 3, severities: int = 5) -> np.ndarray:
    rows = np.stack([pixels(32, k) for k in range(severities * count)])
    np.save(folder / "fog.npy", rows)
    return rows


def test_official_arrays(tmp_path: Path) -> None:
    rows = cifar_c(tmp_path)
    np.save(tmp_path / "labels.npy", np.tile(np.array([7, 0, 9], np.uint8), 5))
    np.save(tmp_path / "speckle_noise.npy", rows[::-1])
    stored = open_stored(tmp_path, load("cifar10_c"))
    check_face(stored, 3, (32, 32, 3))
    assert [str(cell) for cell in stored.cells][::5] == ["fog:1", "speckle_noise:1"]
    assert list(stored.ids) == [0, 1, 2]
    assert stored.labels is not None
    assert stored.labels.tolist() == [7, 0, 9]
    np.testing.assert_array_equal(stored.chunk([2, 0]).make(Cell("fog", 4)), rows[[11, 9]])


def test_official_arrays_that_do_not_fit(tmp_path: Path) -> None:
    suite = load("cifar10_c")
    cifar_c(tmp_path)
    assert open_stored(tmp_path, suite).labels is None
    np.save(tmp_path / "labels.npy", np.zeros(14, np.uint8))
    with pytest.raises(InputError, match="expected 3 labels, or 15 for five severities, got 14"):
        open_stored(tmp_path, suite)
    (tmp_path / "labels.npy").unlink()
    np.save(tmp_path / "snow.npy", np.zeros((20, 32, 32, 3), np.uint8))
    with pytest.raises(InputError, match="fog:1 has 3 images, others have 4"):
        open_stored(tmp_path, suite)
    np.save(tmp_path / "snow.npy", np.zeros((16, 32, 32, 3), np.uint8))
    with pytest.raises(InputError, match="5 severities of equal length, got 16 rows"):
        open_stored(tmp_path, suite)
    np.save(tmp_path / "snow.npy", np.zeros((15, 32, 32, 3)))
    with pytest.raises(InputError, match=r"expected uint8 .* got float64 \(15, 32, 32, 3\)"):
        open_stored(tmp_path, suite)
    np.save(tmp_path / "snow.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(InputError, match=r"cannot read .*snow.npy"):
        open_stored(tmp_path, suite)


def test_official_arrays_of_sequences(tmp_path: Path) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (3, 31, 32, 32, 3), np.uint8)
    np.save(tmp_path / "tilt.npy", frames)
    np.save(tmp_path / "shot_noise_2.npy", frames[:, ::-1])
    stored = open_stored(tmp_path, load("cifar10_p"))
    check_face(stored, 3, (31, 32, 32, 3))
    assert list(map(str, stored.cells)) == ["shot_noise:2", "tilt:1"]
    assert stored.labels is None
    np.testing.assert_array_equal(stored.chunk([1]).make(Cell("tilt", 1))[0], frames[1])


def moving(side: int, count: int = 5) -> np.ndarray:
    return np.stack([np.roll(photos(side)[0], k, axis=1) for k in range(count)])


def test_official_videos(tmp_path: Path) -> None:
    frames = moving(64)
    for name in ("tilt", "shot_noise", "shot_noise_3"):
        for file in FILES:
            path = (tmp_path / name / file).with_suffix(".mp4")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encode.video(frames, "x264:crf=20,preset=veryslow"))
    (tmp_path / "tilt" / "n01" / "._a.mp4").touch()
    stored = open_stored(tmp_path, load("imagenet_p"))
    check_face(stored, 4, (5, 64, 64, 3))
    assert list(map(str, stored.cells)) == ["shot_noise:1", "shot_noise:3", "tilt:1"]
    assert stored.classes == ("n01", "n02")
    assert list(stored.ids) == ["a_1", "a_2", "b_1", "b_2"]
    (tmp_path / "tilt" / "n02" / "b_1.mp4").write_bytes(b"no video")
    with pytest.raises(InputError, match=r"cannot read .*b_1.mp4.*fetch or build it again"):
        stored.chunk([2]).make(Cell("tilt", 1))


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    return float(10 * np.log10(255**2 / np.mean((a.astype(float) - b) ** 2)))


@pytest.mark.parametrize("side", [64, 299])
@pytest.mark.parametrize("storage", ["storage", "noise_storage"])
def test_video_of_any_size(side: int, storage: str, tmp_path: Path) -> None:
    """As many frames, as large, also of odd sides, and close in colour too."""
    settings = getattr(load("imagenet_p"), storage)
    frames = moving(side)
    back = _decoded(encode.video(frames, settings), tmp_path)
    assert back.shape == frames.shape
    assert psnr(back, frames) > 36
    red = np.zeros((2, side, side, 3), np.uint8)
    red[:, ::2, ::2] = (255, 0, 0)  # would be lost if colour had half the resolution
    assert psnr(_decoded(encode.video(red, settings), tmp_path), red) > 25


def _decoded(data: bytes, folder: Path) -> np.ndarray:
    (folder / "video.mp4").write_bytes(data)
    return encode.read_video(folder / "video.mp4")


ENCODE = """
import sys, numpy
from hardy.suites import load
from hardy.variants.disk import encode
from tests.records import read_unsealed
sys.stdout.buffer.write(encode.video(numpy.load(sys.argv[1]), load("tiny_imagenet_p").storage))
"""


def test_video_does_not_depend_on_what_was_in_memory(tmp_path: Path) -> None:
    """Under AVX-512, x264 reads memory that it has not set, and decides by it."""
    suite, images = load("tiny_imagenet_p"), write_photos(tmp_path / "val", 1)
    frames = Generated(suite, opened(images, suite)).chunk([0]).make(Cell("tilt", 1))[0]
    np.save(tmp_path / "frames.npy", frames)
    found = {
        subprocess.run(
            [sys.executable, "-c", ENCODE, str(tmp_path / "frames.npy")],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "MALLOC_PERTURB_": filling,  # what the C library puts into new memory
            },
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for filling in ("1", "85", "200")
    }
    assert found == {encode.video(frames, str(suite.storage))}


def test_sequences_built_as_arrays_are_exact(tmp_path: Path) -> None:
    suite, images = load("cifar10_p"), write_rows(tmp_path / "rows", 3)
    names = ("tilt", "shot_noise", "spatter")
    built("cifar10_p", images, tmp_path / "1", *names)
    stored = open_stored(tmp_path / "1")
    cells = cells_of(suite, *names)
    assert stored.cells == cells
    made = Generated(suite, opened(images, suite))
    for cell in cells:
        frames = suite.edition.steps(cell.name).frames
        now = made.chunk([2, 0]).make(cell)
        assert now.shape == (2, frames, 32, 32, 3)
        np.testing.assert_array_equal(stored.chunk([2, 0]).make(cell), now)
    assert verify(tmp_path / "1").fine


@pytest.mark.parametrize(("name", "step"), [("imagenet_c", " + jpeg:85"), ("imagenet_p", "")])
def test_a_storage_step_is_named_where_it_is_taken(name: str, step: str, tmp_path: Path) -> None:
    """Sequences are not made into videos before they are shown."""
    suite = load(name)
    made = Generated(suite, opened(write_photos(tmp_path / "val", 1), suite), stored=True)
    assert made.made == f"on the fly{step}"
    assert made.describe().endswith(f"{name} {made.made}")


def test_sequences_built_as_videos_are_close(tmp_path: Path) -> None:
    suite, images = load("tiny_imagenet_p"), write_photos(tmp_path / "val", 2)
    names = ("tilt", "gaussian_noise")
    built("tiny_imagenet_p", images, tmp_path / "1", *names, severities=(1,))
    built("tiny_imagenet_p", images, tmp_path / "2", *names, severities=(1,), workers=2)
    for path in (tmp_path / "1").rglob("*.mp4"):
        assert path.read_bytes() == (tmp_path / "2" / path.relative_to(tmp_path / "1")).read_bytes()
    assert (tmp_path / "1" / "tilt" / "n00000000" / "photo_000.mp4").is_file()
    stored = open_stored(tmp_path / "1")
    made = Generated(suite, opened(images, suite))
    for cell in stored.cells:
        there, now = stored.chunk([1]).make(cell), made.chunk([1]).make(cell)
        assert there.shape == now.shape
        assert psnr(there, now) > 31, cell


def test_what_was_built_from_another_suite(tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 1), tmp_path / "out"
    built("imagenet_c", images, out, "contrast", severities=(1,))
    assert open_stored(out, load("imagenet_c")).cells == (Cell("contrast", 1),)
    with pytest.raises(InputError, match="holds imagenet_c, expected imagenet_c_299"):
        open_stored(out, load("imagenet_c_299"))
    header = read_unsealed(out / HEADER)
    (out / HEADER).write_text(json.dumps(header | {"suite": "c" * 5000}))
    with pytest.raises(InputError, match=rf"{HEADER}: suite: expected the name of a suite, up to"):
        open_stored(out)
    (out / HEADER).write_text(json.dumps(header | {"suite_hash": "0", "suite_version": 9}))
    with pytest.raises(InputError, match="was built from version 9 of imagenet_c, and this Hardy"):
        open_stored(out)


def test_only_finished_cells_are_offered(tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 2), tmp_path / "out"
    built("imagenet_c", images, out, "contrast", severities=(1, 2))
    lines = (out / "manifest.jsonl").read_text().splitlines(keepends=True)
    cut = json.loads(lines[1])
    del cut["cells"]["contrast:2"]
    (out / "manifest.jsonl").write_text(lines[0] + json.dumps(cut) + "\n")
    assert open_stored(out).cells == (Cell("contrast", 1),)


def test_an_array_that_lacks_severities_is_not_called_whole(tmp_path: Path) -> None:
    """Its other rows are zeros, which nobody must take for images."""
    rows = write_rows(tmp_path / "rows")
    built("cifar10_c", rows, tmp_path / "c", "contrast", severities=(1, 2))
    assert sorted(path.name for path in tmp_path.glob("c/*.npy*")) == [
        "contrast.npy.part",
        "labels.npy",
    ]
    assert verify(tmp_path / "c").fine
    stored = open_stored(tmp_path / "c")
    assert stored.cells == cells_of(load("cifar10_c"), "contrast", severities=(1, 2))
    before = stored.chunk([0, 1]).make(Cell("contrast", 2))
    # By another name, as 0.1.0 wrote it, and without the manifest that says what is in it.
    (tmp_path / "bare").mkdir()
    for name in ("contrast.npy.part", "labels.npy"):
        (tmp_path / "bare" / name.removesuffix(".part")).write_bytes(
            (tmp_path / "c" / name).read_bytes()
        )
    bare = open_stored(tmp_path / "bare", load("cifar10_c"))
    assert bare.cells == stored.cells
    np.testing.assert_array_equal(bare.chunk([0, 1]).make(Cell("contrast", 2)), before)
    built("cifar10_c", rows, tmp_path / "c", "contrast")
    assert (tmp_path / "c/contrast.npy").is_file()
    assert not (tmp_path / "c/contrast.npy.part").exists()
    np.testing.assert_array_equal(
        open_stored(tmp_path / "c").chunk([0, 1]).make(Cell("contrast", 2)), before
    )
