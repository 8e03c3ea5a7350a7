"""Batch norm that adapts to the images it sees together."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hardy.errors import HardyError, InputError
from hardy.models import load_model
from hardy.models.defences import defend
from hardy.models.defences.input_filters import FILTERS, trained_behind
from hardy.models.model import in_words
from tests.models.tiny import Tiny, tiny
from tests.photos import random_images

IMAGES = random_images(10, 12, 12, seed=5)


def settled(seed: int = 0) -> Tiny:
    """A net with statistics that are not 0 and 1."""
    module = tiny(seed)
    generator = torch.Generator().manual_seed(seed)
    module.norm.running_mean.copy_(torch.randn(4, generator=generator))
    module.norm.running_var.copy_(torch.rand(4, generator=generator) + 0.5)
    return module


def expected(module: Tiny, pixels: torch.Tensor, source: int) -> np.ndarray:
    """The formula, by hand, of one batch."""
    with torch.no_grad():
        features = module.conv(pixels).double()
        number = len(features)
        flat = features.transpose(0, 1).reshape(4, -1)
        mean = (source * module.norm.running_mean + number * flat.mean(1)) / (source + number)
        spread = ((flat - flat.mean(1, keepdim=True)) ** 2).mean(1)
        variance = (source * module.norm.running_var + number * spread) / (source + number)
        scaled = (features - mean.view(1, 4, 1, 1)) / (variance.view(1, 4, 1, 1) + 1e-5).sqrt()
        scaled = scaled * module.norm.weight.view(1, 4, 1, 1) + module.norm.bias.view(1, 4, 1, 1)
        return module.head(scaled.relu().mean((2, 3)).float()).numpy()


def pixels_of(images: np.ndarray) -> torch.Tensor:
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    return ((torch.from_numpy(images) / 255 - mean) / std).permute(0, 3, 1, 2)


@pytest.mark.parametrize(
    ("defence", "source"), [("bn_adapt", 16), ("bn_adapt:3", 3), ("bn_adapt:0", 0)]
)
def test_the_statistics_are_mixed(defence, source) -> None:
    module = settled()
    model = defend(load_model(module, name="tiny"), defence)
    np.testing.assert_allclose(
        model.logits(IMAGES), expected(module, pixels_of(IMAGES), source), rtol=1e-4, atol=1e-5
    )


def test_batches_are_of_the_size_that_was_asked_for_and_the_last_is_smaller() -> None:
    module = settled()
    model = defend(load_model(module, name="tiny", batch=4), "bn_adapt:2")
    assert model.facts.adapts_in == 4
    by_hand = [expected(module, pixels_of(IMAGES[start : start + 4]), 2) for start in (0, 4, 8)]
    np.testing.assert_allclose(model.logits(IMAGES), np.concatenate(by_hand), rtol=1e-4, atol=1e-5)


def test_a_batch_is_64_unless_another_is_asked_for() -> None:
    assert defend(load_model(settled(), name="tiny"), "bn_adapt").facts.adapts_in == 64


def test_identities_and_names() -> None:
    plain = load_model(settled(), name="tiny")
    found = [
        plain,
        defend(plain, "bn_adapt"),
        defend(plain, "bn_adapt:0"),
        defend(load_model(settled(), name="tiny", batch=4), "bn_adapt"),
    ]
    assert len({one.identity for one in found}) == 4
    assert [one.name for one in found[1:]] == [
        "tiny+bn_adapt:16 (adapted)",
        "tiny+bn_adapt:0 (adapted)",
        "tiny+bn_adapt:16 (adapted)",
    ]
    assert found[1].identity == defend(plain, "bn_adapt:16").identity
    assert "of up to 64 test images at a time" in found[1].facts.defences[0].words


def test_the_module_that_was_lent_stays_as_it_is() -> None:
    module = settled().train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    plain = load_model(module, name="tiny")
    logits = plain.logits(IMAGES)
    defend(plain, "bn_adapt").logits(IMAGES)
    assert module.training
    assert not module.norm._forward_pre_hooks
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])
    np.testing.assert_array_equal(plain.logits(IMAGES), logits)


def test_the_weights_are_not_copied() -> None:
    module = settled()
    model = defend(load_model(module, name="tiny"), "bn_adapt")
    assert model._shown.module.head.weight is module.head.weight
    assert model._shown.module.norm is not module.norm


@pytest.mark.parametrize(
    ("norm", "shape"),
    [
        (torch.nn.BatchNorm1d, (144,)),
        (torch.nn.BatchNorm2d, (12, 12)),
        (torch.nn.BatchNorm3d, (12, 3, 4)),
        (torch.nn.SyncBatchNorm, (12, 12)),
    ],
)
def test_every_kind_of_batch_norm(norm, shape) -> None:
    form = torch.nn.Sequential(torch.nn.Flatten(2), torch.nn.Unflatten(2, shape))
    module = torch.nn.Sequential(form, norm(3), torch.nn.Flatten())
    pixels = pixels_of(IMAGES).double()
    variance, mean = torch.var_mean(pixels, (0, 2, 3), correction=0, keepdim=True)
    np.testing.assert_allclose(
        defend(load_model(module, name="norm"), "bn_adapt:0").logits(IMAGES),
        ((pixels - mean) / (variance + 1e-5).sqrt()).flatten(1).numpy(),
        rtol=1e-4,
        atol=1e-5,
    )


def test_a_layer_that_does_more_than_normalise() -> None:
    """Such as timm's, which bring their activation along."""

    class Activated(torch.nn.BatchNorm2d):
        def forward(self, features):
            own = torch.nn.functional.batch_norm(
                features, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
            return own.relu()

    module = settled()
    twin = settled()
    twin.norm.__class__ = Activated
    one, two = (defend(load_model(each, name="tiny"), "bn_adapt") for each in (module, twin))
    np.testing.assert_allclose(one.logits(IMAGES), two.logits(IMAGES), rtol=1e-5)


def test_tensors_as_arrays() -> None:
    model = defend(load_model(settled(), name="tiny"), "bn_adapt")
    logits = model.logits(torch.from_numpy(IMAGES.copy()))
    np.testing.assert_allclose(logits.numpy(), model.logits(IMAGES), rtol=1e-6)


def test_behind_the_filter_that_it_was_trained_behind() -> None:
    module = settled()
    trained = trained_behind(load_model(module, name="tiny"), "median")
    model = defend(trained, "bn_adapt:2")
    shown = pixels_of(FILTERS["median"](IMAGES))
    np.testing.assert_allclose(
        model.logits(IMAGES), expected(module, shown, 2), rtol=1e-4, atol=1e-5
    )
    assert "as it was trained; bn_adapt:2: batch norm by" in in_words(model.facts.defences)


def test_a_model_without_batch_norm_is_refused() -> None:
    linear = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(432, 2))
    with pytest.raises(
        InputError, match="batch norm and stored statistics for bn_adapt, got flat, w"
    ):
        defend(load_model(linear, name="flat"), "bn_adapt")
    forgetful = torch.nn.Sequential(torch.nn.BatchNorm2d(3, track_running_stats=False))
    with pytest.raises(InputError, match="which has none"):
        defend(load_model(forgetful, name="forgetful"), "bn_adapt")


def test_a_module_that_cannot_be_copied_is_refused() -> None:
    module = settled()
    module.lines = (line for line in ())
    with pytest.raises(InputError, match=r"tiny: its module cannot be copied \(TypeError"):
        defend(load_model(module, name="tiny"), "bn_adapt")


def test_without_memory_for_the_batch_nothing_is_halved(monkeypatch) -> None:
    """Half a batch would have other statistics."""
    model = defend(load_model(settled(), name="tiny"), "bn_adapt")

    def full(pixels):
        raise torch.OutOfMemoryError("no memory")

    monkeypatch.setattr(model._shown.module, "forward", full)
    with pytest.raises(
        HardyError, match="no memory left for a batch of 10; ask for a smaller batch"
    ):
        model.logits(IMAGES)
