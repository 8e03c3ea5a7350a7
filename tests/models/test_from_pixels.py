"""The door for attacks: a torch model as a function of pixels that can be differentiated."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hardy.models import Preprocessing, load_model
from hardy.models.adapters.torch_model import TorchModel
from tests.models.tiny import IMAGES, tiny

OWN = Preprocessing((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))


def loaded(size: int | None = None, interpolation: str = "bilinear") -> TorchModel:
    how = Preprocessing(OWN.mean, OWN.std, size, interpolation)
    model = load_model(tiny().train(), preprocessing=how)
    assert isinstance(model, TorchModel)
    return model


def pixels() -> torch.Tensor:
    return torch.from_numpy(IMAGES).permute(0, 3, 1, 2) / 255


def test_the_same_logits_with_gradients() -> None:
    model = loaded()
    before = model.logits(IMAGES)  # in inference mode: what it keeps must not get in the way
    shown = pixels().requires_grad_()
    with model.from_pixels() as classify:
        logits = classify(shown)
        (slope,) = torch.autograd.grad(logits.sum(), shown)
        assert not model.module.training
    np.testing.assert_allclose(logits.detach().numpy(), before, rtol=1e-4, atol=1e-5)
    assert slope.abs().sum() > 0
    assert model.module.training


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
def test_another_size(interpolation: str) -> None:
    """But for the step to whole levels: at most one level in each of the two directions."""
    model = loaded(20, interpolation)
    with model.from_pixels() as classify, torch.no_grad():
        logits = classify(pixels()).numpy()
    np.testing.assert_allclose(logits, model.logits(IMAGES), atol=0.02)
    assert np.abs(logits - loaded().logits(IMAGES)).max() > 0.001
