"""Noises of ImageNet-C-bar on a GPU, in the arithmetic of `cpu.c_bar_noise`.

Float64 throughout: waves that are carried about by waves are chaotic, and a last bit shows.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton.language as tl
from torch import Tensor

from hardy.engine.tables.c_bar_waves import WavePlan
from hardy.engine.torch.constants import constant
from hardy.engine.triton.launch import by_pixel, launch, parts, pixels_of, place_of
from hardy.engine.triton.levels import level_of, whole64
from hardy.engine.triton.maths import cosine, sine
from hardy.engine.triton.stable_jit import jit

# Values of a noise; spectrum, its copy, the transform's room and the field are 32 bytes for each.
_WAVES_AT_ONCE = 256 * 224 * 224


@jit
def _blacken(images, out, pixels, pieces, noise, threshold: tl.float64, BLOCK: tl.constexpr):
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    # By a difference: versions of the interpreter round a number that is compared to float32.
    seen = tl.load(noise + image * pixels + pixel, mask=inside, other=0.0) - threshold > 0
    start = image * pixels * 3
    for c in tl.static_range(3):
        place = start + 3 * pixel + c
        tl.store(out + place, tl.load(images + place, mask=inside & seen, other=0), mask=inside)


def blacken(images: Tensor, noise: Tensor, threshold: float) -> Tensor:
    return by_pixel(_blacken, images, noise, threshold)


@jit
def _add_noises(images, out, pixels, pieces, noise, strength: tl.float64, BLOCK: tl.constexpr):
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    start = image * pixels * 3
    for c in tl.static_range(3):
        place = start + 3 * pixel + c
        added = strength * tl.load(noise + start + c * pixels + pixel, mask=inside, other=0.0)
        value = whole64(tl.load(images + place, mask=inside, other=0)) + added
        tl.store(out + place, level_of(value), mask=inside)


def add_noises(images: Tensor, noise: Tensor, strength: float) -> Tensor:
    return by_pixel(_add_noises, images, noise, strength)


@jit
def _stir(
    images, out, pixels, pieces, width, time, rounds, sharpness, scale,
    keep: tl.float64, strength: tl.float64, BLOCK: tl.constexpr,
):  # fmt: skip
    """All pixels of a program have one image's rounds, so none waits for another."""
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    t, fall = tl.load(time + image), 2.25 - tl.load(sharpness + image)
    row, column = place_of(pixel, width)
    x, y = column / tl.load(scale + image), row / tl.load(scale + image)
    one = tl.full((), 1.0, tl.float64)
    finer, slower, weaker = one, one, one
    for _ in range(tl.minimum(tl.load(rounds + image), 6)):
        phase = t / slower
        across = sine(finer * x + phase) / weaker
        down = cosine(finer * y + phase) / weaker
        x += down - 0.3 * across
        y += across + 0.3 * down
        finer, slower, weaker = finer * 1.93, slower * 1.15, weaker * fall
    red, blue = sine(x - t), sine(y + t)
    green = sine(((x + y) + sine(t)) * 0.5)
    place = image * pixels * 3 + 3 * pixel
    for c in tl.static_range(3):
        level = whole64(tl.load(images + place + c, mask=inside, other=0))
        noise = red if c == 0 else (green if c == 1 else blue)
        tl.store(out + place + c, level_of(keep * level + strength * noise), mask=inside)


def stir(
    images: Tensor, time: Tensor, rounds: Tensor, sharpness: Tensor, scale: Tensor, strength: float
) -> Tensor:
    keep = 1.0 - strength / 255.0
    return by_pixel(_stir, images, images.shape[2], time, rounds, sharpness, scale, keep, strength)


@jit
def _slope(hashes, arrows, number, dy, dx):
    arrow = arrows + 2 * tl.load(hashes + (number & 255)).to(tl.int32)
    return dy * tl.load(arrow) + dx * tl.load(arrow + 1)


@jit
def _cloud(
    images, out, pixels, pieces, width, order, gradients, side: tl.float64,
    keep: tl.float64, veil: tl.float64, BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    hashes, arrows = order + image * 256, gradients + image * 512
    row, column = place_of(pixel, width)
    turbulence = tl.zeros((BLOCK,), tl.float64)
    octave, share = tl.full((), 1.0, tl.float64), tl.full((), 1.0, tl.float64)
    for _ in tl.static_range(5):
        step = octave * 7.0 / side
        y, x = row * step, column * step
        # Nothing is negative here, so that truncating is rounding down.
        i, j = y.to(tl.int32), x.to(tl.int32)
        y, x = y - whole64(i), x - whole64(j)
        upper = tl.load(hashes + (i & 255)).to(tl.int32)
        lower = tl.load(hashes + ((i + 1) & 255)).to(tl.int32)
        u, t = y * y * (3.0 - 2.0 * y), x * x * (3.0 - 2.0 * x)
        a = _slope(hashes, arrows, upper + j, y, x)
        b = _slope(hashes, arrows, lower + j, y - 1.0, x)
        before = a + u * (b - a)
        a = _slope(hashes, arrows, upper + j + 1, y, x - 1.0)
        b = _slope(hashes, arrows, lower + j + 1, y - 1.0, x - 1.0)
        after = a + u * (b - a)
        turbulence += tl.abs(1.5 * (before + t * (after - before))) * share
        octave, share = octave * 2.0, share * 0.5
    grey = veil * tl.minimum(0.5 * turbulence + 0.5, 1.0)
    place = image * pixels * 3 + 3 * pixel
    for c in tl.static_range(3):
        level = whole64(tl.load(images + place + c, mask=inside, other=0))
        tl.store(out + place + c, level_of(keep * level + grey), mask=inside)


def cloud(images: Tensor, order: Tensor, gradients: Tensor, weight: float) -> Tensor:
    """Neighbours in a warp: of finer octaves every few pixels read elsewhere in the tables."""
    height, width = images.shape[1:3]
    return by_pixel(
        _cloud, images, width, order.to(torch.uint8), gradients, float(min(height, width)),
        1.0 - weight, 255.0 * weight, block=256, num_warps=8,
    )  # fmt: skip


@jit
def _spectra(
    phases, first, second, first_weight, second_weight, out, drawn, waves, pieces,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Half a spectrum of a WavePlan; real and imaginary part take turns in `out`."""
    program = tl.program_id(0)
    field, start = (program // pieces).to(tl.int64), (program % pieces) * BLOCK
    wave = start + tl.arange(0, BLOCK)
    inside = wave < waves
    phases += field * drawn
    a = tl.load(phases + tl.load(first + wave, mask=inside, other=0))
    b = tl.load(phases + tl.load(second + wave, mask=inside, other=0))
    u = tl.load(first_weight + wave, mask=inside, other=0.0)
    v = tl.load(second_weight + wave, mask=inside, other=0.0)
    real, imaginary = cosine(a) * u + cosine(b) * v, sine(a) * u - sine(b) * v
    place = 2 * start + tl.arange(0, 2 * BLOCK)
    both = tl.interleave(real, imaginary)
    tl.store(out + field * 2 * waves + place, both, mask=place < 2 * waves)


@jit
def _divide_by_deviation(fields, out, pixels, BLOCK: tl.constexpr):
    """One field to a program, which reads it three times, after the first from the cache."""
    fields += tl.program_id(0).to(tl.int64) * pixels
    out += tl.program_id(0).to(tl.int64) * pixels
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float64)
    for start in range(0, pixels, BLOCK):
        total += tl.load(fields + start + lane, mask=start + lane < pixels, other=0.0)
    mean = tl.sum(total, 0) / pixels.to(tl.float64)
    square = tl.zeros((BLOCK,), tl.float64)
    for start in range(0, pixels, BLOCK):
        off = tl.load(fields + start + lane, mask=start + lane < pixels, other=mean) - mean
        square += off * off
    deviation = tl.sqrt(tl.sum(square, 0) / pixels.to(tl.float64))
    for start in range(0, pixels, BLOCK):
        value = tl.load(fields + start + lane, mask=start + lane < pixels, other=1.0)
        tl.store(out + start + lane, value / deviation, mask=start + lane < pixels)


def wave_noise(phases: Tensor, plan: WavePlan, width: int) -> Tensor:
    """Some at a time: the transform needs more room than the noise."""
    images, colours, height, half = phases.shape
    device, (_, waves) = phases.device, plan.first.shape
    drawn = phases.contiguous().reshape(images * colours, height * half)
    out = torch.empty((len(drawn), height, width), dtype=torch.float64, device=device)
    tables = [constant(table, device) for table in plan]
    some, block = max(1, _WAVES_AT_ONCE // (height * width)), 256
    pieces = parts(plan.first.size, block)
    for part, goal in zip(drawn.split(some), out.split(some), strict=True):
        spectra = torch.empty((len(part), height, waves), dtype=torch.complex128, device=device)
        launch(
            _spectra, len(part) * pieces, device,
            part, *tables, torch.view_as_real(spectra), height * half, plan.first.size, pieces,
            BLOCK=block,
        )  # fmt: skip
        # Not scaled, since the deviation scales it.
        fields = torch.fft.irfft2(spectra, s=(height, width), norm="forward")
        launch(
            _divide_by_deviation, len(part), device,
            fields, goal, height * width, BLOCK=1024, num_warps=8,
        )  # fmt: skip
    return out.reshape(images, colours, height, width)


FUSED: dict[str, Callable[..., Tensor]] = {
    formula.__name__: formula for formula in (blacken, add_noises, stir, cloud)
}
