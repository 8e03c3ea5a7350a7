"""The torch engine gives the CPU engine's bytes: every corruption, severity and edition."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import hardy
from hardy.corrupt import CORRUPTIONS
from hardy.corrupt import passes as engine
from hardy.engine.ops import cpu_ops, ops_for
from hardy.engine.rng import Draws, derive_key
from hardy.suites import edition, editions
from tests.cells import cells as all_cells
from tests.cells import middle, severities, small
from tests.engine.torch_device import DEVICE, assert_same, moved, no_waiting
from tests.photos import photos, random_images

NAMES = CORRUPTIONS.names()
every_corruption = pytest.mark.parametrize("name", NAMES)
IDS = [7, "ILSVRC2012_val_00000293", 2**63 + 11, 0]


def pictures(height: int, width: int) -> np.ndarray:
    """Two photographs, one of them overexposed, noise, and black beside white."""
    hard = random_images(2, height, width)
    hard[1] = 0
    hard[1, :, width // 2 :] = 255
    return np.concatenate([photos(height, width)[1:3], hard])


def cells(name: str) -> list[tuple[str, int]]:
    """One (edition, severity) for each distinct row of parameters."""
    rows = {
        tuple(edition(chosen).params(name, severity).values()): (chosen, severity)
        for chosen, severity in all_cells(name)
    }
    return list(rows.values())


def assert_parity(images: np.ndarray, name: str, severity: int, chosen: str) -> None:
    ids = IDS[: len(images)]
    expected = hardy.corrupt(images, name, severity, ids=ids, edition=chosen)
    result = hardy.corrupt(moved(images), name, severity, ids=ids, edition=chosen)
    differing = np.count_nonzero(result.cpu().numpy() != expected)
    assert differing == 0, f"{chosen}, severity {severity}: {differing} of {expected.size} differ"
    assert_same(result, expected)


@every_corruption
def test_every_cell(name):
    images = pictures(40, 48)
    for chosen, severity in cells(name):
        assert_parity(images, name, severity, chosen)


@every_corruption
@pytest.mark.parametrize("size", [(8, 8), (9, 31), (51, 23)])
def test_odd_sizes(name, size):
    for severity in {1, severities(name)[-1]}:
        assert_parity(pictures(*size), name, severity, "auto")


@pytest.mark.slow
@every_corruption
@pytest.mark.parametrize(("chosen", "size"), [("224", (224, 224)), ("299", (299, 320))])
def test_full_size(name, chosen, size):
    images = pictures(*size)[:3]
    for severity in severities(name):
        assert_parity(images, name, severity, chosen if chosen in editions(name) else "auto")


@every_corruption
def test_batch_size_and_order(name, monkeypatch):
    images, ids = moved(pictures(32, 32)), np.array([5, 6, 2**40, 3])
    severity = middle(name)
    whole = hardy.corrupt(images, name, severity, ids=ids)
    for i in range(4):
        alone = hardy.corrupt(images[i], name, severity, ids=int(ids[i]))
        assert torch.equal(alone, whole[i])
    turned = hardy.corrupt(images.flip(0), name, severity, ids=ids[::-1])
    assert torch.equal(turned, whole.flip(0))
    monkeypatch.setattr(ops_for(images), "pixels_at_once", 3 * 32 * 32)
    assert torch.equal(hardy.corrupt(images, name, severity, ids=ids), whole)


@every_corruption
def test_draws(name):
    """Bits, normals and all fields, some of which are cut by a threshold."""
    ids, size = np.array([1, 2**63 + 5], np.uint64), (21, 34)
    for chosen, severity in cells(name)[::4]:
        params = edition(chosen).params(name, severity)
        key = derive_key(3, chosen, name, severity)
        expected, result = (
            CORRUPTIONS[name].draw(Draws(ops, key, ids), size, **params)
            for ops in (cpu_ops(), ops_for(moved(0)))
        )
        assert set(result) == set(expected)
        for field, values in expected.items():
            np.testing.assert_array_equal(result[field].cpu().numpy(), values, err_msg=field)


@every_corruption
def test_replay(name):
    images, severity = pictures(24, 24)[:3], middle(name)
    own = hardy.draw(name, severity, (24, 24), ids=("a", "b", "c"))
    for draws in (own, reference_draws(name)):
        expected = hardy.replay(images, name, severity, draws)
        assert_same(hardy.replay(moved(images), name, severity, draws), expected)


def reference_draws(name: str) -> dict[str, np.ndarray]:
    """Draws in place of words, of those corruptions that know others; else none."""
    generator = np.random.default_rng(5)
    values = {
        "normal": generator.standard_normal((3, 24, 24, 3)),
        "count": generator.poisson(20.0, (3, 24, 24, 3)).astype(float),
        "hit": generator.random((3, 24, 24, 3)),
        "salt": generator.random((3, 24, 24, 3)),
    }
    known = CORRUPTIONS[name].replays
    if not known:
        return hardy.draw(name, middle(name), (24, 24), seed=1, ids=("a", "b", "c"))
    return {field: values[field] for field in known}


@pytest.mark.parametrize("name", ["brightness", "saturate"])
def test_colours(name):
    # Where two channels are equal, or one is black or white, hues and bytes are decided.
    levels = np.array([0, 1, 2, 51, 85, 102, 127, 128, 153, 170, 204, 253, 254, 255], np.uint8)
    lattice = np.stack(np.meshgrid(levels, levels, levels), -1).reshape(1, -1, 14, 3)
    colours = np.concatenate([lattice, random_images(1, *lattice.shape[1:3])])
    for chosen, severity in cells(name):
        assert_parity(colours, name, severity, chosen)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["brightness", "saturate"])
def test_a_million_colours(name):
    numbers = np.arange(2**20) * 16 + np.arange(2**20) % 16
    colours = np.stack([numbers >> 16, numbers >> 8, numbers], -1).astype(np.uint8)
    for chosen, severity in cells(name):
        assert_parity(colours.reshape(1, 1024, 1024, 3), name, severity, chosen)


@pytest.mark.parametrize("size", [(32, 32), (37, 50)])
def test_storage_step(size):
    images = pictures(*size)
    made = hardy.corrupt(images, "fog", 3)
    stored = ops_for(moved(made)).jpeg(moved(made), 85)
    assert_same(stored, cpu_ops().jpeg(made, 85))


@pytest.mark.parametrize("name", hardy.perturbations())
def test_frames(name):
    """Some of the frames of every perturbation, the first and the last among them."""
    image = photos(40, 45)[1]
    expected = hardy.perturb(image, name, edition="224")
    result = hardy.perturb(moved(image), name, edition="224")
    assert len(result) == len(expected)
    for seen, frame in zip(result[::10], expected[::10], strict=True):
        assert_same(seen, frame)


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")
@every_corruption
def test_the_host_does_not_wait(name):
    images = moved(pictures(32, 32))
    chosen, severity = small(name), middle(name)
    params, key = edition(chosen).params(name, severity), derive_key(0, chosen, name, severity)
    ids = np.arange(len(images), dtype=np.uint64)
    first = engine.run_pass(CORRUPTIONS[name], images, params, key=key, ids=ids)
    with no_waiting():
        again = engine.run_pass(CORRUPTIONS[name], images, params, key=key, ids=ids)
    assert torch.equal(first, again)
