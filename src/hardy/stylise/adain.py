"""AdaIN (Huang and Belongie, 2017): an image gets the statistics of a style's features.

c and s are the features of the image and of the style, σ and μ their standard deviations and means
over positions, in each channel by itself (the variance unbiased, plus 1e-5):

    t = σ(s) · (c − μ(c)) / σ(c) + μ(s),   image = decoder(α · t + (1 − α) · c)

The encoder is VGG-19 up to relu4_1, its filters scaled so that their mean activation is 1; the
decoder mirrors it. All 3 x 3 convolutions are padded by reflection; ReLU follows each but the last.

| encoder             | channels | side  |   | decoder             | channels | side  |
|---------------------|----------|-------|---|---------------------|----------|-------|
| conv 1 x 1, colours | 3        | n     |   | conv 3 x 3          | 256      | n / 8 |
| conv 3 x 3, twice   | 64       | n     |   | doubled, nearest    |          | n / 4 |
| max-pool 2 x 2      |          | n / 2 |   | conv 3 x 3, thrice  | 256      | n / 4 |
| conv 3 x 3, twice   | 128      | n / 2 |   | conv 3 x 3          | 128      | n / 4 |
| max-pool 2 x 2      |          | n / 4 |   | doubled, nearest    |          | n / 2 |
| conv 3 x 3, 4 times | 256      | n / 4 |   | conv 3 x 3          | 128, 64  | n / 2 |
| max-pool 2 x 2      |          | n / 8 |   | doubled, nearest    |          | n     |
| conv 3 x 3          | 512      | n / 8 |   | conv 3 x 3          | 64, 3    | n     |

Pools round up, so the decoder gives a multiple of 8, which is cut to n. It takes and gives RGB in
0..1. 3,505,740 and 3,505,219 weights. The parts are numbered as in the authors' networks, so that
weights bear the names they have everywhere: "encoder.2.weight". This file imports torch.
"""

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

Widths = tuple[tuple[int, ...], ...]
_TINY = 1e-5


class Statistics(NamedTuple):
    """What is kept of features, (N, channels, 1, 1)."""

    mean: Tensor
    deviation: Tensor


class AdaIN(nn.Module):
    """The encoder and the decoder; pixels are float (N, 3, H, W) in 0..1."""

    # Channels before and after each convolution, by resolution.
    encoder_widths: Widths = ((3, 64, 64), (64, 128, 128), (128, 256, 256, 256, 256), (256, 512))
    decoder_widths: Widths = ((512, 256), (256, 256, 256, 256, 128), (128, 128, 64), (64, 64, 3))

    def __init__(self) -> None:
        super().__init__()
        encoder: list[nn.Module] = [nn.Conv2d(3, 3, 1)]
        for stage in self.encoder_widths:
            if len(encoder) > 1:
                encoder.append(nn.MaxPool2d(2, ceil_mode=True))
            encoder += _convolutions(*stage)
        self.encoder = nn.Sequential(*encoder)
        decoder: list[nn.Module] = []
        for stage in self.decoder_widths:
            if decoder:
                decoder.append(nn.Upsample(scale_factor=2, mode="nearest"))
            decoder += _convolutions(*stage)
        self.decoder = nn.Sequential(*decoder[:-1])

    def style(self, pixels: Tensor) -> Statistics:
        """All that is taken of a style."""
        return statistics(self.encoder(pixels))

    def forward(self, pixels: Tensor, style: Statistics, alpha: float) -> Tensor:
        content = self.encoder(pixels)
        own = statistics(content)
        dressed = style.deviation * (content - own.mean) / own.deviation + style.mean
        made: Tensor = self.decoder(alpha * dressed + (1 - alpha) * content)
        return made[..., : pixels.shape[2], : pixels.shape[3]]


def statistics(features: Tensor) -> Statistics:
    variance, mean = torch.var_mean(features, (2, 3), keepdim=True)
    return Statistics(mean, (variance + _TINY).sqrt())


def _convolutions(*widths: int) -> list[nn.Module]:
    found: list[nn.Module] = []
    for before, after in pairwise(widths):
        found += [nn.ReflectionPad2d(1), nn.Conv2d(before, after, 3), nn.ReLU()]
    return found
