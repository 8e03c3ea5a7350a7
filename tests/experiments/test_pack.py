"""Images come out of the parts as they went in."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import pack
from hardy.errors import InputError
from hardy.images import open_images


def drawn(count: int, height: int = 5, width: int = 7) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, (count, height, width, 3), np.uint8)


def extremes() -> np.ndarray:
    """Every pair of neighbours of black, white and one channel alone."""
    return np.random.default_rng(0).choice(np.array([0, 255], np.uint8), (40, 6, 6, 3))


@pytest.mark.parametrize("images", [drawn(9), extremes(), np.full((2, 4, 4, 3), 7, np.uint8)])
def test_decoding_undoes_encoding(images) -> None:
    decoded = pack.decode(pack.encode(images), images.shape[:3])
    assert decoded.dtype == np.uint8
    assert np.array_equal(decoded, images)


def test_smooth_images_get_small() -> None:
    slopes = np.add.outer(np.arange(32), np.arange(32)).astype(np.uint8)
    images = np.repeat(np.repeat(slopes[None, :, :, None], 3, 3), 50, 0)
    assert len(pack.encode(images)) < images.nbytes / 200


@pytest.fixture
def packed(tmp_path, monkeypatch):
    monkeypatch.setattr(pack, "BLOCK", 4)
    sets = {"train": drawn(10), "test": drawn(5)}
    for split, images in sets.items():
        np.savez(tmp_path / f"{split}.npz", images=images, labels=np.arange(len(images)) % 3)
    sources = {split: str(tmp_path / f"{split}.npz") for split in sets}
    folders = pack.pack(tmp_path / "out", sources, largest=1000)
    return tmp_path / "out", sets, folders


def test_parts_come_together_again(packed) -> None:
    out, sets, folders = packed
    assert len(folders) > 1
    blocks = [[f.stat().st_size for f in folder.glob("*.bz2")] for folder in folders]
    assert max(map(sum, blocks)) <= 1000 + max(map(max, blocks))
    for path in pack.unpack(out):
        source = open_images(path)
        images = sets[path.stem]
        assert np.array_equal(np.stack([source.read(k) for k in range(len(source))]), images)
        assert source.labels.tolist() == [k % 3 for k in range(len(images))]


def test_a_full_disk_leaves_the_parts_as_they_were(packed, tmp_path, monkeypatch) -> None:
    out, _, _ = packed
    before = {path: path.read_bytes() for path in out.glob("*/*")}

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        pack.pack(out, {"train": str(tmp_path / "test.npz")}, largest=1000)
    assert {path: path.read_bytes() for path in out.glob("*/*")} == before


def test_a_part_that_is_not_there_is_named(packed) -> None:
    out, _, folders = packed
    (folders[0] / "train-00000.bz2").unlink()
    with pytest.raises(InputError, match=r"train-00000\.bz2 is not here"):
        pack.unpack(out)


def test_other_images_are_refused(packed) -> None:
    out, sets, _ = packed
    (block,) = out.glob("*/test-00000.bz2")
    changed = sets["test"][:4].copy()
    changed[0, 0, 0, 0] ^= 1
    block.write_bytes(pack.encode(changed))
    with pytest.raises(InputError, match="the test images are not those that were packed"):
        pack.unpack(out)
