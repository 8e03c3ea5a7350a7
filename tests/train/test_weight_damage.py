"""The damage that DeepAugment does to weights: which layers, and what, against NumPy and SciPy."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from scipy.signal import correlate
from torch import Tensor

from hardy.train.method import Draw
from hardy.train.methods.image_networks import new_network
from hardy.train.methods.weight_damage import (
    CODER_DISTORTIONS,
    EDSR_DISTORTIONS,
    damaged_auto_encoder,
    damaged_edsr,
)
from tests.train.small import CPU

SOUND = {
    kind: {name: one.detach() for name, one in new_network(kind).named_parameters()}
    for kind in ("edsr", "cae")
}
KNOWN = {"edsr": EDSR_DISTORTIONS, "cae": CODER_DISTORTIONS}
THIRD, MOST = {0, 3, 6, 9}, set(range(15))
# The blocks that each acts on, which of their convolutions, and how many at most.
EDSR_PLACES = [
    (THIRD, "0.weight 0.bias 2.weight 2.bias", 1),
    ({1, 4, 7}, "0.weight 0.bias", 1),
    (THIRD, "0.weight 0.bias", 1),
    (THIRD, "0.weight 2.weight", 1),
    (THIRD, "0.weight", 1),
    (THIRD, "0.weight", 1),
    (THIRD, "2.weight", 1),
    (THIRD, "0.weight 2.weight", 1),
    ({1, 5, 9}, "0.weight", 1),
    (THIRD, "0.weight", 1),
    ({1, 5, 9}, "2.weight", 1),
    (MOST, "2.weight", 1),
    (MOST, "0.weight 2.weight", 5),
    (MOST, "0.weight", 5),
    (MOST, "0.weight", 5),
    (MOST, "0.weight", 5),
    (MOST, "0.weight 2.weight", 5),
]
LAYERS = ["e_conv_3.0", "d_up_conv_1.0", "d_up_conv_1.3", "d_block_1.1", "d_block_1.4",
          "d_block_2.1", "d_block_2.4", "d_block_3.1"]  # fmt: skip
CODER_PLACES = [
    (LAYERS[3:], "weight bias", 1),
    (LAYERS[:6], "weight bias", 1),
    (LAYERS[:6], "weight bias", 1),
    (LAYERS[2:6], "weight bias", 1),
    (LAYERS[:6], "weight", 2),
    (LAYERS[:6], "weight", 1),
    (LAYERS[:6], "weight", 1),
    (LAYERS[:6], "weight", 1),
]


def applied(kind: str, number: int, seed: int = 0) -> dict[str, tuple[Tensor, Tensor]]:
    """What one distortion changed, before and after."""
    sound = SOUND[kind]
    before = {name: one.clone() for name, one in sound.items()}
    weights = dict(sound)
    KNOWN[kind][number](weights, Draw(seed, CPU))
    assert all(torch.equal(before[name], sound[name]) for name in sound)  # none in place
    assert {name: one.shape for name, one in weights.items()} == {
        name: one.shape for name, one in sound.items()
    }
    return {
        name: (sound[name], weights[name]) for name in sound if weights[name] is not sound[name]
    }


def only(found: dict[str, tuple[Tensor, Tensor]]) -> tuple[np.ndarray, np.ndarray]:
    ((before, after),) = found.values()
    return before.numpy(), after.numpy()


@pytest.mark.parametrize("number", range(17))
def test_distortions_of_edsr_act_where_they_should(number) -> None:
    blocks, parts, most = EDSR_PLACES[number]
    seen: set[int] = set()
    for seed in range(60 if most == 1 else 20):
        names = [name.split(".", 3) for name in applied("edsr", number, seed)]
        touched = {int(name[1]) for name in names}
        assert touched <= blocks
        assert len(touched) <= most
        assert {name[3] for name in names} <= {*parts.split()}
        seen |= touched
    assert seen == blocks


@pytest.mark.parametrize("number", range(8))
def test_distortions_of_the_auto_encoder_act_where_they_should(number) -> None:
    layers, parts, most = CODER_PLACES[number]
    seen: set[str] = set()
    for seed in range(60):
        names = [name.rpartition(".") for name in applied("cae", number, seed)]
        touched = {name[0] for name in names}
        assert touched <= {*layers}
        assert len(touched) <= most
        assert {name[2] for name in names} <= {*parts.split()}
        seen |= touched
    assert seen == {*layers}


def gelu(x: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    return x * (1 + erf(x / 2**0.5)) / 2


def test_plain_distortions_of_edsr() -> None:
    laplace = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    edges = np.array([[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]])
    formulas = {
        0: lambda x: x[::-1],
        1: lambda x: -x,
        2: lambda x: 0 * x,
        3: lambda x: -gelu(x),
        4: lambda x: x * laplace,
        5: lambda x: x * edges,
    }
    for number, formula in formulas.items():
        for before, after in applied("edsr", number).values():
            np.testing.assert_allclose(after.numpy(), formula(before.numpy()), atol=1e-6)


def test_scaled_kernels() -> None:
    for kind, number, most in (("edsr", 6, 4), ("cae", 4, 8)):
        largest = []
        for seed in range(30):
            for before, after in applied(kind, number, seed).values():
                factors = (after / before).numpy() - 1
                assert factors.min() >= -1e-5
                largest.append(factors.max())
        assert most * 0.8 < max(largest) < most * (1 if kind == "edsr" else most + 2)
        assert min(largest) < 0.5 * most


def test_mirrored_kernels() -> None:
    found = applied("edsr", 7)
    for name, (before, after) in found.items():
        first = ".body.0." in name
        wanted = before.numpy()[..., ::-1] if first else -before.numpy()
        np.testing.assert_array_equal(after.numpy(), wanted)


def kernels_between(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The kernels (out, in, 3, 3) by which filters were convolved, by least squares: each of the 64
    filters, as an image of 3 x 3 with zeros around, gives nine equations for each output."""
    padded = np.pad(before.astype(float), ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows = [
        padded[:, :, y : y + 3, x : x + 3].reshape(len(before), -1)
        for y in range(3)
        for x in range(3)
    ]
    left = np.concatenate(rows)
    right = np.concatenate([after[:, :, y, x].astype(float) for y in range(3) for x in range(3)])
    found = np.linalg.lstsq(left, right, rcond=None)[0]
    return found.T.reshape(after.shape[1], before.shape[1], 3, 3)


def test_convolved_kernels() -> None:
    before, after = only(applied("edsr", 8))
    taps = kernels_between(before, after)
    assert np.abs(taps - taps[:1]).max() < 1e-3  # the same for all outputs
    flat = taps[0].reshape(64, 9)
    assert (np.isclose(np.abs(flat), 1, atol=1e-2).sum(1) == 1).all()
    assert (np.isclose(flat, 0, atol=1e-2).sum(1) == 8).all()
    assert {*np.sign(flat.sum(1))} == {-1, 1}
    noise = kernels_between(*only(applied("edsr", 9)))
    assert noise.min() >= -1 / 6 - 1e-3
    assert noise.max() <= 1 / 6 + 1e-3
    shares = kernels_between(*only(applied("edsr", 10)))
    np.testing.assert_allclose(shares.sum((2, 3)), 1, atol=1e-2)
    assert shares.min() > -1e-2
    # Of Dirichlet(0.1): the mean of squares of nine shares is (a + 1) / (9 a + 1) · 1/9 each.
    wanted = 1.1 / 1.9 / 9
    assert np.square(shares).mean() == pytest.approx(wanted, rel=0.05)


def test_a_convolution_is_that_of_scipy() -> None:
    before, after = only(applied("edsr", 9))
    kernels = kernels_between(before, after)
    padded = np.pad(before[0], ((0, 0), (1, 1), (1, 1)))
    wanted = [correlate(padded, kernel, mode="valid")[0] for kernel in kernels]
    np.testing.assert_allclose(after[0], wanted, atol=1e-3)


def test_added_noise() -> None:
    before, after = only(applied("edsr", 11))
    noise = after - before
    assert np.abs(noise).max() <= 0.5
    assert noise.std() == pytest.approx(12**-0.5, rel=0.02)
    assert abs(noise.mean()) < 0.01


@pytest.mark.parametrize(("kind", "number"), [("edsr", 12), ("cae", 6)])
def test_rotated_kernels(kind, number) -> None:
    found: Counter[tuple[int, int]] = Counter()
    planes = ((2, 3), (0, 1)) if kind == "edsr" else ((2, 3),)
    for seed in range(30):
        for before, after in applied(kind, number, seed).values():
            for plane in planes:
                if plane == (0, 1) and before.shape[0] != before.shape[1]:
                    continue
                for turns in (1, 2, 3):
                    if np.array_equal(after, np.rot90(before.numpy(), turns, plane)):
                        found[plane[0], turns] += 1
    assert set(found) == {(plane[0], turns) for plane in planes for turns in (1, 2, 3)}


@pytest.mark.parametrize(("number", "values"), [(13, {-1, 1}), (14, {0, 1})])
def test_kernels_masked_at_random(number, values) -> None:
    for before, after in applied("edsr", number).values():
        factors = np.round(after.numpy() / before.numpy(), 4)
        assert {*np.unique(factors)} <= values
        if len(applied("edsr", number)) == 5:  # none was drawn twice
            assert factors.mean() == pytest.approx(sum(values) / 2, abs=0.02)


def test_negated_filters_of_edsr() -> None:
    shares = []
    for seed in range(10):
        found = applied("edsr", 15, seed)
        for before, after in found.values():
            factors = (after / before).numpy().reshape(64, -1)
            assert (factors == factors[:, :1]).all()
            if len(found) == 5:
                shares.append((factors[:, 0] == -1).mean())
    # In 32 draws of 64, with replacement, so many are drawn.
    assert np.mean(shares) == pytest.approx(1 - (63 / 64) ** 32, abs=0.05)


def test_only_the_largest_tap_is_kept() -> None:
    # Where a layer is drawn twice, kernels of negative taps alone vanish: this draws five others.
    found = applied("edsr", 16, seed=3)
    assert len(found) == 5
    for before, after in found.values():
        flat = before.numpy().reshape(64, 64, 9)
        wanted = np.where(flat == flat.max(2, keepdims=True), flat, 0)
        np.testing.assert_array_equal(after.numpy().reshape(64, 64, 9), wanted)


def test_changed_filters_of_the_auto_encoder() -> None:
    for number, formula, most in ((1, np.negative, 12), (2, np.zeros_like, 25)):
        for seed in range(6):
            changed = []
            for before, after in applied("cae", number, seed).values():
                whole = formula(before.numpy()).reshape(len(before), -1)
                new = after.numpy().reshape(len(before), -1)
                rows = (new == whole).all(1)
                same = (new == before.numpy().reshape(len(before), -1)).all(1)
                assert (rows | same).all()
                changed.append(set(np.flatnonzero(rows & ~same)))
            assert changed[0] == changed[1]  # biases too
            assert 0 < len(changed[0]) <= most
    weight, _ = applied("cae", 3).values()
    rows = (weight[0] != weight[1]).flatten(1).any(1)
    assert 10 < int(rows.sum()) <= 25


def test_filters_of_the_auto_encoder_are_bent_as_often_as_they_are_drawn() -> None:
    draw = Draw(0, CPU)
    layer = (10, 11, 12, 13)[int(draw.integers(4))]
    name = LAYERS[layer - 8]
    drawn = Counter(draw.integers(len(SOUND["cae"][f"{name}.weight"]), 25).tolist())
    found = applied("cae", 3)
    for part in ("weight", "bias"):
        before, after = (one.numpy() for one in found[f"{name}.{part}"])
        wanted = before.copy()
        for number, times in drawn.items():
            for _ in range(times):
                wanted[number] = -gelu(wanted[number])
        np.testing.assert_allclose(after, wanted, atol=1e-7)


def test_reversed_masked_and_negated_layers_of_the_auto_encoder() -> None:
    for before, after in applied("cae", 0).values():
        np.testing.assert_array_equal(after.numpy(), before.numpy()[::-1])
    kinds = set()
    for seed in range(12):
        before, after = only(applied("cae", 5, seed))
        kinds.add(frozenset(np.unique(np.round(after / before, 4))))
    assert kinds == {frozenset({0, 1}), frozenset({-1, 1})}
    for seed in range(6):
        before, after = only(applied("cae", 7, seed))
        factors = (after / before).reshape(len(before), -1)
        assert (factors == factors[:, :1]).all()
        assert 0 < (factors[:, 0] == -1).sum() <= len(before) // 5


def test_how_many_distortions_a_network_gets(monkeypatch) -> None:
    from hardy.train.methods import weight_damage

    counts: Counter[int] = Counter()
    for name in ("EDSR_DISTORTIONS", "CODER_DISTORTIONS"):
        fake = [
            lambda weights, draw, number=number: counts.update([number])
            for number in range(len(getattr(weight_damage, name)))
        ]
        monkeypatch.setattr(weight_damage, name, fake)
    draw = Draw(0, CPU)
    for _ in range(400):
        damaged_edsr({}, draw)
    assert sum(counts.values()) == 1200
    assert len(counts) == 17
    # Each occurs in a sixth of the networks: 1 − (16/17)³.
    assert min(counts.values()) > 45
    counts.clear()
    for _ in range(400):
        damaged_auto_encoder({}, draw)
    assert sum(counts.values()) == 400
    assert len(counts) == 8


def test_the_same_draws_damage_alike() -> None:
    one, other, third = (damaged_edsr(SOUND["edsr"], Draw(seed, CPU)) for seed in (1, 1, 2))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert not all(torch.equal(one[name], third[name]) for name in one)
