"""The compressive auto-encoder of DeepAugment (Hendrycks et al., 2021; after Theis et al., 2017),
and what DeepAugment does to its code.

| layer  | what                                                                  | out, for 64 px |
|--------|-----------------------------------------------------------------------|----------------|
| 0, 1   | zeros around (1 before, 2 behind); 5 x 5, stride 2: 3 to 64; to 128   | 32, 16         |
| 2-7    | three times x + B(A(x)), 3 x 3, 128 planes                            | 16             |
| 8      | 5 x 5, 128 to 32, tanh: z; bits, 1 with probability (1 + z) / 2       | 16             |
| 9, 10  | of ±1; 3 x 3 inside, 32 to 64; zeros around; transposed 2 x 2, to 128 | 14, 16, 32     |
| 11-16  | three times x + B(A(x)), 3 x 3, 128 planes                            | 32             |
| 17, 18 | 3 x 3 inside, 128 to 32; zeros around; transposed 2 x 2, to 256       | 30, 32, 64     |
| 19, 20 | 3 x 3 inside, 256 to 16; mirrored by 2; 3 x 3 inside, to 3; tanh      | 62, 66, 64     |

Leaky ReLU of 0.01 follows 0, 1, 9, 17, 19 and each A. "Inside" is without padding. It has 2,241,859
weights, by the names that the authors' file has.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.train.method import Draw
from hardy.train.methods.noise2net import convolve

PLANES, CODE = 128, 32
_SHUFFLED, _FLIPPED = 10, 5  # channels of the code
_ZEROED, _NEGATED = 0.2, 0.1  # shares of its places
_ANEW = 0.2  # how often a channel is shifted otherwise than the one before
_SMALLEST = 12  # pixels, of which the decoder leaves some


def _block() -> nn.Sequential:
    parts = []
    for _ in range(2):
        parts += [nn.ZeroPad2d(1), nn.Conv2d(PLANES, PLANES, 3), nn.LeakyReLU()]
    return nn.Sequential(*parts[:-1])


def _shrinking(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.ZeroPad2d((1, 2, 1, 2)), nn.Conv2d(inputs, outputs, 5, stride=2), nn.LeakyReLU()
    )


def _growing(inputs: int, between: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, between, 3),
        nn.LeakyReLU(),
        nn.ZeroPad2d(1),
        nn.ConvTranspose2d(between, outputs, 2, stride=2),
    )


class _Mirrored(nn.Module):
    """Two rows and columns around, mirrored; of slices, whose gradients are the same each time."""

    def forward(self, features: Tensor) -> Tensor:
        for axis in (2, 3):
            size = features.shape[axis]
            around = [features.narrow(axis, place, 1) for place in (2, 1, size - 2, size - 3)]
            features = torch.cat([*around[:2], features, *around[2:]], axis)
        return features


class AutoEncoder(nn.Module):
    """Pixels in 0..1, to 32 bits for every 16 of those that are twice as many a side, which are
    changed, and back to their size."""

    title = "the compressive auto-encoder of 32 bits"
    fixed = ()
    weight_decay = 1e-5

    def __init__(self) -> None:
        super().__init__()
        self.e_conv_1, self.e_conv_2 = _shrinking(3, 64), _shrinking(64, PLANES)
        self.e_block_1, self.e_block_2, self.e_block_3 = _block(), _block(), _block()
        self.e_conv_3 = nn.Sequential(nn.Conv2d(PLANES, CODE, 5, padding=2), nn.Tanh())
        self.d_up_conv_1 = _growing(CODE, 64, PLANES)
        self.d_block_1, self.d_block_2, self.d_block_3 = _block(), _block(), _block()
        self.d_up_conv_2 = _growing(PLANES, 32, 256)
        self.d_up_conv_3 = nn.Sequential(
            nn.Conv2d(256, 16, 3), nn.LeakyReLU(), _Mirrored(), nn.Conv2d(16, 3, 3), nn.Tanh()
        )

    def forward(self, pixels: Tensor, draw: Draw) -> Tensor:
        """Images pass at twice the side: nearly as in the original, where 512 pixels passed, of
        which the classifier was shown 224."""
        made = self.through(enlarged(pixels), draw, change=True)
        return functional.interpolate(made.float(), pixels.shape[2:], mode="area")

    def through(self, pixels: Tensor, draw: Draw, *, change: bool = False) -> Tensor:
        """The bits are drawn; with `change` the code of each image is changed at random before."""
        features = self.e_conv_2(self.e_conv_1(pixels))
        for block in (self.e_block_1, self.e_block_2, self.e_block_3):
            features = features + block(features)
        code, louder = self.e_conv_3(features).float(), None
        if change:
            code, louder = change_code(code, draw)
        signs = torch.where(draw.uniform(*code.shape) <= (1 + code) / 2, 1.0, -1.0)
        signs = code + (signs - code).detach()  # the gradient passes as if nothing were rounded
        if louder is not None:
            signs = (1 + signs) * louder - 1
        features = self.d_up_conv_1(signs)
        for block in (self.d_block_1, self.d_block_2, self.d_block_3):
            features = features + block(features)
        return self.d_up_conv_3(self.d_up_conv_2(features))

    def objective(self, pixels: Tensor, draw: Draw) -> Tensor:
        """What is learned: the mean squared difference of images to what is made of them."""
        larger = enlarged(pixels)
        return functional.mse_loss(self.through(larger, draw), larger)


def enlarged(pixels: Tensor) -> Tensor:
    """Twice the side, or as little more as the net can take."""
    sides = [max(_SMALLEST, -(-2 * side // 4) * 4) for side in pixels.shape[2:]]
    return functional.interpolate(pixels, sides, mode="bilinear", align_corners=False)


def change_code(code: Tensor, draw: Draw) -> tuple[Tensor, Tensor]:
    """One of nine for each image, and by what its bits are multiplied: 0, bits by 3 + 4 u r, u of
    the image and r of the bit uniform in 0..1; 1, 20 % of the places become 0; 2, 10 % of the
    places change their sign; 3, the first ten channels change places; 4, five channels, or 5, all
    of them are turned upside down, mirrored, or both; 6 to 8, convolved by `kernels`."""
    count, channels, height, width = code.shape
    change = draw.integers(9, count, 1, 1, 1)
    loud = 3 + 4 * draw.uniform(count, 1, 1, 1) * draw.uniform(*code.shape)
    louder = torch.where(change == 0, loud, 1.0)
    chance = draw.uniform(count, 1, height, width)
    zeroed = torch.where(chance < _ZEROED, 0.0, code)
    negated = torch.where(chance < _NEGATED, -code, code)
    first = draw.uniform(count, _SHUFFLED).argsort(1)[:, :, None, None]
    first = code.gather(1, first.expand(-1, -1, height, width))
    shuffled = torch.cat([first, code[:, _SHUFFLED:]], 1)
    numbers = torch.arange(channels, device=code.device).view(-1, 1)
    drawn = draw.integers(channels, count, 1, _FLIPPED)
    chosen = ((drawn == numbers).sum(2) % 2 == 1)[:, :, None, None]  # twice is not at all
    axes = draw.integers(3, count, 1, 1, 1)
    flipped = torch.where(axes == 0, code.flip(2), code.flip(2, 3))
    flipped = torch.where(axes == 1, code.flip(3), flipped)
    once = torch.ones(count, dtype=torch.int64, device=code.device)
    convolved = convolve(code, kernels(change.flatten(), channels, draw), once).float()
    some = torch.where(chosen, flipped, code)
    for number, changed in enumerate((zeroed, negated, shuffled, some, flipped), 1):
        code = torch.where(change == number, changed, code)
    return torch.where(change >= 6, convolved, code), louder


def kernels(change: Tensor, channels: int, draw: Draw) -> Tensor:
    """3 x 3, (N, channels, channels, 3, 3), that leave a code as it is but for one of these: 6,
    plus U(−0.1, 0.1) in each tap; 7, each channel also reads, with probability ½, a place beside it
    in any channel; 8, each channel moves by a pixel, as the one before it or, with probability 0.2,
    anew."""
    count = len(change)
    numbers, taps = (torch.arange(n, device=change.device) for n in (channels, 9))
    same = (numbers[:, None] == numbers)[None, :, :, None]
    change = change.view(-1, 1, 1, 1)
    noise = 0.2 * draw.uniform(count, channels, channels, 9) - 0.1
    places = draw.integers(9, count, channels, 1, 1)
    others = draw.integers(channels, count, channels, 1, 1) == numbers.view(-1, 1)
    more = others & (places == taps) & (draw.uniform(count, channels, 1, 1) < 0.5)
    begins = torch.where(draw.uniform(count, channels) < _ANEW, numbers, 0).cummax(1).values
    moved = same & (places[:, :, 0, 0].gather(1, begins)[:, :, None, None] == taps)
    found = (same & (taps == 4)).float().expand(count, -1, -1, -1)
    found = torch.where(change == 6, found + noise, found)
    found = torch.where((change == 7) & more, 1.0, found)
    return torch.where(change == 8, moved.float(), found).unflatten(3, (3, 3))
