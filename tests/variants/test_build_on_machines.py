"""Workers on other machines: what they must see, and how they share a folder. Without a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hardy.errors import InputError, MissingResource
from hardy.execute import Serial
from hardy.suites import load
from hardy.variants.disk import build as build_module
from hardy.variants.disk import build_worker
from hardy.variants.disk.build import build, build_cells
from hardy.variants.disk.manifest import LINES, WORKSHOP
from tests.suites.helpers import built, cells_of, opened, tree, write_photos


def build_elsewhere(images: Path, out: Path, lose: Callable[[], object] = lambda: None) -> None:
    """Loses something after the build has begun and before its worker has."""
    suite = load("imagenet_c")

    class Moved(Serial):
        def run(self, setup, items):
            lose()
            return super().run(setup, items)

    source = opened(images, suite)
    build_cells(suite, source, out, cells_of(suite), executor=Moved(), elsewhere=True)


def test_the_images_must_be_seen(tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 2), tmp_path / "out"
    said = r"expected images on a disk .* but n00000000/photo_000.JPEG cannot be read as .*no such"
    with pytest.raises(InputError, match=said):
        build_elsewhere(images, out, lambda: images.rename(tmp_path / "moved"))
    assert (out / LINES).read_bytes() == b""  # none is taken for a bad one


def test_the_images_must_be_the_same(tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 2), tmp_path / "out"
    first, second = sorted(images.rglob("*.JPEG"))
    with pytest.raises(InputError, match=r"photo_000.JPEG cannot be read as .*it has other pixels"):
        build_elsewhere(images, out, lambda: second.replace(first))


def test_the_folder_must_be_seen(tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "val", 2), tmp_path / "out"

    def lose() -> None:
        for mark in (out / WORKSHOP).glob("seen-*"):
            mark.unlink()

    with pytest.raises(InputError, match=r"expected a folder to build in that all workers see"):
        build_elsewhere(images, out, lose)


def test_what_is_reported_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images, synced = write_photos(tmp_path / "val", 5), list[int]()
    monkeypatch.setattr(build_worker, "sync_disk", synced.append)
    monkeypatch.setattr(build_module, "ELSEWHERE", 40)
    build_elsewhere(images, tmp_path / "out")
    assert len(synced) == 2  # four images in ten cells each, then one
    built("imagenet_c", images, tmp_path / "alone")
    assert len(synced) == 2  # on this machine the manifest's writer sees to it
    assert tree(tmp_path / "out") == tree(tmp_path / "alone")


def test_one_way_to_share(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected `workers` or `on`, got both: 2 and ray"):
        build("imagenet_c", images=tmp_path, out=tmp_path / "out", workers=2, on="ray")


def test_a_url_is_no_folder_that_machines_share(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"all machines of auto see, got s3://lab/out; name a"):
        build("imagenet_c", images=tmp_path, out="s3://lab/out", on="auto")


def test_without_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingResource, match=r"a run on Ray needs ray, .*\[ray\]"):
        build("imagenet_c", images=tmp_path, out=tmp_path / "out", on="ray")
