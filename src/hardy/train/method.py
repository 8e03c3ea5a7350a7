"""What a training method is: what happens to a batch, and the loss.

A method is a dataclass, its fields are its settings. It gets the batch as bytes, cropped and
flipped, and a `Classifier` that takes pixels in 0..1, so that all noise lives in pixel space.

On a GPU a step is recorded once and replayed (`train.cuda_graphs`): the losses must not wait for
the device, draw on the host, or hang on anything that changes from step to step but tensors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.registry import Registry
from hardy.train.processes import ALONE, Ranks

Batches = Iterator[tuple[Tensor, Tensor]]
# Wraps steps to show progress: so many, and what to call them.
Track = Callable[[Iterable[Any], int, str], Iterable[Any]]


class Classifier(nn.Module):
    """A net behind its normalisation: pixels in 0..1 to logits."""

    def __init__(self, net: nn.Module, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        super().__init__()
        self.net = net
        for name, figures in (("mean", mean), ("std", std)):
            self.register_buffer(name, torch.tensor(figures).view(1, 3, 1, 1), persistent=False)

    def forward(self, pixels: Tensor) -> Tensor:
        return self.net((pixels - self.mean) / self.std)


class Draw:
    """The random numbers of a run: on the device for pixels, each process its own; on the host for
    decisions, which the host would otherwise have to wait for, and in which all processes agree.
    """

    def __init__(self, seed: int, device: torch.device, ranks: Ranks = ALONE) -> None:
        self.seed, self.device, self.ranks = seed, device, ranks
        self.there = torch.Generator(device).manual_seed(_apart(seed, f"process {ranks.rank}"))
        self._here = torch.Generator().manual_seed(_apart(seed, "host"))
        self._tables: dict[tuple[float, ...], Tensor] = {}

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.there, device=self.device)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.there, device=self.device)

    def integers(self, below: int, *shape: int) -> Tensor:
        return torch.randint(below, shape, generator=self.there, device=self.device)

    def one_of(self, figures: tuple[float, ...], *shape: int) -> Tensor:
        if figures not in self._tables:  # kept: bringing it over makes the host wait
            self._tables[figures] = torch.tensor(figures, device=self.device)
        return self._tables[figures][self.integers(len(figures), *shape)]

    def common_normal(self, *shape: int) -> Tensor:
        """The same in all processes."""
        return torch.randn(shape, generator=self._here).to(self.device)

    def order(self, count: int) -> Tensor:
        """A permutation, on the host; the same in all processes."""
        return torch.randperm(count, generator=self._here)

    @contextmanager
    def lent(self, epoch: int) -> Iterator[None]:
        """To nets that draw by themselves, as dropout does, from torch's own generators: seeded by
        the epoch, so that a resumed run draws the same, and given back as they were."""
        seed = _apart(self.seed, f"net in epoch {epoch}, process {self.ranks.rank}")
        cuda = self.device.type == "cuda"
        with torch.random.fork_rng(devices=[self.device] if cuda else []):
            torch.default_generator.manual_seed(seed)
            if cuda:
                with torch.cuda.device(self.device):
                    torch.cuda.manual_seed(seed)
            yield

    def state(self) -> dict[str, Tensor]:
        """To be asked for by all processes at once."""
        there = self.ranks.gather(self.there.get_state(), self.device)
        by_rank = {f"there.{rank}": state for rank, state in enumerate(there)}
        return {**by_rank, "here": self._here.get_state()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.there.set_state(state[f"there.{self.ranks.rank}"])
        self._here.set_state(state["here"])


def _apart(seed: int, use: str) -> int:
    """Generators of neighbouring seeds must not be neighbours."""
    return int.from_bytes(hashlib.sha256(f"{seed} {use}".encode()).digest()[:8])


class Method:
    """The base: plain cross-entropy on what `augment` makes of the batch."""

    # Of the benchmarks' corruptions, those that its training images show.
    seen: ClassVar[tuple[str, ...]] = ()
    # Given before `begin`.
    classifier: Classifier
    epochs: int
    batch = 0  # images of a whole batch
    all_steps: int  # of the whole run
    draw: Draw
    # Where it differs, the step is another, and is recorded anew; to be set as an epoch begins.
    phase = 0
    # For steps of its own that take long, in `begin_epoch`.
    track: Track = staticmethod(lambda steps, total, unit: steps)

    def described(self) -> dict[str, Any]:
        """What a run's record says of it, and a resumed run must say again."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        """Once, before anything else; `shape` is that of an image, (3, H, W)."""
        self.draw = draw

    def begin_epoch(self, epoch: int, model: nn.Module, batches: Batches) -> None:
        """`batches` go on for ever, are all of one size, and are not those of the epoch."""

    def epoch_images(self, epoch: int, images: Tensor) -> Tensor:
        """What the epoch trains on, of the data's uint8 (N, H, W, 3); as many."""
        return images

    def augment(self, pixels: Tensor) -> Tensor:
        return pixels

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        """Of uint8 (N, 3, H, W); one number."""
        return functional.cross_entropy(model(self.augment(to_pixels(images))), labels)

    def has_extra(self, step: int) -> bool:
        """Whether step 0, 1, ... of the run is followed by one of its own, on `extra_loss`."""
        return False

    def extra_loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        """To be there where `has_extra` ever says yes."""
        raise NotImplementedError

    def state(self) -> dict[str, Tensor]:
        """What a resumed run needs beside the settings."""
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        pass


@contextmanager
def at_rest(model: nn.Module) -> Iterator[None]:
    """In evaluation mode, and without the gradients of its weights, which nobody asks for."""
    training, learning = model.training, [one for one in model.parameters() if one.requires_grad]
    model.eval()
    model.requires_grad_(False)
    try:
        yield
    finally:
        for weight in learning:
            weight.requires_grad_(True)
        model.train(training)


METHODS: Registry[type[Method]] = Registry("method", "hardy.methods")


def to_pixels(images: Tensor) -> Tensor:
    return images.to(torch.float32) / 255


def need_positive(what: str, *figures: float) -> None:
    """Of settings; written so that NaN is refused too."""
    for figure in figures:
        if not 0 < figure < float("inf"):
            finite = "finite " if figure > 0 else ""
            raise InputError(f"expected {finite}{what} above 0, got {figure}")
