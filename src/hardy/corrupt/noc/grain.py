"""ImageNet-NOC's noise: quantization, one-sided Gaussian noise, salt and pepper."""

from hardy.corrupt.corruption import Fields, Size, corruption, formula
from hardy.corrupt.noc.strengths import draw_whole, for_all_channels, real, strength_levels
from hardy.engine.ops import Array, Ops
from hardy.engine.rng import Draws


@corruption("noise", draw=draw_whole)
def noc_quantization(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """round(n x) / n: n + 1 levels.

    In whole numbers; 255 being odd, no byte lies half-way between two of them.
    """
    n = fields["strength"][:, None]
    step = (2 * n * strength_levels(ops) + 255) // 510
    return for_all_channels(ops, images, ops.cast(255 * step // n, "uint8"))


def _draw_normals(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    return {**real(draws, low, high), "normal": draws.normal("normal", (*size, 3))}


@formula
def brighten(ops: Ops, images: Array, normal: Array, sigma: Array) -> Array:
    """x + sigma |Z|."""
    amount = ops.maximum(normal, -normal) * sigma[:, None, None, None]
    return ops.to_bytes(ops.unit(images, "float64") + amount)


@corruption("noise", draw=_draw_normals)
def noc_gaussian(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """x + |sigma Z|: the absolute value makes it one-sided, so it brightens."""
    return brighten(ops, images, fields["normal"], fields["strength"])


def _draw_hits(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    return {**real(draws, low, high), "hit": draws.uniform("hit", (*size, 3), 0.0, 1.0)}


@corruption("noise", draw=_draw_hits)
def noc_salt_pepper(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """A share of the values, channel by channel, becomes black or white, half each."""
    half, hit = (fields["strength"] * 0.5)[:, None, None, None], fields["hit"]
    return ops.where(hit < half, 0, ops.where(hit >= 1.0 - half, 255, images))
