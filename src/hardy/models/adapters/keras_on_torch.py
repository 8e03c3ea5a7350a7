"""A model of Keras as a module of torch, which it is underneath. This file imports torch."""

from dataclasses import replace
from typing import Any

import torch

from hardy.models.adapters.keras_model import KerasIntake
from hardy.models.adapters.torch_model import TorchModel
from hardy.models.adapters.torch_sources import finish_model
from hardy.models.model import ModelFacts, Options, Preprocessing


def as_torch_model(
    model: Any, intake: KerasIntake, options: Options, used: Preprocessing, facts: ModelFacts
) -> TorchModel:
    return finish_model(_Layered(model, intake), replace(options, preprocessing=used), used, facts)


class _Layered(torch.nn.Module):
    """Pixels as torch has them, (N, 3, H, W), into Keras' layers."""

    def __init__(self, model: Any, intake: KerasIntake) -> None:
        super().__init__()
        self.model = model
        self.intake = intake

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        import keras

        if self.intake.channels_last:
            pixels = pixels.permute(0, 2, 3, 1)
        if self.intake.whole:  # which would be cut off to whole numbers, not rounded
            pixels = pixels.round()
        with keras.device(str(pixels.device)):  # elsewhere it would move them to its favourite
            scores: torch.Tensor = self.model(pixels, training=False)
        if self.intake.logarithm:
            scores = scores.float().clamp_min(torch.finfo(torch.float32).tiny).log()
        return scores
