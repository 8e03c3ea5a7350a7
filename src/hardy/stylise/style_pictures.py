"""Pictures whose styles images get, and which image gets which.

The style of an image is drawn by its id and a seed (`engine/rng.py`), uniformly and with
replacement, as in Stylized-ImageNet (Geirhos et al., 2019): order, batches and restarts change
nothing. A picture that cannot be read is passed over: its image takes its next draw.

Of a picture the centre square is taken, resized to 224 x 224. This file imports torch.
"""

import hashlib
from pathlib import Path

import numpy as np
import torch

from hardy.engine.door import UInt8
from hardy.engine.ops import cpu_ops
from hardy.engine.rng import Draws, derive_key, image_id
from hardy.errors import HardyError, InputError
from hardy.images.image_files import Picture, read_image, rgb, walk
from hardy.images.recipes import resize
from hardy.stylise.adain import AdaIN, Statistics

SIDE = 224  # of styles, and the least that images have when they pass the network
_DRAWS = 8  # pictures that an image may try


class StylePictures:
    """The image files below a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        if not folder.is_dir():
            raise InputError(f"expected a folder of pictures as `styles`, got {folder}")
        self.folder = folder
        self.names = [path.as_posix() for path in walk(folder)[0]]
        if not self.names:
            raise InputError(
                f"expected pictures in the folder of `styles` {folder}, got no image files; put "
                "paintings or textures there"
            )
        self.faults: dict[str, str] = {}  # why pictures that were drawn could not be read
        self._key = derive_key(seed, "stylised", "style", 1)
        self._known: dict[str, Statistics] = {}

    def digest(self) -> str:
        """SHA-256 of names and sizes: to read all pictures may take longer than to use some."""
        listed = [f"{name} {(self.folder / name).stat().st_size}" for name in self.names]
        return hashlib.sha256("\n".join(listed).encode(errors="surrogateescape")).hexdigest()

    def drawn(self, id: int | str) -> list[str]:
        """The pictures that an image tries, in this order."""
        draws = Draws(cpu_ops(), self._key, np.array([image_id(id)], np.uint64))
        numbers = draws.integers("style", (_DRAWS,), len(self.names))[0]
        return [self.names[int(number)] for number in numbers]

    def of(self, id: int | str, net: AdaIN, device: torch.device) -> tuple[str, Statistics]:
        """The style of an image, and the picture it is from."""
        for name in self.drawn(id):
            if name in self.faults:
                continue
            try:
                if name not in self._known:
                    self._known[name] = net.style(as_pixels(self._read(name), device))
            except InputError as error:
                self.faults[name] = str(error)
            else:
                return name, self._known[name]
        raise HardyError(
            f"none of {_DRAWS} pictures drawn for the image {id} can be read, such as: "
            f"{next(iter(self.faults.values()))}; mend or remove those in {self.folder}"
        )

    def _read(self, name: str) -> UInt8:
        return read_image(self.folder / name, _square)


def as_pixels(image: UInt8, device: torch.device) -> torch.Tensor:
    """uint8 (H, W, 3) to float (1, 3, H, W) in 0..1."""
    bytes = torch.from_numpy(np.array(image)).to(device)
    return (bytes.permute(2, 0, 1)[None].float() / 255).contiguous()


def _square(picture: Picture) -> UInt8:
    pixels = rgb(picture)
    height, width = pixels.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return resize(np.ascontiguousarray(pixels[top : top + side, left : left + side]), SIDE, SIDE)
