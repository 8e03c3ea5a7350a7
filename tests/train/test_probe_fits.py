"""One epoch of SGD on frozen features, step by step as the recipe of 2019 has it."""

from __future__ import annotations

from math import cos, pi

import numpy as np
import pytest
import torch

from hardy.errors import InputError
from hardy.images.numpy_files import source_of_array
from hardy.progress import untracked
from hardy.train.probe_fits import fit_by_sgd

COUNT, CLASSES = 300, 4


class Means:
    """A model whose outputs are the mean colours, which no mirror changes."""

    name, identity, device, precision, preprocessing = "means", "means", "cpu", "float32", None

    def logits(self, images, preprocessing=None):
        return images.mean((1, 2), dtype=np.float64).astype(np.float32) / 255


def by_hand(features, labels, seed):
    """Nesterov's momentum in torch's form, with weight decay in the gradient."""
    random = torch.Generator().manual_seed(seed)
    bound = 1 / np.sqrt(features.shape[1])
    shape = (CLASSES, features.shape[1])
    weight = (2 * torch.rand(*shape, generator=random) - 1).numpy().astype(float) * bound
    bias = (2 * torch.rand(CLASSES, generator=random) - 1).numpy().astype(float) * bound
    order = torch.randperm(len(features), generator=random).numpy()
    values = np.column_stack([weight, bias])
    momentum = None
    inputs = np.column_stack([features, np.ones(len(features))])
    for step, start in enumerate(range(0, len(order), 128)):
        rows = order[start : start + 128]
        logits = inputs[rows] @ values.T
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        shares[np.arange(len(rows)), labels[rows]] -= 1
        gradient = shares.T @ inputs[rows] / len(rows) + 5e-4 * values
        momentum = gradient if momentum is None else 0.9 * momentum + gradient
        angle = min(pi * step / (len(order) / 128), pi - 0.01)
        values = values - 0.01 * (1 + cos(angle)) / 2 * (gradient + 0.9 * momentum)
    return values


def test_each_step_is_that_of_the_recipe():
    images = np.random.default_rng(0).integers(0, 256, (COUNT, 8, 8, 3), np.uint8)
    labels = np.arange(COUNT) % CLASSES
    source = source_of_array(images, labels)
    about = (CLASSES, "none@1", 3, None, untracked)
    made = fit_by_sgd("sgd", Means(), 3, source, *about)
    expected = by_hand(Means().logits(images), labels, 3)
    np.testing.assert_allclose(made.weight.numpy(), expected[:, :3], atol=1e-5)
    np.testing.assert_allclose(made.bias.numpy(), expected[:, 3], atol=1e-5)
    assert (made.images, made.decay, made.buffers) == (COUNT, 5e-4, {})
    with pytest.raises(InputError, match="expected a backbone of torch's"):
        fit_by_sgd("original", Means(), 3, source, *about)


def test_crops_lie_anywhere_and_half_are_mirrored():
    """The images tell where each pixel was, of 256 x 512."""
    seen = []

    class Noted(Means):
        def logits(self, images, preprocessing=None):
            seen.extend(images[:, 0, :, :2].astype(int))
            return super().logits(images)

    rows, columns = np.mgrid[:256, :512]
    image = np.stack([rows, columns // 2, 0 * rows], 2).astype(np.uint8)
    source = source_of_array(np.repeat(image[None], 40, 0), np.arange(40) % 2)
    fit_by_sgd("sgd", Noted(), 3, source, 2, "resize256_crop224@1", 0, None, untracked)
    assert len(seen) == 40
    tops = [line[0, 0] for line in seen]
    lefts = [min(line[0, 1], line[-1, 1]) for line in seen]
    assert len(set(tops)) > 10
    assert max(tops) <= 32
    assert max(lefts) > 100
    mirrored = sum(line[0, 1] > line[-1, 1] for line in seen)
    assert 10 < mirrored < 30
