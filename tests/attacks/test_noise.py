"""Noise learned against a model, on models whose answers can be worked out by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hardy.attacks.measurement import (
    BATCH,
    STEPS,
    check_kind,
    fit_generator,
    measure_attack,
    smallest_distance,
)
from hardy.errors import InputError
from hardy.store.attack_files import NOISES
from hardy.train import METHODS
from hardy.train.adversarial_noise import Generator, project, usual_epsilon
from hardy.train.method import Draw

CPU = torch.device("cpu")
SHAPE = (3, 8, 8)


def linear(weight: Tensor, bias: float):
    """Class 1 where w·x + b is above 0."""

    def classify(pixels: Tensor) -> Tensor:
        margin = pixels.flatten(1) @ weight.flatten() + bias
        return torch.stack([torch.zeros_like(margin), margin], 1)

    return classify


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def by_brightness(pixels: Tensor) -> Tensor:
    margin = 40 * (pixels.mean((1, 2, 3)) - 0.5)
    return torch.stack([-margin, margin], 1)


def test_the_smallest_distance_of_a_linear_model_is_the_known_one() -> None:
    """Along u it is −(w·x + b) / w·u, as long as nothing is clipped."""
    weight = random(*SHAPE, seed=1)
    pixels = 0.5 + 0.02 * random(12, *SHAPE, seed=2)
    bias = -float((pixels.flatten(1) @ weight.flatten()).min()) + 0.1  # all are of class 1
    noise = random(12, *SHAPE, seed=3)
    noise[::2] -= 0.5 * weight  # towards the boundary, most of them
    direction = torch.nn.functional.normalize(noise.flatten(1)).double()
    margin = pixels.flatten(1).double() @ weight.flatten().double() + bias
    slope = direction @ weight.flatten().double()
    known = -margin / slope
    assert (known[slope < 0] < 1.8).all()  # so that nothing is clipped on the way
    found = smallest_distance(linear(weight, bias), pixels, 7 * noise, torch.ones(12).long())
    torch.testing.assert_close(found[slope < 0], known[slope < 0], rtol=1e-4, atol=1e-4)


def test_what_never_flips_and_what_is_wrong_already() -> None:
    weight = torch.ones(SHAPE)
    pixels = torch.full((2, *SHAPE), 0.5)
    up = torch.ones(2, *SHAPE)
    found = smallest_distance(linear(weight, -10.0), pixels, up, torch.tensor([1, 0]))
    assert found[0] == 192  # the number of its values
    assert found[1] < 1e-6


def test_distances_are_measured_after_clipping() -> None:
    """Half of the values have no room: they count for nothing, and the others must go further."""
    pixels = torch.full((1, *SHAPE), 0.5)
    pixels[:, :, :4] = 0.0
    # From 48 downwards: 24 of it has to go, by 96 values, 0.25 each.
    found = smallest_distance(
        linear(torch.ones(SHAPE), -24.0), pixels, -torch.ones(1, *SHAPE), torch.tensor([1])
    )
    assert found.item() == pytest.approx(0.25 * 96**0.5, rel=1e-4)


def test_far_boundaries_are_found_by_the_coarse_steps() -> None:
    """Beyond 1.8^5 the search has taken six of them."""
    pixels = torch.zeros(1, 3, 32, 32)
    weight = torch.ones(3, 32, 32)
    found = smallest_distance(
        linear(weight, -0.45 * 3072), pixels, torch.ones(1, 3, 32, 32), torch.tensor([0])
    )
    assert found.item() == pytest.approx(0.45 * 3072**0.5, rel=1e-4)
    assert found > 1.8**5


@pytest.mark.parametrize("side", [1, 3])
def test_measured_is_what_the_same_draws_give(side: int) -> None:
    images = torch.randint(0, 256, (6, *SHAPE), generator=torch.Generator().manual_seed(4)).byte()
    labels = torch.tensor([0, 1, 0, 1, 0, 1])
    classify = linear(random(*SHAPE, seed=5), 0.0)
    generator = Generator(side, Draw(1, CPU))
    got = measure_attack(classify, images, labels, generator, Draw(2, CPU), epsilon=3.0)
    white = Draw(2, CPU).normal(6, 3, 8 + side - 1, 8 + side - 1)
    pixels = images.float() / 255
    inner = white[:, :, side // 2 : 8 + side // 2, side // 2 : 8 + side // 2]
    with torch.no_grad():
        noisy = project(pixels, generator(white), 3.0)
        plain = project(pixels, inner, 3.0)
    for name, shown in (("clean", pixels), ("adversarial", noisy), ("gaussian", plain)):
        assert torch.equal(getattr(got, name), classify(shown).argmax(1) == labels), name
        if name != "clean":
            norms = (shown - pixels).flatten(1).norm(dim=1)
            torch.testing.assert_close(norms, torch.full((6,), 3.0))
    # Within the norm it was spoiled, the search is there before.
    assert (got.distance[got.clean & ~got.adversarial] <= 3.0001).all()


@pytest.mark.parametrize("noise", ["ant", "ant3x3"])
def test_a_generator_learns_what_gaussian_noise_cannot_do(noise: str) -> None:
    """A model of the mean brightness, in which white noise averages out: a shift does not."""
    labels = torch.arange(200) % 2
    images = (112 + 32 * labels).byte().view(-1, 1, 1, 1).expand(-1, *SHAPE)
    draw = Draw(0, CPU)
    epsilon = usual_epsilon(192)
    generator = fit_generator(
        by_brightness, images, labels, draw, noise=noise, epsilon=epsilon, steps=400
    )
    got = measure_attack(by_brightness, images, labels, generator, draw, epsilon=epsilon)
    assert got.clean.all()
    assert got.gaussian.float().mean() > 0.9
    assert got.adversarial.float().mean() < 0.7


def test_what_cannot_be_differentiated_is_refused() -> None:
    images = torch.zeros(4, *SHAPE, dtype=torch.uint8)
    labels = torch.zeros(4).long()
    with pytest.raises(InputError, match="expected a model that can be differentiated"):
        fit_generator(
            lambda pixels: by_brightness(pixels.detach()),
            images,
            labels,
            Draw(0, CPU),
            noise="ant",
            epsilon=1.0,
            steps=1,
        )


def test_a_step_is_adams_on_what_the_same_draws_give() -> None:
    """Written out: at a rate of 5e-4, up the cross-entropy, of the generator's weights alone."""
    images = torch.randint(0, 256, (9, *SHAPE), generator=torch.Generator().manual_seed(7)).byte()
    labels = torch.arange(9) % 2
    classify = linear(random(*SHAPE, seed=8), 0.0)
    got = fit_generator(classify, images, labels, Draw(3, CPU), noise="ant", epsilon=2.0, steps=2)
    draw = Draw(3, CPU)
    expected = Generator(1, draw)
    adam = torch.optim.Adam(expected.parameters(), 5e-4)
    for _ in range(2):
        rows = draw.integers(9, BATCH)
        pixels = images[rows].float() / 255
        fooled = project(pixels, expected(draw.normal(BATCH, *SHAPE)), 2.0)
        adam.zero_grad()
        (-torch.nn.functional.cross_entropy(classify(fooled), labels[rows])).backward()
        adam.step()
    for ours, theirs in zip(got.parameters(), expected.parameters(), strict=True):
        assert not ours.requires_grad
        torch.testing.assert_close(ours, theirs.detach())


def test_the_usual_norm_and_the_kinds() -> None:
    assert usual_epsilon(3 * 224 * 224) == 135
    assert usual_epsilon(3 * 32 * 32) == pytest.approx(19.29, abs=0.01)
    assert {name: METHODS[name].side for name in NOISES} == NOISES == {"ant": 1, "ant3x3": 3}
    assert STEPS == 1001
    with pytest.raises(InputError, match='did you mean "ant"'):
        check_kind("amt")
