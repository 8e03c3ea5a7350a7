"""Streamed JPEG files that are decoded and cut on the GPU, by nvJPEG as torchvision brings it.

Whether an image is decoded there is drawn as its crop is, by seed, epoch and the image's id: so
threads and the GPU share the work, and nothing hangs on which of them is faster.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from hardy.engine.door import SMALLEST_SIDE, UInt8
from hardy.engine.ops import out_of_memory
from hardy.errors import InputError, MissingResource, need, told
from hardy.images.image_files import Convert, Picture
from hardy.train.crops import DECODED_THERE, Drawn, ScaleCrop, check_decode

# From files, uint8 (bytes,), to their pixels (3, H, W) on the device; if one of them cannot be
# decoded, a RuntimeError for all.
Decode = Callable[[list[Tensor]], Iterable[Tensor]]
_END = b"\xff\xd9"  # of a JPEG that is whole


class File(NamedTuple):
    """An image of a batch that is still to be decoded."""

    place: int  # in the batch
    row: int  # of the source
    data: UInt8
    drawn: Drawn


@dataclass(frozen=True)
class GpuDecoder:
    """What decodes a share of the images, and cuts them."""

    way: str
    decode: Decode
    crop: ScaleCrop
    versions: dict[str, str]

    @property
    def share(self) -> float:
        return DECODED_THERE[self.way]

    def put(self, files: Sequence[File], into: Tensor) -> list[File]:
        """Put files, decoded and cut, into their places of a batch uint8 (N, H, W, 3) on the
        device; what is left are those that nvJPEG refuses."""
        if into.is_cuda:
            # torchvision decodes on a stream of its own into memory that may just have been let go
            # of here: all that was to be done with it, such as cutting images, must be over.
            torch.cuda.current_stream(into.device).synchronize()
        decoded = self._decoded([torch.from_numpy(file.data) for file in files])
        pairs = list(zip(files, decoded, strict=True))
        done = [(image, file) for file, image in pairs if image is not None]
        if done:
            places = torch.tensor([file.place for _, file in done], device=into.device)
            into[places] = cut_there(self.crop, [(image, file.drawn) for image, file in done])
        return [file for file, image in pairs if image is None]

    def _decoded(self, files: list[Tensor]) -> list[Tensor | None]:
        """The pixels of each file, None for one that is refused; halves are tried to find it."""
        try:
            return list(self.decode(files))
        except RuntimeError as error:
            if out_of_memory(error):
                raise
        if len(files) == 1:
            return [None]
        half = len(files) // 2
        return self._decoded(files[:half]) + self._decoded(files[half:])


def open_decoder(way: str, crop: ScaleCrop | None, device: torch.device) -> GpuDecoder | None:
    """What decodes on the GPU, if anything is to be decoded there."""
    if not DECODED_THERE[check_decode(way, crop)]:
        return None
    assert crop is not None
    from PIL import Image

    decode = nvjpeg(device)
    file = BytesIO()
    Image.new("RGB", (16, 16)).save(file, "JPEG")
    try:
        decode([torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)])
    except RuntimeError as error:
        raise MissingResource(
            f"expected nvJPEG in torchvision for `decode` {way}, got {told(error)}; install builds "
            "of torch and torchvision for CUDA, or leave `decode` out"
        ) from error
    return GpuDecoder(way, decode, crop, {"torchvision": version("torchvision")})


def nvjpeg(device: torch.device) -> Decode:
    if device.type != "cuda":
        raise InputError(f"expected a GPU to decode on, got {device.type}; leave `decode` out")
    io = need("torchvision.io", "torchvision", "decoding on the GPU")
    return partial(io.decode_jpeg, mode=io.ImageReadMode.RGB, device=device)


def file_or(cut: Convert, picture: Picture) -> UInt8:
    """The file of a JPEG that every decoder reads alike, or what `cut` makes of the picture.

    Progressive files, which the GPU's decoder would leave to the host, and those that do not say
    that their colours are YCbCr, or do not end as they should, are for libjpeg.
    """
    if isinstance(picture, np.ndarray) or picture.format != "JPEG" or picture.mode != "RGB":
        return cut(picture)
    said = picture.info
    colours = said.get("adobe_transform", 1 if "jfif" in said else 0)
    if colours == 1 and "progressive" not in said and min(picture.size) >= SMALLEST_SIDE:
        opened: Any = picture
        stream = opened.fp
        stream.seek(0)
        data = stream.read()
        if data.endswith(_END):
            return np.frombuffer(bytearray(data), np.uint8)
    return cut(picture)


def cut_there(crop: ScaleCrop, images: Sequence[tuple[Tensor, Drawn]]) -> Tensor:
    """`crop.cut` of decoded images (3, H, W), where they are: uint8 (N, side, side, 3)."""
    parts = []
    for image, drawn in images:
        top, left, height, width = crop.box(image.shape[1], image.shape[2], drawn)
        part = image[None, :, top : top + height, left : left + width].float()
        parts.append(interpolate(part, crop.shape, mode="bilinear", antialias=True))
    squares = torch.cat(parts).round_().to(torch.uint8)
    mirrored = torch.tensor([drawn[-1] < 0.5 for _, drawn in images], device=squares.device)
    squares = torch.where(mirrored[:, None, None, None], squares.flip(3), squares)
    return squares.permute(0, 2, 3, 1)
