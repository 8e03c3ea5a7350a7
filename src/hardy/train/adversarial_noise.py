"""A generator of noise (Rusak et al., 2020), and the projection of its noise to a fixed L2 norm.

For pixels x in 0..1 and raw noise δ, `project` finds η ≥ 0 with ‖clip(x + η δ) − x‖₂ = ε, where
the clipping counts. An element saturates at η² = tᵢ = sᵢ² / δᵢ², where sᵢ is the room it has
towards the side δᵢ points to. Up to the next saturation the squared norm is Σ sᵢ² over the
saturated plus η² Σ δᵢ² over the others, so searching the sorted t tells which are saturated at ε,
and the equation is linear in η². Gradients flow through η.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hardy.train.method import Draw

WIDTH = 20  # channels inside the generator
TINY = 1e-20
PAPER_EPSILON, PAPER_VALUES = 135.0, 3 * 224 * 224


def usual_epsilon(values: int) -> float:
    """The paper's ε = 135 for the 150,528 values of an image at 224 px; else the same change per
    value, 135 · √(values / 150,528)."""
    return float(PAPER_EPSILON * (values / PAPER_VALUES) ** 0.5)


class Generator(nn.Module):
    """Four convolutions and a skip connection; `side` is the kernel of the second one. It starts as
    the white noise itself, nearly: its weights are N(0, 0.01²) and its biases 0."""

    def __init__(self, side: int, draw: Draw) -> None:
        super().__init__()
        self.side = side
        self.layers = nn.Sequential(
            nn.Conv2d(3, WIDTH, 1),
            nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, side),
            nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 1),
            nn.ReLU(),
            nn.Conv2d(WIDTH, 3, 1),
        ).to(draw.device)
        self.start(draw)

    def start(self, draw: Draw) -> None:
        with torch.no_grad():
            for part in self.layers:
                if isinstance(part, nn.Conv2d):
                    part.weight.copy_(0.01 * draw.common_normal(*part.weight.shape))
                    part.bias.zero_()

    def white(self, draw: Draw, shape: Sequence[int]) -> Tensor:
        """The white noise that becomes noise of a shape (N, 3, H, W): wider by what the convolution
        cuts off."""
        count, channels, height, width = shape
        more = self.side - 1
        return draw.normal(count, channels, height + more, width + more)

    def inner(self, white: Tensor) -> Tensor:
        """The part of the white noise that lies where the noise will."""
        edge = self.side // 2
        return white[:, :, edge:-edge, edge:-edge] if edge else white

    def forward(self, white: Tensor) -> Tensor:
        return self.layers(white) + self.inner(white)


def project(pixels: Tensor, noise: Tensor, epsilon: float) -> Tensor:
    """clip(x + η δ) with η for each image; where ε is out of reach, every element saturates."""
    scale = find_scale(pixels, noise, epsilon).to(noise.dtype)
    return (pixels + scale.view(-1, 1, 1, 1) * noise).clamp(0, 1)


def find_scale(pixels: Tensor, noise: Tensor, epsilon: float) -> Tensor:
    """η, float64 (N,), differentiable almost everywhere: which elements are saturated is constant
    around almost every point, so only the last line needs gradients."""
    x, delta = pixels.flatten(1).double(), noise.flatten(1).double()
    squares = delta.square()
    with torch.no_grad():
        room = torch.where(delta >= 0, 1 - x, x).square()
        limits = room / squares.clamp(min=TINY)
        reached = _reached(limits, room, squares, epsilon**2)
        saturated = limits <= reached[:, None]
        free = torch.where(saturated, 0.0, squares).sum(1) > 0
    filled = torch.where(saturated, room, 0.0).sum(1)
    slope = torch.where(saturated, 0.0, squares).sum(1)
    inner = (epsilon**2 - filled) / torch.where(free, slope, 1.0)
    return torch.where(free, inner, reached).sqrt()


def _reached(limits: Tensor, room: Tensor, squares: Tensor, target: float) -> Tensor:
    """The largest limit at which the squared norm is still below the target, −1 if there is none.
    By bisection, because running sums of floats are not reproducible on a GPU."""
    limits = limits.sort(1).values
    low = torch.zeros_like(limits[:, :1], dtype=torch.int64)
    high = torch.full_like(low, limits.shape[1])
    for _ in range(limits.shape[1].bit_length()):
        middle = (low + high) // 2
        at = limits.gather(1, middle.clamp(max=limits.shape[1] - 1))
        below = torch.minimum(room, at * squares).sum(1, keepdim=True) < target
        low, high = (
            torch.where(below & (low < high), middle + 1, low),
            torch.where(below, high, middle),
        )
    before = torch.cat([torch.full_like(limits[:, :1], -1.0), limits], 1)
    return before.gather(1, low)[:, 0]
