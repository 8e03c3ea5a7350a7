"""One image in the style of a picture. This file imports torch.

Each image passes the network alone, as with the authors: so what comes out hangs on no batch, and a
set that was stopped goes on to the same bytes on the same machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn import functional

from hardy.engine.door import UInt8
from hardy.models.torch_identity import hash_weights
from hardy.stylise.adain import AdaIN
from hardy.stylise.style_pictures import SIDE, StylePictures, as_pixels


class Dresser:
    """The network, the pictures of styles, and how much of a style an image takes."""

    def __init__(
        self, net: AdaIN, pictures: StylePictures, alpha: float, device: torch.device
    ) -> None:
        self.net, self.pictures, self.alpha, self.device = net, pictures, alpha, device

    def described(self) -> dict[str, object]:
        """What a resumed set must have alike."""
        return {
            "weights": hash_weights(self.net),
            "alpha": self.alpha,
            "styles": {"pictures": len(self.pictures.names), "sha256": self.pictures.digest()},
            "side": SIDE,
        }

    def dressed(self, image: UInt8, id: int | str) -> tuple[UInt8, str]:
        """uint8 (H, W, 3) to the same, rounded; and the picture whose style it has."""
        with _alike(), torch.inference_mode():
            name, style = self.pictures.of(id, self.net, self.device)
            pixels = as_pixels(image, self.device)
            height, width = pixels.shape[2:]
            larger = max(1.0, SIDE / min(height, width))
            shown = _resized(pixels, round(height * larger), round(width * larger))
            made = _resized(self.net(shown, style, self.alpha).clamp(0, 1), height, width)
            bytes = (made[0].permute(1, 2, 0) * 255).round().to(torch.uint8)
            return bytes.contiguous().cpu().numpy(), name


def _resized(pixels: Tensor, height: int, width: int) -> Tensor:
    if pixels.shape[2:] == (height, width):
        return pixels
    return functional.interpolate(pixels, (height, width), mode="bilinear", antialias=True)


@contextmanager
def _alike() -> Iterator[None]:
    """A GPU chooses its algorithms by rule, not by how fast they were this time."""
    cudnn = torch.backends.cudnn
    before = cudnn.benchmark, cudnn.deterministic  # torch 2.9 warns of its own `cudnn.flags`
    cudnn.benchmark, cudnn.deterministic = False, True
    try:
        yield
    finally:
        cudnn.benchmark, cudnn.deterministic = before
