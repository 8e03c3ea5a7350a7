"""Pixelwise noise: the byte's law given the input byte is a table, one random word each.

`replay` may bring the reference's own draws (normals, counts, hits) instead of words; then the
reference formula is applied to them.
"""

from hardy.corrupt.corruption import Fields, Size, corruption
from hardy.engine.ops import Array, Ops
from hardy.engine.rng import Draws
from hardy.engine.tables.noise_laws import noise_table


def _one_word_per_value(draws: Draws, size: Size, **_: float) -> Fields:
    return {"word": draws.words("word", (*size, 3))}


@corruption("noise", draw=_one_word_per_value, replays=("normal",))
def gaussian_noise(ops: Ops, images: Array, fields: Fields, *, sigma: float) -> Array:
    """x + sigma Z, Z standard normal per value."""
    if "normal" in fields:
        return ops.to_bytes(ops.unit(images, "float64") + sigma * fields["normal"])
    return ops.table_noise(images, fields["word"], noise_table("gaussian", sigma))


@corruption("noise", draw=_one_word_per_value, replays=("count",))
def shot_noise(ops: Ops, images: Array, fields: Fields, *, photons: float) -> Array:
    """n / c, n a Poisson count with mean c x: few photons, strong noise."""
    if "count" in fields:
        return ops.to_bytes(ops.cast(fields["count"], "float64") / ops.float64(photons))
    return ops.table_noise(images, fields["word"], noise_table("shot", photons))


@corruption("noise", draw=_one_word_per_value, replays=("hit", "salt"))
def impulse_noise(ops: Ops, images: Array, fields: Fields, *, amount: float) -> Array:
    """Salt and pepper, half each, on a share `amount` of the values (not of the pixels)."""
    if "hit" in fields:
        extreme = ops.where(fields["salt"] < 0.5, 1.0, 0.0)
        unit = ops.unit(images, "float64")
        return ops.to_bytes(ops.where(fields["hit"] < amount, extreme, unit))
    return ops.table_noise(images, fields["word"], noise_table("impulse", amount))


@corruption("noise", draw=_one_word_per_value, replays=("normal",))
def speckle_noise(ops: Ops, images: Array, fields: Fields, *, sigma: float) -> Array:
    """x + x sigma Z: noise in proportion to the light."""
    if "normal" in fields:
        unit = ops.unit(images, "float64")
        return ops.to_bytes(unit + unit * sigma * fields["normal"])
    return ops.table_noise(images, fields["word"], noise_table("speckle", sigma))
