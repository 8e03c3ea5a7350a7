"""Training images: bytes on the device where they fit, cropped and flipped there; and stylised ones
in a part of each batch, as in ANT+SIN (Rusak et al., 2020)."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from hardy.errors import InputError
from hardy.images import load_images, open_images
from hardy.images.datasets import DATA_SETS
from hardy.models.defences.input_filters import input_filter
from hardy.progress import Track, untracked
from hardy.train.method import Draw, Method, to_pixels

_LARGEST_SHARE = 0.5  # of the device's free memory; the rest is the net's
_STYLISED_SHARE = 15 / 70  # of a batch
MOST_CLASSES = 100_000  # the net has an output for each


@dataclass(frozen=True)
class Data:
    images: Tensor  # uint8 (N, H, W, 3), on the device or on the host
    labels: Tensor  # int64 (N,), beside them
    classes: int
    described: str
    sha256: str  # of images and labels
    input: str | None = None  # what the images have passed through, as they will in a test
    names: tuple[str, ...] | None = None  # of the classes, where the source has names

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of an image, (3, H, W)."""
        return 3, self.images.shape[1], self.images.shape[2]


def read_data(
    where: str,
    device: torch.device,
    *,
    labels: Path | str | None = None,
    recipe: str = "none@1",
    input: str | None = None,
    part: str = "train",
    track: Track = untracked,
) -> Data:
    """Read all images of a source, or that part of a data set that is known by its name. `input` is
    a filter of `hardy.models.defences` that they pass first."""
    passed = None if input is None else input_filter(input)
    source = open_images(f"{where}:{part}" if where in DATA_SETS else where, labels=labels)
    if source.labels is None:
        raise InputError(f"{where} has no labels to train with; bring them by `labels`")
    if not len(source):
        raise InputError(f"{where}: expected images to train with, got none")
    # One batch, so that images of other sizes are refused by name.
    batch = next(load_images(source, recipe, batch=len(source), track=track))
    classes = len(source.classes) if source.classes else int(source.labels.max()) + 1
    if classes > MOST_CLASSES:
        raise InputError(
            f"{where}: expected labels below {MOST_CLASSES:,}, got {classes - 1:,}; number the "
            "classes 0, 1, 2, ..."
        )
    if classes < 2:
        raise InputError(f"{where}: expected at least 2 classes, got {classes}")
    digest = hashlib.sha256(batch.images.data)
    digest.update(source.labels.data)
    filtered = passed(batch.images) if passed else batch.images
    images, numbers = torch.from_numpy(filtered), torch.from_numpy(source.labels.copy())
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
        if images.nbytes <= _LARGEST_SHARE * free:
            images, numbers = images.to(device), numbers.to(device)
    names = tuple(source.classes) if source.classes else None
    return Data(images, numbers, classes, source.describe(), digest.hexdigest(), input, names)


def batches(data: Data, size: int, draw: Draw) -> Iterator[tuple[Tensor, Tensor]]:
    """The batches of one epoch, in a new order; the last may be smaller. Each of several processes
    gets its part, and a batch that is too small to be shared out is left out."""
    ranks = draw.ranks
    order = draw.order(len(data.images)).to(data.images.device)
    for start in range(0, len(order), size):
        shared = order[start : start + size]
        if len(shared) < ranks.world:
            return
        rows = shared[ranks.rank :: ranks.world]
        yield data.images[rows].to(draw.device), data.labels[rows].to(draw.device)


def endless(data: Data, size: int, draw: Draw) -> Iterator[tuple[Tensor, Tensor]]:
    """Whole batches of epoch after epoch, cropped and flipped."""
    whole = max(1, len(data.images) // size)
    while True:
        for images, labels in islice(batches(data, size, draw), whole):
            yield crop_and_flip(images, draw), labels


def crop_and_flip(images: Tensor, draw: Draw) -> Tensor:
    """uint8 (N, H, W, 3) to (N, 3, H, W): black edges of an eighth of the side, 4 px of 32, a crop
    of the old size anywhere in that, and every other image mirrored, by chance."""
    count, height, width, _ = images.shape
    edge = max(1, min(height, width) // 8)
    padded = functional.pad(images, (0, 0, edge, edge, edge, edge))
    rows = draw.integers(2 * edge + 1, count, 1) + torch.arange(height, device=images.device)
    ahead = torch.arange(width, device=images.device)
    columns = torch.where(draw.integers(2, count, 1) == 1, ahead.flip(0), ahead)
    columns = columns + draw.integers(2 * edge + 1, count, 1)
    first = torch.arange(count, device=images.device)[:, None, None]
    return padded[first, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


class TakesStylised(Method):
    """A method whose batches may end with stylised images."""

    stylised: Data | None = None

    def with_stylised(self, pixels: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The last 15 of 70 images and labels of an assembled batch are replaced, if there are
        stylised ones, by any of those, cropped and flipped like the others."""
        if self.stylised is None:
            return pixels, labels
        kept = len(labels) - round(len(labels) * _STYLISED_SHARE)
        rows = self.draw.integers(len(self.stylised.images), len(labels) - kept)
        drawn = crop_and_flip(self.stylised.images[rows], self.draw)
        return (
            torch.cat([pixels[:kept], to_pixels(drawn)]),
            torch.cat([labels[:kept], self.stylised.labels[rows]]),
        )


def check_stylised(method: Method, where: str | Path | None) -> None:
    """Refuse stylised images that the method does not take, or that come without labels: the
    training images' `labels` are not theirs."""
    if where is None:
        return
    need_taker(method)
    check_labelled(where, "stylised")


def check_labelled(where: str | Path, kind: str) -> None:
    """Refuse images beside the training images that come without labels."""
    if where not in DATA_SETS and open_images(where).labels is None:
        raise InputError(
            f"{where}: expected {kind} images with their labels, got none; put them into one "
            "folder per class, or labels beside images in the .npz"
        )


def need_taker(method: Method) -> TakesStylised:
    if isinstance(method, TakesStylised):
        return method
    raise InputError(
        f"expected a method that takes stylised images, such as ant, got {type(method).__name__}"
    )


def give_stylised(method: Method, stylised: Data, data: Data, device: torch.device) -> None:
    """Hand stylised images to a method that trains on `data`, if they are of its kind."""
    taker = need_taker(method)
    _check_alike(stylised, data, "stylised")
    if stylised.images.device.type != device.type:
        raise InputError(
            f"expected stylised images that fit on the {device.type} device beside the others, got "
            f"{stylised.images.nbytes / 1e9:.1f} GB; bring fewer, or smaller ones"
        )
    taker.stylised = stylised


def _check_alike(others: Data, data: Data, kind: str) -> None:
    """Refuse images beside the training images that are not of their kind."""
    for what in ("classes", "shape", "input"):
        wanted, came = getattr(data, what), getattr(others, what)
        if wanted != came:
            raise InputError(
                f"expected {kind} images of the {what} of the others, {wanted}, got {came}"
            )
    # Classes of other names, whose numbers would fit as well.
    for number, (its, ours) in enumerate(zip(others.names or (), data.names or (), strict=False)):
        if its != ours:
            raise InputError(
                f"expected {kind} images of the classes of the others, by the same names and in "
                f"their order: label {number} is {ours!r}, got {its!r}; name the classes alike, or "
                "bring an array with the numbers of the others as labels"
            )


def held_out(validation: Data, data: Data) -> Data:
    """Validation images, if they are of the kind of the training images. Of an array the highest
    label tells the classes, and a few images may lack it."""
    if validation.names is None and validation.classes < data.classes:
        validation = replace(validation, classes=data.classes)
    _check_alike(validation, data, "validation")
    return validation
