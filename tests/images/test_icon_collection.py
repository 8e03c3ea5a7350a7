"""Icons-50-R out of packages: every layout, the same bytes each time, and what goes wrong."""

import hashlib
import json
import resource
import shutil
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import HardyError, InputError, MissingResource
from hardy.images.icons50 import collection, icon_tables, raster
from hardy.images.icons50.layouts import LAYOUTS, drawings
from hardy.progress import untracked
from tests.images.icon_packages import HUES, ICONS, PACKAGES, drawing, packed, source_of, world

WANTED = {icon.codes: icon for icon in ICONS}


def test_the_tables_are_those_of_the_release() -> None:
    assert len(icon_tables.class_names()) == 50
    assert (
        len(icon_tables.icons()) == 566
    )  # 568 names: two are one sequence, and one is the asterisk
    counts = {
        name: len({s.package for s in icon_tables.sources_of(name)}) for name in icon_tables.SETS
    }
    assert counts == {"free": 22, "light": 21, "full": 34}
    assert {source.terms for source in icon_tables.sources_of("free")} == {"free"}
    assert {source.layout for source in icon_tables.every_source()} == LAYOUTS.keys()
    for source in icon_tables.every_source():
        assert source.terms == ("closed" if source.art.split()[0] in _OWNERS else "free")
    styles = Counter(source.style for source in icon_tables.sources_of("full"))
    assert len(styles) == 10


_OWNERS = ("Apple", "Meta", "JoyPixels")


@pytest.mark.parametrize("name", PACKAGES)
def test_each_layout(name: str, tmp_path: Path) -> None:
    _, _, files, expected = PACKAGES[name]
    (tmp_path / "package.tgz").write_bytes(packed(files))
    with tarfile.open(tmp_path / "package.tgz") as archive:
        found = {icon.codes: one for icon, one in drawings(archive, source_of(name), WANTED)}
    assert found.keys() == expected
    for codes, picture in found.items():
        small = raster.reduce_drawing(picture)
        assert small is not None
        assert small.shape == (32, 32, 3)
        np.testing.assert_array_equal(small[16, 16], HUES[codes])
        np.testing.assert_array_equal(small[0, 0], (255, 255, 255))
        assert (small[16, 0] != 255).any()  # the border is cut away


def test_pixels_are_exact_means() -> None:
    generator = np.random.default_rng(0)
    for height, width in ((64, 64), (96, 40), (20, 32), (33, 31)):
        picture = generator.integers(0, 256, (height, width, 4), np.uint8)
        picture[..., 3] = generator.integers(25, 256, (height, width))
        small = raster.reduce_drawing(np.pad(picture, ((3, 5), (7, 0), (0, 0))))
        opaque = picture[..., 3:].astype(float)
        flat = np.round((picture[..., :3] * opaque + 255 * (255 - opaque)) / 255)
        side = max(height, width)
        square = np.full((side, side, 3), 255.0)
        top, left = (side - height) // 2, (side - width) // 2
        square[top : top + height, left : left + width] = flat
        fine = square.repeat(32, 0).repeat(32, 1)  # each pixel as 32 x 32, each part `side` of them
        means = fine.reshape(32, side, 32, side, 3).mean((1, 3))
        assert small is not None
        assert np.abs(small - means).max() <= 0.5 + 1e-9
    assert raster.reduce_drawing(np.full((9, 9, 4), 24, np.uint8)) is None


def test_two_builds_give_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [source_of("png"), source_of("svg"), source_of("webp", "other")]
    asked = world(monkeypatch, tmp_path, sources)
    folder = collection.fetch_icons()
    assert asked == ["png@1.0", "svg@1.0", "webp@1.0"]
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*")}
    names = {"ball/acme_0_baseball.png", "ball/acme_0_soccer_ball.png", "manifest.json"}
    names |= {"ball/other_0_baseball.png", "numbers/acme_0_keycap_digit_one.png"}
    assert files.keys() == names  # the ball of the second package is that of the first
    manifest = json.loads(files["manifest.json"])
    assert [one["drawings"] for one in manifest["sources"]] == [2, 1, 1]
    assert manifest["files"]["ball/acme_0_soccer_ball.png"] == (
        hashlib.sha256(files["ball/acme_0_soccer_ball.png"]).hexdigest()
    )
    pixels = np.asarray(Image.open(folder / "ball/acme_0_soccer_ball.png"))
    np.testing.assert_array_equal(pixels, raster.reduce_drawing(np.asarray(drawing("26BD"))))

    assert hardy.fetch("icons50") == folder
    assert len(asked) == 3  # it was here
    (folder / "ball/acme_0_baseball.png").write_bytes(b"")
    assert collection.set_faults("free")[0].endswith("acme_0_baseball.png has been altered")
    collection.fetch_icons()
    assert len(asked) == 3  # built anew of what is kept
    (folder / "ball/acme_9_another.png").write_bytes(files["ball/acme_0_baseball.png"])
    assert collection.set_faults("free")[0].endswith("acme_9_another.png is no part of it")
    collection.fetch_icons()
    assert files == {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.*")}


def test_a_build_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = source_of("png")._replace(package="gone@9", sha256="0" * 64)
    asked = world(monkeypatch, tmp_path, [source_of("png"), gone])
    line = "cannot fetch gone@9 from npm: npm's registry has no gone@9 .any more.. The same command"
    with pytest.raises(MissingResource, match=line):
        collection.fetch_icons()
    assert not (tmp_path / "icons50/free").exists()
    monkeypatch.setattr(collection, "sources_of", lambda name: [source_of("png")])
    collection.fetch_icons()
    assert asked == ["png@1.0", "gone@9"]
    (kept,) = (tmp_path / "icons50/sources").iterdir()
    kept.write_bytes(kept.read_bytes()[:-40])
    (tmp_path / "icons50/free/manifest.json").unlink()
    collection.fetch_icons()
    assert asked == ["png@1.0", "gone@9", "png@1.0"]  # what is damaged is fetched again
    with zipfile.ZipFile(kept, "w") as archive:
        for name in ("codes", "images", "sum"):
            archive.writestr(name, b"no array")
    (tmp_path / "icons50/free/manifest.json").unlink()
    collection.fetch_icons()
    assert asked[3:] == ["png@1.0"]


@contextmanager
def files_up_to(largest: int) -> Iterator[None]:
    """As on a full disk, files cannot grow beyond so many bytes."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))


def test_a_disk_that_fills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = world(monkeypatch, tmp_path, [source_of("png")])
    folder = tmp_path / "icons50"
    line = r"could not be written \(File too large\); make room there, and the same command goes on"
    for largest in (5000, 3000):  # fewer than all drawings of a package take, and than an icon
        with files_up_to(largest), pytest.raises(HardyError, match=line):
            collection.fetch_icons()
        assert {path.name for path in folder.iterdir()} <= {"sources"}
        assert not list(folder.rglob("*.unfinished"))
        collection._bring_all([source_of("png")], untracked)
    collection.fetch_icons()
    assert asked == ["png@1.0", "png@1.0"]
    shutil.rmtree(folder)
    folder.write_text("a file")
    with pytest.raises(HardyError, match=r"icons50 could not be written \(File exists\)"):
        collection.fetch_icons()


def test_drawings_in_the_cache_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = world(monkeypatch, tmp_path, [source_of("png")])
    collection.fetch_icons()
    (kept,) = (tmp_path / "icons50/sources").iterdir()
    codes = np.array(["26BD"])
    for images in (np.zeros((2, 32, 32, 3), np.uint8), np.zeros(1), np.zeros((1, 32, 32, 3))):
        known = np.array(collection._sum(codes, images))
        with kept.open("wb") as file:
            np.savez(file, codes=codes, images=images, sum=known)
        (tmp_path / "icons50/free/manifest.json").unlink()
        collection.fetch_icons()
    assert len(asked) == 4


def test_what_is_not_as_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world(monkeypatch, tmp_path, [source_of("png")])
    bad = {"free": "0" * 64}
    with monkeypatch.context() as patch:
        patch.setattr(collection, "MANIFESTS", bad)
        with pytest.raises(HardyError, match=r"expected a set free whose manifest has .* 0000"):
            collection.fetch_icons()
    assert [path.name for path in (tmp_path / "icons50").iterdir()] == ["sources"]
    whole = packed(PACKAGES["sheet"][2])
    cut = tmp_path / "cut.tgz"
    cut.write_bytes(whole[: len(whole) // 2])
    source = source_of("sheet")
    monkeypatch.setattr(collection, "npm_pack", lambda package, folder: cut)
    monkeypatch.setattr(collection, "sources_of", lambda name: [source])
    with pytest.raises(MissingResource, match=r"sheet@1\.0 from npm: it is not as expected"):
        collection.fetch_icons()
    known = hashlib.sha256(cut.read_bytes()).hexdigest()
    monkeypatch.setattr(collection, "sources_of", lambda name: [source._replace(sha256=known)])
    with pytest.raises(MissingResource, match=r"sheet@1\.0 from npm: it cannot be read"):
        collection.fetch_icons()
    assert not (tmp_path / "icons50/free").exists()


def test_drawings_that_are_not_free_need_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = world(monkeypatch, tmp_path, [source_of("png", terms="closed")])
    with pytest.raises(InputError, match=r"under terms of their owners \(MIT\).*accept_licences"):
        hardy.fetch("icons50", set="free")
    assert not asked
    hardy.fetch("icons50", set="free", accept_licences=True)
    with pytest.raises(InputError, match="unknown set of icons"):
        hardy.fetch("icons50", set="fre")
    with pytest.raises(InputError, match="with icons50 only, got cifar10"):
        hardy.fetch("cifar10", set="free")


def test_another_resvg_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raster, "RESVG", "9.9")
    with pytest.raises(InputError, match=r"expected resvg_py 9\.9.*pip install resvg_py==9\.9"):
        raster.need_resvg()
