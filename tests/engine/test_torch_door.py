"""Tensors at the door: uint8 RGB with channels last passes and comes back; a refusal says how."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import hardy
from hardy.engine import door
from hardy.errors import InputError
from tests.engine.torch_device import DEVICE, moved
from tests.photos import random_images

BATCH = random_images(3, 10, 12)
RGB = BATCH[0]


@pytest.mark.parametrize(
    "images",
    [
        moved(RGB),
        moved(BATCH),
        moved(BATCH).flip(1).flip(1),
        moved(np.moveaxis(BATCH, -1, 1)).movedim(1, -1),
        moved(np.repeat(BATCH, 2, axis=2))[:, :, ::2],
        moved(BATCH)[:0],
    ],
)
def test_uint8_rgb_tensors_pass(images):
    before = images.clone()
    batch, _ = door.enter(images)
    assert batch.ndim == 4
    assert batch.is_contiguous()
    result = hardy.corrupt(images, "gaussian_noise", 3)
    assert type(result) is torch.Tensor
    assert (result.dtype, result.shape, result.device) == (
        torch.uint8,
        images.shape,
        images.device,
    )
    assert result.is_contiguous()
    assert torch.equal(images, before)
    expected = hardy.corrupt(images.cpu().numpy(), "gaussian_noise", 3)
    np.testing.assert_array_equal(result.cpu().numpy(), expected)


def test_ids_and_seeds_are_mixed_in_one_batch():
    few = {"seed": [3, 2**63, 3], "ids": ["cat", 2**64 - 1, 0]}
    result = hardy.corrupt(moved(BATCH[:3]), "gaussian_noise", 3, **few)
    assert result.device == moved(0).device
    expected = hardy.corrupt(BATCH[:3], "gaussian_noise", 3, **few)
    np.testing.assert_array_equal(result.cpu().numpy(), expected)


def test_the_module_works_where_the_images_are():
    # Not above: with torch's compiler comes triton, whose interpreter other tests choose first.
    from hardy.torch import Corrupt

    images = moved(BATCH).movedim(-1, 1)
    result = Corrupt("fog", 3, seed=1)(images)
    assert (result.shape, result.device) == (images.shape, images.device)
    expected = hardy.corrupt(BATCH, "fog", 3, seed=1)
    np.testing.assert_array_equal(result.movedim(1, -1).cpu().numpy(), expected)


@pytest.mark.parametrize("name", hardy.corruptions())
def test_the_result_is_new(name):
    images = moved(BATCH)
    before = images.clone()
    result = hardy.corrupt(images, name, 1)
    result += 1
    assert torch.equal(images, before)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (moved(BATCH).movedim(-1, 1), r"\(3, 3, 10, 12\); channels go last: images.movedim\(1, -1"),
        (moved(RGB).movedim(-1, 0), r"\(3, 10, 12\); channels go last: images.movedim\(0, -1\)"),
        (moved(RGB)[..., 0], r"\(10, 12\); grey .* image\[..., None\].repeat_interleave\(3, -1\)"),
        (moved(RGB)[..., :1], r"\(10, 12, 1\); grey .* images.repeat_interleave\(3, -1\)"),
        (moved(np.zeros((10, 12, 4), np.uint8)), r"\(10, 12, 4\); drop alpha with images\["),
        (moved(RGB)[None, None], r"\(1, 1, 10, 12, 3\); reshape it"),
        (moved(RGB)[:7], "at least 8 pixels per side, got width 12, height 7"),
        (moved(RGB) / 255, r"float32 .* 0 to 1; .*: \(images \* 255\).clamp\(0, 255\).byte\(\)"),
        (moved(RGB).double(), r"float64 .* 0 to 255; .*: images.clamp\(0, 255\).byte\(\)"),
        (moved(RGB).long(), r"int64 .* 0 to 255; .*: images.clamp\(0, 255\).byte\(\)"),
        (moved(RGB) > 5, r"bool .*if True is white: images.byte\(\) \* 255"),
        (moved(RGB).float()[:0], r"float32 \(0, 12, 3\); convert it with .byte\(\)"),
        (moved(RGB).cfloat(), r"complex64 .*convert it"),
    ],
)
def test_refusals_say_what_to_do(images, message):
    with pytest.raises(InputError, match=r"expected (a PIL image|at least)") as caught:
        door.enter(images)
    assert caught.match(message)


def test_a_sequence_of_one_tensor():
    image = moved(random_images(1, 16, 16)[0])
    frames = hardy.perturb(image, "rotate")
    expected = frames[3].clone()
    image.zero_()
    assert torch.equal(frames[3], expected)
    assert frames.array().device.type == DEVICE
    with pytest.raises(InputError, match=r"one image \(H, W, 3\), got a batch \(3, 10, 12, 3\)"):
        hardy.perturb(moved(BATCH), "rotate")
    with pytest.raises(InputError, match=r"an array or a PIL image, got a tensor; .cpu\(\).numpy"):
        hardy.perturb(image, "rotate", recipe="resize256_rgb_crop224@1")
