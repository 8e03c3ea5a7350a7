"""EDSR-baseline x 4 (Lim et al., 2017), a net that enlarges images, and what DeepAugment (Hendrycks
et al., 2021) does to its features.

| part | layers, all 3 x 3 with zeros around                              | out, for 16 px |
|------|------------------------------------------------------------------|----------------|
| head | less the mean colour; 3 to 64                                    | 64 @ 16        |
| body | 16 times x + B(ReLU(A(x))), A and B 64 to 64; 64 to 64; + head   | 64 @ 16        |
| tail | 64 to 256, every four planes one of twice the side, twice        | 64 @ 64        |
|      | 64 to 3; plus the mean colour                                    | 3 @ 64         |

It has 1,517,571 weights, by the names that the authors' files have. Inside, pixels are in 0..255.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.train.method import Draw

BLOCKS, WIDTH, SCALE = 16, 64, 4
_MEAN = (0.4488, 0.4371, 0.4040)
_EARLY = 5  # blocks before the features are changed
_FIRST_LAST = BLOCKS - 3  # the least part of the body that can be the last which is not skipped
_PAIRS = 5  # channels that take the place of another
_ZEROED, _NEGATED = 0.05, 0.025  # shares of activations


class _Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(_conv(WIDTH, WIDTH), nn.ReLU(), _conv(WIDTH, WIDTH))

    def forward(self, features: Tensor) -> Tensor:
        return features + self.body(features)


def _conv(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1)


class Edsr(nn.Module):
    """Pixels in 0..1, enlarged by features that are changed, and brought back to their size."""

    title = "EDSR-baseline x 4"
    fixed = ("sub_mean.", "add_mean.")  # what files have beside what is learned
    weight_decay = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Sequential(_conv(3, WIDTH))
        self.body = nn.Sequential(*(_Block() for _ in range(BLOCKS)), _conv(WIDTH, WIDTH))
        larger = [part for _ in range(2) for part in (_conv(WIDTH, 4 * WIDTH), nn.PixelShuffle(2))]
        self.tail = nn.Sequential(nn.Sequential(*larger), _conv(WIDTH, 3))
        self.register_buffer("mean", torch.tensor(_MEAN).view(1, 3, 1, 1), persistent=False)

    def forward(self, pixels: Tensor, draw: Draw) -> Tensor:
        """Images of half the side come back at twice the side: nearly as in the original, where 128
        pixels became 512, of which the classifier was shown 224."""
        half = [max(1, side // 2) for side in pixels.shape[2:]]
        larger = self.enlarge(functional.interpolate(pixels, half, mode="area"), draw)
        return functional.interpolate(larger.float(), pixels.shape[2:], mode="area")

    def enlarge(self, pixels: Tensor, draw: Draw | None = None) -> Tensor:
        """Four times the side, not clipped. With a `draw` the features of each image are changed at
        random."""
        head = self.head(255 * (pixels - self.mean))
        if draw is None:
            features = self.body(head)
        else:
            head = change_head(head, draw)
            features = self.through_body(head, draw)
        return self.tail(head + features) / 255 + self.mean

    def through_body(self, head: Tensor, draw: Draw) -> Tensor:
        """After five blocks, one of five for each image: negated; through a ReLU (⅓) or GELU; with
        channels and rows (⅓) or columns reversed; nothing; or up to three of the parts 2 to 16 are
        skipped. As that is published, only the last part that is not skipped counts, and reads the
        head: mostly the convolution at the end."""
        count = len(head)
        change, third = draw.integers(5, count, 1, 1, 1), draw.integers(3, count, 1, 1, 1) == 0
        skipped = 2 + draw.integers(BLOCKS - 1, 3, count)
        features = self.body[:_EARLY](head)
        bent = torch.where(third, functional.relu(features), functional.gelu(features))
        turned = torch.where(third, features.flip(1, 2), features.flip(1, 3))
        for number, changed in enumerate((-features, bent, turned)):
            features = torch.where(change == number, changed, features)
        last = torch.full_like(change, _FIRST_LAST)
        for number in range(_FIRST_LAST + 1, BLOCKS + 1):
            gone = (skipped == number).any(0).view_as(last)
            last = torch.where(gone, last, number)
        last = torch.where(change == 3, last, -1)
        kept = torch.zeros_like(features)
        for number, part in enumerate(self.body[_EARLY:], _EARLY):
            features = part(torch.where(last == number, head, features))
            kept = torch.where(last == number, features, kept)
        return torch.where(last >= 0, kept, features)

    def objective(self, pixels: Tensor, draw: Draw) -> Tensor:
        """What is learned: the mean absolute difference of images to what is made of them at a
        quarter of their side."""
        height, width = (max(1, side // SCALE) for side in pixels.shape[2:])
        small = functional.interpolate(pixels, (height, width), mode="area")
        wanted = functional.interpolate(pixels, (SCALE * height, SCALE * width), mode="area")
        return functional.l1_loss(self.enlarge(small), wanted)


def change_head(head: Tensor, draw: Draw) -> Tensor:
    """One of four for each image: five times a channel takes the place of another; 5 % of the
    activations become 0; 2.5 % change their sign; nothing."""
    count, channels = head.shape[:2]
    change = draw.integers(4, count, 1, 1, 1)
    numbers = torch.arange(channels, device=head.device)
    source = numbers.expand(count, -1)
    for place, other in draw.integers(channels, _PAIRS, 2, count, 1):
        source = torch.where(numbers == place, source.gather(1, other), source)
    moved = head.gather(1, source[:, :, None, None].expand_as(head))
    chance = draw.uniform(*head.shape)
    head = torch.where(change == 0, moved, head)
    head = torch.where((change == 1) & (chance < _ZEROED), 0.0, head)
    return torch.where((change == 2) & (chance < _NEGATED), -head, head)
