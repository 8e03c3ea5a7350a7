"""How DeepAugment (Hendrycks et al., 2021) damages the weights of its two networks.

A damaged network differs from the sound one in a few layers: of EDSR three of 17 distortions are
drawn with replacement, of the auto-encoder one of 8, and for each the layers it acts on. A
distortion replaces tensors of a dictionary, and changes none in place.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hardy.train.method import Draw

Weights = dict[str, Tensor]
_Distortion = Callable[[Weights, Draw], None]
Item = TypeVar("Item")

_THIRD, _FOURTH, _MOST = (0, 3, 6, 9), (1, 5, 9), tuple(range(15))  # blocks of EDSR
_SEVERAL = 5  # layers that some distortions act on
_LAPLACE = torch.tensor([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]])
_EDGES = torch.tensor([[-1.0, -1, -1], [-1, 8, -1], [-1, -1, -1]])


def damaged_edsr(sound: Weights, draw: Draw) -> Weights:
    return _damaged(sound, EDSR_DISTORTIONS, 3, draw)


def damaged_auto_encoder(sound: Weights, draw: Draw) -> Weights:
    return _damaged(sound, CODER_DISTORTIONS, 1, draw)


def _damaged(sound: Weights, known: Sequence[_Distortion], times: int, draw: Draw) -> Weights:
    weights = dict(sound)
    for _ in range(times):
        _pick(known, draw)(weights, draw)
    return weights


def _pick(some: Sequence[Item], draw: Draw) -> Item:
    return some[int(draw.integers(len(some)))]


def _scaled(weight: Tensor, most: float, draw: Draw) -> Tensor:
    """times 1 + most · u r, u of the layer and r of the weight uniform in 0..1."""
    return weight * (1 + most * draw.uniform() * draw.uniform(*weight.shape))


def _signs(weight: Tensor, draw: Draw) -> Tensor:
    return 2.0 * draw.integers(2, *weight.shape) - 1


def _bits(weight: Tensor, draw: Draw) -> Tensor:
    return draw.integers(2, *weight.shape).float()


def _filters(weight: Tensor, count: int, draw: Draw) -> Tensor:
    """How often each filter is drawn, shaped to multiply the weight."""
    drawn = torch.bincount(draw.integers(len(weight), count), minlength=len(weight))
    return drawn.view(-1, *(1,) * (weight.ndim - 1))


# EDSR: A and B are the first and the second convolution of a block.


def _a(block: int) -> str:
    return f"body.{block}.body.0"


def _b(block: int) -> str:
    return f"body.{block}.body.2"


def _either(draw: Draw) -> str:
    return _pick((_a, _b), draw)(_pick(_MOST, draw))


def _reverse_filters(weights: Weights, draw: Draw) -> None:
    block = _pick(_THIRD, draw)
    for layer in (_a(block), _b(block)):
        for part in (f"{layer}.weight", f"{layer}.bias"):
            weights[part] = weights[part].flip(0)


def _multiply(blocks: Sequence[int], factor: float, weights: Weights, draw: Draw) -> None:
    layer = _a(_pick(blocks, draw))
    for part in (f"{layer}.weight", f"{layer}.bias"):
        weights[part] = factor * weights[part]


def _bend(weights: Weights, draw: Draw) -> None:
    block = _pick(_THIRD, draw)
    for part in (f"{_a(block)}.weight", f"{_b(block)}.weight"):
        weights[part] = -functional.gelu(weights[part])


def _mask(taps: Tensor, weights: Weights, draw: Draw) -> None:
    part = f"{_a(_pick(_THIRD, draw))}.weight"
    weights[part] = weights[part] * taps


def _scale(weights: Weights, draw: Draw) -> None:
    part = f"{_b(_pick(_THIRD, draw))}.weight"
    weights[part] = _scaled(weights[part], 4, draw)


def _mirror(weights: Weights, draw: Draw) -> None:
    block = _pick(_THIRD, draw)
    weights[f"{_a(block)}.weight"] = weights[f"{_a(block)}.weight"].flip(3)
    weights[f"{_b(block)}.weight"] = -weights[f"{_b(block)}.weight"]


def _convolve(part: str, kernels: Tensor, weights: Weights) -> None:
    """The kernels of a layer as images, whose channels are its inputs."""
    weights[part] = functional.conv2d(weights[part], kernels, padding=1)


def _convolve_by_taps(weights: Weights, draw: Draw) -> None:
    """One tap of ±1 for each input, the same for all outputs."""
    part = f"{_a(_pick(_FOURTH, draw))}.weight"
    outputs, inputs = weights[part].shape[:2]
    taps = functional.one_hot(draw.integers(9, inputs), 9) * (2 * draw.integers(2, inputs, 1) - 1)
    _convolve(part, taps.float().view(1, inputs, 3, 3).repeat(outputs, 1, 1, 1), weights)


def _convolve_by_noise(weights: Weights, draw: Draw) -> None:
    part = f"{_a(_pick(_THIRD, draw))}.weight"
    noise = draw.uniform(*weights[part].shape)
    _convolve(part, (2 * draw.uniform() * noise - 1) / 6, weights)


def _convolve_by_shares(weights: Weights, draw: Draw) -> None:
    """Kernels by Dirichlet(0.1): in each, few taps share 1 among them."""
    part = f"{_b(_pick(_FOURTH, draw))}.weight"
    outputs, inputs = weights[part].shape[:2]
    drawn = np.random.Generator(np.random.Philox(int(draw.integers(2**62))))
    shares = drawn.dirichlet([0.1] * 9, (outputs, inputs))
    _convolve(part, torch.from_numpy(shares).float().view_as(weights[part]), weights)


def _add_noise(weights: Weights, draw: Draw) -> None:
    part = f"{_b(_pick(_MOST, draw))}.weight"
    weights[part] = weights[part] + draw.uniform(*weights[part].shape) - 0.5


def _rotate_several(weights: Weights, draw: Draw) -> None:
    for _ in range(_SEVERAL):
        part = f"{_either(draw)}.weight"
        plane = _pick(((2, 3), (0, 1)), draw)
        weights[part] = weights[part].rot90(1 + int(draw.integers(3)), plane)


def _multiply_several(
    factors: Callable[[Tensor, Draw], Tensor], weights: Weights, draw: Draw
) -> None:
    for _ in range(_SEVERAL):
        part = f"{_a(_pick(_MOST, draw))}.weight"
        weights[part] = weights[part] * factors(weights[part], draw)


def _half_negated(weight: Tensor, draw: Draw) -> Tensor:
    """Filters that are drawn, once or more, in as many draws as half of them."""
    return torch.where(_filters(weight, len(weight) // 2, draw) > 0, -1.0, 1.0)


def _keep_largest_several(weights: Weights, draw: Draw) -> None:
    for _ in range(_SEVERAL):
        part = f"{_either(draw)}.weight"
        taps = weights[part].flatten(2)
        largest = functional.one_hot(taps.argmax(2), taps.shape[2])
        weights[part] = (taps * largest).view_as(weights[part])


EDSR_DISTORTIONS: tuple[_Distortion, ...] = (
    _reverse_filters,
    partial(_multiply, (1, 4, 7), -1.0),
    partial(_multiply, _THIRD, 0.0),
    _bend,
    partial(_mask, _LAPLACE),
    partial(_mask, _EDGES),
    _scale,
    _mirror,
    _convolve_by_taps,
    _convolve_by_noise,
    _convolve_by_shares,
    _add_noise,
    _rotate_several,
    partial(_multiply_several, _signs),
    partial(_multiply_several, _bits),
    partial(_multiply_several, _half_negated),
    _keep_largest_several,
)

# The auto-encoder: from the layer that makes the code, 8, on. Of its transposed convolution, 10, a
# filter is what reads one input, as in the original.
_CODER_LAYERS = {
    8: "e_conv_3.0",
    9: "d_up_conv_1.0",
    10: "d_up_conv_1.3",
    11: "d_block_1.1",
    12: "d_block_1.4",
    13: "d_block_2.1",
    14: "d_block_2.4",
    15: "d_block_3.1",
}
_USUAL = (8, 9, 10, 11, 12, 13)


def _layer(draw: Draw, layers: Sequence[int] = _USUAL) -> tuple[str, str]:
    name = _CODER_LAYERS[_pick(layers, draw)]
    return f"{name}.weight", f"{name}.bias"


def _reverse(weights: Weights, draw: Draw) -> None:
    for part in _layer(draw, (11, 12, 13, 14, 15)):
        weights[part] = weights[part].flip(0)


def _change_filters(
    changed: Callable[[Tensor], Tensor],
    count: int,
    layers: Sequence[int],
    weights: Weights,
    draw: Draw,
) -> None:
    """So many filters with their biases are drawn, and changed as often as they are."""
    weight, bias = _layer(draw, layers)
    for drawn in draw.integers(len(weights[weight]), count).tolist():
        for part in (weight, bias):
            one = torch.arange(len(weights[part])) == drawn
            one = one.view(-1, *(1,) * (weights[part].ndim - 1))
            weights[part] = torch.where(one, changed(weights[part]), weights[part])


def _scale_two(weights: Weights, draw: Draw) -> None:
    for _ in range(2):
        part, _ = _layer(draw)
        weights[part] = _scaled(weights[part], 8, draw)


def _mask_at_random(weights: Weights, draw: Draw) -> None:
    part, _ = _layer(draw)
    weights[part] = weights[part] * _pick((_bits, _signs), draw)(weights[part], draw)


def _rotate(weights: Weights, draw: Draw) -> None:
    part, _ = _layer(draw)
    weights[part] = weights[part].rot90(1 + int(draw.integers(3)), (2, 3))


def _negate_a_fifth(weights: Weights, draw: Draw) -> None:
    part, _ = _layer(draw)
    drawn = _filters(weights[part], len(weights[part]) // 5, draw)
    weights[part] = torch.where(drawn > 0, -weights[part], weights[part])


CODER_DISTORTIONS: tuple[_Distortion, ...] = (
    _reverse,
    partial(_change_filters, torch.neg, 12, _USUAL),
    partial(_change_filters, torch.zeros_like, 25, _USUAL),
    partial(_change_filters, lambda part: -functional.gelu(part), 25, (10, 11, 12, 13)),
    _scale_two,
    _mask_at_random,
    _rotate,
    _negate_a_fifth,
)
