"""Training images: bytes on the device where they fit, cropped and flipped there; or streamed."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional

from hardy.errors import InputError
from hardy.execute import count_workers
from hardy.images import load_images, open_images
from hardy.images.damaged import check_share
from hardy.images.datasets import DATA_SETS
from hardy.images.icons50.icon_parts import is_icon_set
from hardy.images.loading import UnequalSizes
from hardy.images.packs import packed_facts
from hardy.images.recipes import Recipe
from hardy.images.source import Source, part_of
from hardy.images.training_parts import without_held_out
from hardy.metrics import stratified_subset
from hardy.models.defences.input_filters import input_filter
from hardy.progress import Track, untracked
from hardy.train.crops import ScaleCrop, ShiftCrop, check_decode
from hardy.train.gpu_decoding import open_decoder
from hardy.train.method import Draw, Method
from hardy.train.streaming import Stream, open_stream

_LARGEST_SHARE = 0.5  # of the device's free memory; the rest is the net's
LARGEST_RESIDENT = 4 * 2**30  # bytes of images that are held in memory
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
    held_out: str | None = None  # what was left out, to be tested on
    packed: dict[str, Any] | None = None  # what was done to images that come from a pack

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of an image, (3, H, W)."""
        return 3, self.images.shape[1], self.images.shape[2]

    @property
    def said(self) -> str:
        """What the images are, in words, when the training begins."""
        return self.described

    def __len__(self) -> int:
        return len(self.images)

    def feed(self, batch: int, draw: Draw) -> "ResidentFeed":
        return ResidentFeed(self, batch, draw)

    def shown(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Images as they are in a test, and their labels."""
        there = rows.to(self.images.device)
        return self.images[there], self.labels[there]

    def in_order(self, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
        return zip(self.images.split(batch), self.labels.split(batch), strict=True)


def read_data(
    where: str,
    device: torch.device,
    *,
    labels: Path | str | None = None,
    recipe: str | Recipe = "none@1",
    input: str | None = None,
    part: str = "train",
    track: Track = untracked,
) -> Data:
    """Read all images of a source, or that part of a data set that is known by its name. `input` is
    a filter of `hardy.models.defences` that they pass first."""
    source = _opened(where, labels, part)
    return _resident(source, where, device, recipe, input, track)


@dataclass(frozen=True)
class Streaming:
    """Whether and how images are read while the net trains.

    They are where crops at random scales are asked for, which need the images as they are on the
    disk, and where all pixels together take more than 4 GiB; `stream` says otherwise. Not where
    they do not fit: another machine would then train another net.
    """

    stream: bool | None = None
    crop: ScaleCrop | None = None
    workers: int | None = None
    most_unreadable: float = 0.001
    decode: str = "threads"

    def __post_init__(self) -> None:
        check_decode(self.decode, self.crop)
        count_workers(self.workers)
        check_share(self.most_unreadable)
        if self.stream is False and self.crop is not None:
            raise InputError(
                f"expected images that are streamed for crops at random scales of `side` "
                f"{self.crop.side}, got `stream` as False; leave one of them out"
            )

    def check_used(self) -> None:
        """Refuse what would do nothing where images are held in memory."""
        if self.workers is not None or self.most_unreadable != Streaming.most_unreadable:
            raise InputError(
                "expected `workers` and `most_unreadable` for images that are streamed, got some "
                "in memory; leave them out, or say `stream=True`"
            )


def open_data(
    where: str,
    device: torch.device,
    streaming: Streaming,
    *,
    labels: Path | str | None = None,
    recipe: str = "none@1",
    input: str | None = None,
    part: str = "train",
    hold_out: str | None = None,
    subset: int | None = None,
    threads: int | None = None,
    track: Track = untracked,
) -> Data | Stream:
    """The images of a source, read as `read_data` does or to be read while the net trains, by so
    many threads if nothing is said of workers; those of the training part, without what `hold_out`
    names; or a `subset` of so many of them."""
    held_out = None
    decoder = open_decoder(streaming.decode, streaming.crop, device)
    if hold_out is not None:
        source, held_out = without_held_out(where, hold_out)
    elif is_icon_set(where):
        raise InputError(
            f"{where}: expected what is held out of icons, by `hold_out`, such as style:microsoft"
        )
    else:
        source = _opened(where, labels, part)
    if subset is not None:
        assert source.labels is not None
        source = part_of(source, stratified_subset(source.labels, source.ids, size=subset))
    crop: ScaleCrop | ShiftCrop | None = streaming.crop
    if crop is None and streaming.stream is not False:
        first = next(load_images(source, recipe, batch=1, indices=[0])).images[0]
        if streaming.stream or len(source) * first.nbytes > LARGEST_RESIDENT:
            crop = ShiftCrop(recipe, first.shape[:2])
    if crop is None:
        if part == "train":  # of others the same may be said, for those that are larger
            streaming.check_used()
        data = _resident(source, where, device, recipe, input, track)
        return replace(data, held_out=held_out)
    if input is not None:
        raise InputError(
            f"expected images in memory for the filter {input}, got some that are streamed; filter "
            "them beforehand, or leave `input` out"
        )
    classes = _count_classes(source, where)
    stream = open_stream(
        source,
        crop,
        device,
        classes,
        workers=count_workers(streaming.workers or threads),
        most_unreadable=streaming.most_unreadable,
        decoder=decoder,
    )
    return replace(stream, held_out=held_out)


def _opened(where: str, labels: Path | str | None, part: str) -> Source:
    source = open_images(f"{where}:{part}" if where in DATA_SETS else where, labels=labels)
    if source.labels is None:
        raise InputError(f"{where} has no labels to train with; bring them by `labels`")
    if not len(source):
        raise InputError(f"{where}: expected images to train with, got none")
    return source


def _count_classes(source: Source, where: str) -> int:
    assert source.labels is not None
    classes = len(source.classes) if source.classes else int(source.labels.max()) + 1
    if classes > MOST_CLASSES:
        raise InputError(
            f"{where}: expected labels below {MOST_CLASSES:,}, got {classes - 1:,}; number the "
            "classes 0, 1, 2, ..."
        )
    if classes < 2:
        raise InputError(f"{where}: expected at least 2 classes, got {classes}")
    return classes


def _resident(
    source: Source,
    where: str,
    device: torch.device,
    recipe: str | Recipe,
    input: str | None,
    track: Track,
) -> Data:
    assert source.labels is not None
    passed = None if input is None else input_filter(input)
    try:
        batch = next(load_images(source, recipe, batch=len(source), track=track))
    except UnequalSizes as error:
        raise InputError(
            f"{where}: expected images of one size, got others too; say a `side`, such as 224, to "
            "which they are cropped while it trains, or a `recipe` that makes them equal"
        ) from error
    classes = _count_classes(source, where)
    digest = hashlib.sha256(batch.images.data)
    digest.update(source.labels.data)
    filtered = passed(batch.images) if passed else batch.images
    images, numbers = torch.from_numpy(filtered), torch.from_numpy(source.labels.copy())
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
        if images.nbytes <= _LARGEST_SHARE * free:
            images, numbers = images.to(device), numbers.to(device)
    names = tuple(source.classes) if source.classes else None
    return Data(
        images,
        numbers,
        classes,
        source.describe(),
        digest.hexdigest(),
        input,
        names,
        packed=packed_facts(source),
    )


class ResidentFeed:
    """Images in memory as the loop takes them; what `hardy.train.streaming.StreamFeed` is for
    others. Draws go on from where they are, so the order of an epoch that is resumed is kept."""

    def __init__(self, data: Data, batch: int, draw: Draw) -> None:
        self.data, self.size, self.draw = data, batch, draw
        whole, rest = divmod(len(data), batch)
        self.steps = whole + (rest >= draw.ranks.world)
        self._order = torch.zeros(0, dtype=torch.int64)
        self._images = data.images

    def changed(self, method: Method, epoch: int) -> Self:
        """The feed with the images that the method makes of all for an epoch."""
        self.data = replace(self.data, images=method.epoch_images(epoch, self._images))
        return self

    def epoch(self, epoch: int, first: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        if not first:
            self._order = self.draw.order(len(self.data))
        for images, labels in batches(self.data, self.size, self.draw, self._order, first):
            yield crop_and_flip(images, self.draw), labels

    def more(self, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        return endless(self.data, self.size, self.draw)

    def state(self) -> dict[str, Tensor]:
        return {"order": self._order}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        order = state["order"]
        if not torch.equal(order.sort().values, torch.arange(len(self.data))):
            raise ValueError(f"its order is none of {len(self.data)} images")
        self._order = order.clone()  # of a file that is to be written anew


def batches(
    data: Data, size: int, draw: Draw, order: Tensor | None = None, first: int = 0
) -> Iterator[tuple[Tensor, Tensor]]:
    """The batches of one epoch from step `first` on, in that order or a new one; the last may be
    smaller. Each of several processes gets its part, and a batch that is too small to be shared out
    is left out."""
    ranks = draw.ranks
    order = (draw.order(len(data)) if order is None else order).to(data.images.device)
    for start in range(first * size, len(order), size):
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


TrainingSet = Data | Stream


def data_record(data: TrainingSet) -> dict[str, Any]:
    """What `run.json` says of the images."""
    return {
        "images": data.described,
        "shape": data.shape,
        "classes": data.classes,
        "names": data.names,
        "sha256": data.sha256,
        **({"held_out": data.held_out} if data.held_out else {}),
        **({"packed": data.packed} if data.packed else {}),
        **({"streamed": data.record()} if isinstance(data, Stream) else {}),
    }
