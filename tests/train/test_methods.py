"""What methods do to a batch, and their losses."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch.nn import functional

import hardy
from hardy.errors import InputError
from hardy.train import METHODS
from hardy.train.loop import run_training
from hardy.train.method import Draw, Method, make_method
from hardy.train.methods import augmix
from hardy.train.methods.augmix import jsd
from hardy.train.methods.image_operations import NOTHING, OPERATIONS
from hardy.train.methods.patch import patches
from tests.photos import random_images
from tests.train.small import CPU, NARROW, NEEDED, narrow, small_data

__all__ = ["narrow"]


def ready(name: str, side: int = 16, **settings: str) -> Method:
    method = make_method(name, settings)
    method.begin(Draw(0, CPU), (3, side, side))
    return method


def grey(count: int, side: int = 16) -> torch.Tensor:
    return torch.full((count, 3, side, side), 0.5)


def bytes_of(count: int, side: int = 16) -> torch.Tensor:
    return torch.from_numpy(random_images(count, side, side)).permute(0, 3, 1, 2)


@pytest.mark.parametrize("name", METHODS)
def test_what_has_been_seen_is_a_corruption(name) -> None:
    seen = set(METHODS[name].seen)
    assert seen <= {*hardy.corruptions(), *hardy.perturbations()}
    # Whoever adds Gaussian or speckle noise has seen it, and no other method adds any.
    noisy = (
        "gauss_single",
        "gauss_mult",
        "speckle",
        "patch_gaussian",
        "ant",
        "ant3x3",
        "noisy_mix",
    )
    assert bool(seen & {"gaussian_noise", "speckle_noise"}) == (name in noisy)
    operating = (
        *("augmix", "apr", "hybrid_augment", "trivial_augment", "pix_mix", "noisy_mix"),
        "best",
    )
    assert ("noc_rotation" in seen) == (name in operating)
    assert (
        ("brightness" in seen) == ("contrast" in seen) == (name in ("trivial_augment", "pix_mix"))
    )
    assert ("pixelate" in seen) == (name == "deep_augment")
    assert bool(seen) == (name in (*noisy, *operating, "prime", "afa", "deep_augment"))


# Sides; all others take a pixel.
SMALLEST = {"corrupted": 8, "noise2net": 2, "hybrid_augment": 2, "best": 2}


@pytest.mark.parametrize("name", METHODS)
def test_images_of_a_few_pixels_are_trained_on_or_refused(name, narrow, tmp_path) -> None:
    settings = {"ant": {"restart_steps": "1"}, "ant3x3": {"restart_steps": "1"}, **NEEDED}
    settings["groupwise_inhibition"] = {"start": "0", "every": "1"}
    settings["pix_mix"] = {"fractals": "2"}
    settings["deep_augment"] = {"steps": "1", "damaged": "1"}
    for side in (1, 2):
        data, out = small_data(tmp_path, count=24, side=side), tmp_path / f"out {side}"
        if side < SMALLEST.get(name, 1):
            got = rf"got (width )?{side}( x|, height) {side}; enlarge them"
            refusing = {"best": "hybrid_augment"}.get(name, name)  # whose views it shows
            wanted = f"{refusing}: expected images of at least .*, {got}"
            with pytest.raises(InputError, match=wanted):
                run_training(name, data, out, NARROW, settings=settings.get(name))
            assert not out.exists()
        else:
            assert run_training(name, data, out, NARROW, settings=settings.get(name)).epochs == 2


def test_standard_is_cross_entropy() -> None:
    images, labels = bytes_of(6), torch.arange(6) % 3
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 3))
    loss = ready("standard").loss(net, images, labels)
    assert torch.equal(loss, functional.cross_entropy(net(images.float() / 255), labels))


@pytest.mark.parametrize("name", ["gauss_single", "gauss_mult", "speckle"])
def test_half_of_the_batch_is_noisy_and_all_of_it_in_range(name) -> None:
    pixels = torch.rand(9, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    made = ready(name).augment(pixels)
    assert torch.equal(made[:4], pixels[:4])
    assert (made[4:] != pixels[4:]).flatten(1).any(1).all()
    assert made.min() >= 0
    assert made.max() <= 1


def deviations(made: torch.Tensor) -> torch.Tensor:
    return (made - made.mean((1, 2, 3), keepdim=True)).flatten(1).std(1)


def test_gaussian_noise_has_its_sigma() -> None:
    made = ready("gauss_single", sigma="0.1").augment(grey(8))[4:]
    assert deviations(made) == pytest.approx([0.1] * 4, rel=0.1)


def test_each_image_gets_one_of_the_sigmas() -> None:
    made = ready("gauss_mult", sigmas="0.02,0.1").augment(grey(200))[100:]
    found = deviations(made)
    small = (found - 0.02).abs() < 0.004
    large = (found - 0.1).abs() < 0.02
    assert (small | large).all()
    assert 30 < int(small.sum()) < 70


def test_speckle_grows_with_the_pixel() -> None:
    pixels = grey(4) * torch.tensor([0.0, 0.0, 0.0, 1.0]).view(4, 1, 1, 1)
    made = ready("speckle", sigmas="0.2").augment(pixels)
    assert (made[2] == 0).all()
    assert deviations(made[3:]) == pytest.approx([0.1], rel=0.1)


def test_patches_are_cut_at_the_edges() -> None:
    for size in (1, 4, 5, 99):
        rows, columns = torch.tensor([0, 6, 3]), torch.tensor([7, 0, 4])
        masks = patches(rows, columns, size, 7, 8)[:, 0].numpy()
        for mask, row, column in zip(masks, rows.tolist(), columns.tolist(), strict=True):
            wanted = np.zeros((7, 8), bool)
            top, left = row - size // 2, column - size // 2
            wanted[max(0, top) : top + size, max(0, left) : left + size] = True
            np.testing.assert_array_equal(mask, wanted)


def test_patches_of_several_sizes() -> None:
    rows = columns = torch.full((2,), 4)
    masks = patches(rows, columns, torch.tensor([[3], [6]]), 9, 9)[:, 0]
    assert [int(mask.sum()) for mask in masks] == [9, 36]
    made = ready("patch_gaussian", size="7", smallest="3").augment(grey(300, 16))
    sides = (made != grey(300, 16)).any(1).any(2).sum(1)
    assert sides.max() == 7
    assert (sides == 5).any()
    with pytest.raises(InputError, match="expected the smallest patch from 0 to the size of 7"):
        ready("patch_gaussian", size="7", smallest="8")


@pytest.mark.parametrize("name", ["patch_gaussian", "patch_uniform"])
def test_noise_is_in_the_patch_only(name) -> None:
    pixels = grey(300, 16)
    made = ready(name, size="5").augment(pixels)
    changed = (made != pixels).any(1)
    tall, wide = changed.any(2).sum(1), changed.any(1).sum(1)
    assert tall.max() == wide.max() == 5
    assert tall.min() == 3  # the centre is always inside
    assert changed.any(0).all()  # patches lie everywhere
    inside = made - pixels
    strengths = inside.flatten(1).norm(dim=1)
    assert strengths.max() > 5 * strengths.min()
    assert made.min() == 0
    assert made.max() == 1


def test_uniform_patches_stay_within_their_amplitude() -> None:
    made = ready("patch_uniform", size="99", amplitude="0.3").augment(grey(50)) - 0.5
    assert 0.28 < made.abs().max() <= 0.3
    flat = made.flatten(1)
    kurtosis = (flat**4).mean(1) / (flat**2).mean(1) ** 2
    assert kurtosis.mean() == pytest.approx(1.8, abs=0.05)  # that of a uniform law; a normal has 3


def test_jsd_equals_its_formula() -> None:
    logits = 3 * torch.randn(3, 5, 7, generator=torch.Generator().manual_seed(0)).double()
    shares = [np.exp(view) / np.exp(view).sum(1, keepdims=True) for view in logits.numpy()]
    middle = np.clip(sum(shares) / 3, 1e-7, 1)
    divergences = [(share * (np.log(share) - np.log(middle))).sum(1).mean() for share in shares]
    assert float(jsd(*logits)) == pytest.approx(sum(divergences) / 3, rel=1e-12)
    assert float(jsd(logits[0], logits[0], logits[0])) == pytest.approx(0, abs=1e-12)


def test_jsd_has_a_gradient_where_a_net_is_certain() -> None:
    """A softmax of logits that are 200 apart is exactly 0, of which there is no logarithm."""
    logits = torch.tensor([[200.0, 0.0, -200.0]], requires_grad=True)
    jsd(logits, -logits, logits).backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_the_loss_of_augmix() -> None:
    images, labels = bytes_of(6), torch.arange(6) % 3
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 3))
    loss = ready("augmix").loss(net, images, labels)
    first, second = ready("augmix").mixtures(images, 2)  # the same draws again
    clean = net(images.float() / 255)
    wanted = functional.cross_entropy(clean, labels) + 12 * jsd(clean, net(first), net(second))
    torch.testing.assert_close(loss, wanted)


def test_mixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains are one to three operations long; where each ends white, the share of white is m."""
    calls = []

    def whiten(images, operations, levels, signs):
        calls.append((operations, levels, signs))
        return torch.where((operations == NOTHING).view(-1, 1, 1, 1), images, 255)

    monkeypatch.setattr(augmix, "operate", whiten)
    count = 500
    made = ready("augmix", severity="2.5").mixtures(torch.zeros(count, 3, 8, 8).byte(), 2)
    assert made.shape == (2, count, 3, 8, 8)
    shares = made.flatten(2)
    assert (shares.amax(2) - shares.amin(2)).max() < 1e-6
    m = shares[..., 0].flatten()
    assert m.mean() == pytest.approx(0.5, abs=0.04)
    assert m.std() == pytest.approx(math.sqrt(1 / 12), abs=0.02)
    idle = [float((operations == NOTHING).float().mean()) for operations, _, _ in calls]
    assert idle == pytest.approx([0, 1 / 3, 2 / 3], abs=0.04)
    operations, levels, signs = (torch.cat(parts) for parts in zip(*calls, strict=True))
    assert levels.min() == pytest.approx(0.1, abs=0.01)
    assert levels.max() == pytest.approx(2.5, abs=0.01)
    assert set(signs.tolist()) == {-1, 1}
    used = torch.bincount(operations[operations != NOTHING], minlength=len(OPERATIONS))
    assert used.min() > 0.8 * used.float().mean()


def test_chains_are_weighted_uniformly_on_the_simplex(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the first chain alone is white, its share is m · w: E[m w] = 1/6, E[m² w²] = 1/18."""

    def first_white(images, operations, levels, signs):
        chains = images.unflatten(0, (2, 3, -1)).clone()
        chains[:, 0] = 255
        return chains.flatten(0, 2)

    monkeypatch.setattr(augmix, "operate", first_white)
    shares = ready("augmix").mixtures(torch.zeros(2000, 3, 1, 1).byte(), 2)[:, :, 0]
    assert shares.mean() == pytest.approx(1 / 6, abs=0.01)
    assert (shares**2).mean() == pytest.approx(1 / 18, abs=0.006)


def test_settings() -> None:
    assert make_method("gauss_mult", {"sigmas": "0.1,0.2"}).described() == {"sigmas": (0.1, 0.2)}
    found = make_method("patch_gaussian", {"size": "9"}).described()
    assert found == {"size": 9, "sigma": 1.0, "smallest": 0}
    assert make_method("alp", {"epsilon": "8/255", "step": "2/255"}) == make_method("alp")
    assert make_method("speckle", {"sigmas": "1/4,0.5"}).described() == {"sigmas": (0.25, 0.5)}


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("augmx", {}, r'unknown method "augmx"; did you mean "augmix"\?'),
        ("augmix", {"severty": "1"}, r'unknown setting of augmix "severty"; did you mean "sever'),
        ("augmix", {"severity": "0.1"}, "expected severity above 0"),
        ("augmix", {"severity": "high"}, 'augmix: severity as a number, or A/B, got "high"'),
        ("gauss_single", {"sigma": "-1"}, "expected sigma above 0, got -1.0"),
        ("gauss_single", {"sigma": "nan"}, "expected sigma above 0, got nan"),
        ("gauss_single", {"sigma": "inf"}, "expected finite sigma above 0, got inf"),
        ("gauss_mult", {"sigmas": "0.1,x"}, 'sigmas as numbers as 0.1,0.2 or 1/4,1/2, got "0.1,x"'),
        (
            "gauss_mult",
            {"sigmas": "0.1,1/0"},
            '0.1,0.2 or 1/4,1/2, got "0.1,1/0", which divides by 0',
        ),
        ("alp", {"epsilon": "8/0.0"}, 'as a number, or A/B, got "8/0.0", which divides by 0'),
        ("alp", {"epsilon": "8/"}, 'alp: epsilon as a number, or A/B, got "8/"'),
        ("alp", {"epsilon": "1/2/3"}, 'alp: epsilon as a number, or A/B, got "1/2/3"'),
        ("alp", {"epsilon": "-8/255"}, "expected epsilon above 0, got -0.03"),
        ("alp", {"steps": "8/2"}, 'alp: steps as a whole number, got "8/2"'),
        ("speckle", {"sigmas": "0"}, "expected sigmas above 0, got 0.0"),
        ("patch_gaussian", {"size": "2.5"}, 'size as a whole number, got "2.5"'),
        ("patch_uniform", {"size": "0"}, "a patch size of at least 1 pixel, got 0"),
        ("ant", {"epsilon": "-1"}, "expected epsilon above 0, or 0 for the paper's, got -1.0"),
        ("ant3x3", {"restart_steps": "-1"}, "expected restart_steps of at least 0, got -1"),
        ("ant", {"restart_lr": "0"}, "expected learning rates above 0, got 0.0"),
    ],
)
def test_what_cannot_be_is_refused(name, settings, message) -> None:
    with pytest.raises(InputError, match=message):
        make_method(name, settings)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "ant3x3"])
def test_every_setting_is_documented(name: str) -> None:
    method = METHODS[name]
    for field in dataclasses.fields(method):
        assert f"`{field.name}`" in (method.__doc__ or ""), field.name
