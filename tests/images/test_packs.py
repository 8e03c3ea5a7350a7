"""A pack as an image set: what is damaged or lies is refused in a line."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.documents import seal
from hardy.errors import InputError
from hardy.images import open_images, packing
from hardy.images.pack_files import read_pack_header
from hardy.progress import untracked
from soak.results import predictions
from tests.photos import random_images


@pytest.fixture(scope="module", params=["jpeg", "raw"])
def written(request, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven photos of two classes, and a pack of them in two shards."""
    folder = tmp_path_factory.mktemp("packs")
    for number, pixels in enumerate(random_images(7, 30, 20)):
        place = folder / "photos" / "ab"[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{number}.png")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packing, "FEWEST_IN_SHARD", 4)
        asked = {"side": 16, "format": request.param, "track": untracked}
        hardy.pack(folder / "photos", folder / "pack", **asked)
    return folder


@pytest.fixture
def pack(written: Path, tmp_path: Path) -> Path:
    """A copy of the pack, to be damaged."""
    return Path(shutil.copytree(written / "pack", tmp_path / "pack"))


def change(path: Path, make: Callable[[dict[str, Any]], object], *, sealed: bool = True) -> None:
    """Another record in the place of one, with its sum."""
    record = json.loads(path.read_text())
    make(record)
    record.pop("sha256", None)
    path.write_text(json.dumps(seal(record) if sealed else record))


def test_any_thread_and_process_reads_it(pack) -> None:
    source = open_images(pack)
    alone = [source.read(row) for row in range(7)]
    for one in (source, pickle.loads(pickle.dumps(source))):
        with ThreadPoolExecutor(4) as pool:
            found = pool.map(one.read, list(range(7)) * 5)
            assert all(map(np.array_equal, found, alone * 5))
    assert all(image.flags.writeable for image in alone)
    assert len(source._maps) == 2
    with pytest.raises(IndexError):
        source.read(7)


def test_a_shard_that_is_cut_off(pack, written, monkeypatch) -> None:
    source = open_images(pack)
    source.read(0)
    shard = pack / "00000.images"
    whole = shard.read_bytes()
    with shard.open("r+b") as file:
        file.truncate(len(whole) - 10)
    with pytest.raises(InputError, match=r"00000.images:a/6.png: the shard has become shorter"):
        source.read(3)
    length = f"{len(whole):,} bytes, as 00000.json says, got {len(whole) - 10:,}: it is cut off"
    with pytest.raises(InputError, match=length):
        open_images(pack)
    shard.unlink()
    with pytest.raises(InputError, match="got no file: it is cut off"):
        open_images(pack)
    monkeypatch.setattr(packing, "FEWEST_IN_SHARD", 4)
    asked = {"side": 16, "format": read_pack_header(pack).encoding, "track": untracked}
    hardy.pack(written / "photos", pack, **asked)
    assert shard.read_bytes() == whole


def test_a_byte_that_has_changed(pack) -> None:
    shard = pack / "00000.images"
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    source = open_images(pack)
    with pytest.raises(InputError, match="its bytes are not those that were packed, by their sum"):
        [source.read(row) for row in range(4)]


def first(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Another first entry of a list."""
    return lambda record: record[name].__setitem__(0, value)


def other(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda record: record.update(values)


HEADERS = {
    "more images": (other(images=10**9), "expected at most 10,000,000 images"),
    "more shards": (other(images=10**7, in_shard=1), "expected at most 256 shards, got 10000000"),
    "another count": (other(images=8), "00000.json: it belongs to another pack or shard"),
    "no images": (other(images=0), "images: expected a whole number above 0, got 0"),
    "a format": (other(format=2), "expected a pack of format 1, got 2; update hardy"),
    "an encoding": (other(encoding="gif"), "encoding: expected jpeg or raw"),
    "classes": (other(labelled=False), "no names of classes without labels"),
    "nothing": (lambda record: record.clear(), "expected a pack of format 1, got None"),
}


@pytest.mark.parametrize("case", HEADERS)
def test_headers_that_lie(case, pack) -> None:
    make, reason = HEADERS[case]
    change(pack / "pack.json", make)
    with pytest.raises(InputError, match=reason):
        open_images(pack)


LISTINGS = {
    "fewer names": (lambda record: record["files"].pop(), "expected 4 images, with those left out"),
    "fewer sums": (lambda record: record["sums"].pop(), "sums: expected 4 entries, got 3"),
    "no labels": (other(labels=None), "labels: expected 4 entries, got None"),
    "a label": (first("labels", 2), "labels: expected at most 1, got 2"),
    "a large label": (first("labels", 2**70), "labels: expected a list of whole numbers from 0"),
    "a size": (first("sizes", 10**12), "bytes"),
    "a negative size": (first("sizes", -1), "sizes: expected a list of whole numbers from 0"),
    "a path": (first("files", "../../x.png"), "the path climbs out of its top"),
    "a name twice": (first("files", "a/2.png"), 'have the same id "a/2"'),
    "left out": (other(unreadable=[[0, "it is bad"]]), "with those left out, got 4"),
    "left out wrongly": (other(unreadable=[0]), "a list of places and reasons"),
    "another shard": (other(shard=1), "it belongs to another pack or shard"),
}


@pytest.mark.parametrize("case", LISTINGS)
def test_listings_that_lie(case, pack) -> None:
    make, reason = LISTINGS[case]
    change(pack / "00000.json", make)
    with pytest.raises(InputError, match=reason):
        open_images(pack)


def test_shapes_that_lie(pack) -> None:
    if read_pack_header(pack).encoding == "jpeg":
        pytest.skip("JPEG has its own")
    lies = {2**31 - 1: "pixels in an image", 9: "3 bytes for each pixel", 7: "numbers from 8 to"}
    for height, reason in lies.items():
        change(pack / "00000.json", first("heights", height))
        with pytest.raises(InputError, match=reason):
            open_images(pack)


def test_what_was_altered_or_exchanged(pack) -> None:
    shutil.copytree(pack, pack.parent / "other")
    change(pack / "00001.json", first("labels", 0), sealed=False)  # somebody meant to
    open_images(pack)
    record = json.loads((pack / "00000.json").read_text())
    (pack / "00000.json").write_text(json.dumps({**record, "labels": [1, 1, 1, 1]}))
    with pytest.raises(InputError, match="it is not as it was written, by its sha256"):
        open_images(pack)
    other = pack.parent / "other"
    for end in ("images", "json"):
        shutil.copy(other / f"00000.{end}", other / f"00001.{end}")
    with pytest.raises(InputError, match=r"00001.json: it belongs to another pack or shard"):
        open_images(other)


def test_a_link_that_leads_out(pack) -> None:
    shard = pack / "00000.images"
    shard.rename(pack.parent / "elsewhere")
    shard.symlink_to(pack.parent / "elsewhere")
    with pytest.raises(InputError, match="a link leads out of"):
        open_images(pack)


@pytest.mark.parametrize("named", [True, False])
def test_a_pack_is_evaluated_as_its_source(named, tmp_path) -> None:
    """The same ids draw the same corruption."""
    if named:
        for number, pixels in enumerate(random_images(6, 64, 64)):
            folder = tmp_path / "set" / "ab"[number % 2]
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / f"{number}.png")
    else:
        np.savez(tmp_path / "set", images=random_images(6, 32, 32), labels=np.arange(6) % 2)
    suite, source = ("imagenet64_c", "set") if named else ("cifar10_c", "set.npz")
    out = tmp_path / "pack"
    hardy.pack(tmp_path / source, out, side=64, format="raw", track=untracked)
    asked = {"only": ["gaussian_noise"], "severities": [1], "own_classes": True, "track": untracked}
    found = []
    for place in (tmp_path / source, out):
        store = tmp_path / f"runs {place.stem}"
        hardy.evaluate("fake:2", suite=suite, images=place, store=store, **asked)
        found.append(predictions(str(store))())
    one, other = ([values for _, values in sorted(some.items(), key=str)] for some in found)
    assert one == other
    assert len(one) == 12  # six clean ones, six noisy ones
