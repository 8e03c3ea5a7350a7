"""Noise of a fixed norm after clipping."""

from __future__ import annotations

import pytest
import torch

from hardy.train.adversarial_noise import find_scale, project


def draw(count: int, side: int, seed: int, dtype: torch.dtype = torch.float32) -> tuple:
    draws = torch.Generator().manual_seed(seed)
    pixels = torch.rand((count, 3, side, side), generator=draws, dtype=dtype)
    pixels = (1.4 * pixels - 0.2).clamp(0, 1)  # black and white pixels have room to one side only
    return pixels, torch.randn((count, 3, side, side), generator=draws, dtype=dtype)


def norms(changed: torch.Tensor, pixels: torch.Tensor) -> torch.Tensor:
    return (changed.double() - pixels.double()).flatten(1).norm(dim=1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("side", [4, 32, 224])
def test_the_norm_is_met_wherever_it_can_be_reached(side, share, dtype) -> None:
    pixels, noise = draw(3, side, 1, dtype)
    noise[0] *= 1e-4
    noise[1] *= 1e3
    room = torch.where(noise >= 0, 1 - pixels, pixels).flatten(1).norm(dim=1)
    epsilon = share * float(room.min())
    changed = project(pixels, noise, epsilon)
    assert changed.dtype == dtype
    assert changed.min() >= 0
    assert changed.max() <= 1
    torch.testing.assert_close(
        norms(changed, pixels), torch.full((3,), epsilon, dtype=torch.float64), rtol=1e-4, atol=0
    )


def test_each_image_has_a_scale_of_its_own() -> None:
    pixels, noise = draw(4, 8, 2)
    together = find_scale(pixels, noise, 3.0)
    alone = torch.cat([find_scale(pixels[i : i + 1], noise[i : i + 1], 3.0) for i in range(4)])
    assert torch.equal(together, alone)
    assert len(together.unique()) == 4


def test_out_of_reach_every_pixel_saturates() -> None:
    pixels, noise = draw(2, 8, 3)
    noise = torch.where(noise.abs() < 0.01, 0.01, noise)
    changed = project(pixels, noise, 1e3)
    torch.testing.assert_close(changed, (noise >= 0).float(), rtol=0, atol=1e-5)


def test_without_noise_nothing_changes() -> None:
    pixels, noise = draw(2, 8, 4)
    noise[1] = 0
    changed = project(pixels, noise, 2.0)
    assert torch.equal(changed[1], pixels[1])
    assert torch.isfinite(changed).all()


def test_the_gradient_goes_through_the_scale() -> None:
    """Agrees with differences of the whole map, of which some elements are saturated."""
    pixels, noise = draw(2, 4, 5, torch.float64)
    assert 4 < int(((project(pixels, noise, 2.5) % 1) == 0).sum()) < 80
    noise.requires_grad_()
    assert torch.autograd.gradcheck(lambda delta: project(pixels, delta, 2.5), (noise,))
    weights = torch.linspace(-1, 1, noise.numel(), dtype=torch.float64).view_as(noise)
    (project(pixels, noise, 2.5) * weights).sum().backward()
    through = noise.grad.clone()
    fixed = find_scale(pixels, noise, 2.5).detach().view(-1, 1, 1, 1)
    noise.grad = None
    ((pixels + fixed * noise).clamp(0, 1) * weights).sum().backward()
    assert (through - noise.grad).abs().max() > 1e-3  # η takes part
    # Noise scaled as a whole is the same noise: the gradient has no part along it.
    along = (through * noise.detach()).flatten(1).sum(1)
    assert along.abs().max() < 1e-10
