"""A training method: what happens to a batch, and the loss.

A method is a dataclass whose fields are its settings. It gets the batch as bytes, cropped and
flipped, and a `Classifier` that takes pixels in 0..1, so that all noise lives in pixel space.

On a GPU a step is recorded once and replayed (`train.cuda_graphs`): a loss must not wait for the
device or draw on the host, and only tensors may change from step to step.
"""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_type_hints

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.progress import Track, untracked
from hardy.registry import unknown
from hardy.train import METHODS
from hardy.train.processes import ALONE, Ranks

Batches = Iterator[tuple[Tensor, Tensor]]
_LARGEST_WHOLE = 2**31 - 1  # torch counts images, pixels and steps by no more


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
    """The random numbers of a run. Those for pixels are drawn on the device, in each process its
    own. Decisions are drawn on the host, which then need not wait for the device, and are the same
    in all processes.
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

    def order_of(self, count: int, use: str) -> npt.NDArray[np.int64]:
        """The permutation for a use, drawn by itself; the same in all processes."""
        key = _apart(self.seed, f"order, {use}")
        return np.random.Generator(np.random.Philox(key=key)).permutation(count)

    def beta(self, alpha: float, step: int) -> float:
        """A share by Beta(α, α) for step 0, 1, ... of the run; the same in all processes."""
        key = _apart(self.seed, f"mixture in step {step}")
        return float(np.random.Generator(np.random.Philox(key=key)).beta(alpha, alpha))

    @contextmanager
    def lent(self, epoch: int, state: Mapping[str, Tensor] | None = None) -> Iterator[None]:
        """Torch's own generators, from which a net with dropout draws: seeded by the epoch, or, in
        an epoch that is resumed, as its `state` has them; and given back as they were."""
        seed = _apart(self.seed, f"net in epoch {epoch}, process {self.ranks.rank}")
        cuda = self.device.type == "cuda"
        with torch.random.fork_rng(devices=[self.device] if cuda else []):
            torch.default_generator.manual_seed(seed)
            if cuda:
                with torch.cuda.device(self.device):
                    torch.cuda.manual_seed(seed)
            if state:
                mine = state[f"{self.ranks.rank}"]
                torch.cuda.set_rng_state(mine, self.device) if cuda else torch.set_rng_state(mine)
            yield

    def lent_state(self) -> dict[str, Tensor]:
        """What `lent` takes within an epoch. All processes must ask at once."""
        cuda = self.device.type == "cuda"
        mine = torch.cuda.get_rng_state(self.device) if cuda else torch.get_rng_state()
        states = self.ranks.gather(mine, self.device)
        return {f"{rank}": state for rank, state in enumerate(states)}

    def state(self) -> dict[str, Tensor]:
        """All processes must ask at once."""
        there = self.ranks.gather(self.there.get_state(), self.device)
        by_rank = {f"there.{rank}": state for rank, state in enumerate(there)}
        return {**by_rank, "here": self._here.get_state()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.there.set_state(state[f"there.{self.ranks.rank}"])
        self._here.set_state(state["here"])


def _apart(seed: int, use: str) -> int:
    """A seed of its own for each use; neighbouring seeds give distant ones."""
    return int.from_bytes(hashlib.sha256(f"{seed} {use}".encode()).digest()[:8])


class Method:
    """The base of all methods: cross-entropy on what `augment` makes of the batch."""

    # The benchmarks' corruptions that its training images show.
    seen: tuple[str, ...] = ()
    # The loop sets these before it calls `begin`.
    classifier: Classifier
    epochs: int
    batch = 0  # images of a whole batch, or of a part of it where gradients are accumulated
    all_steps: int  # of the whole run
    draw: Draw
    # Set in `begin_epoch`: a step of another phase does other things, and is recorded anew.
    phase = 0
    # Shows the progress of long work of its own in `begin_epoch`.
    track: Track = staticmethod(untracked)

    def described(self) -> dict[str, Any]:
        """The settings, for a run's record; a resumed run must say the same."""
        return dataclasses.asdict(self)  # type: ignore[call-overload, no-any-return]

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        """Called once, before anything else; `shape` is that of an image, (3, H, W)."""
        self.draw = draw

    def begin_epoch(self, epoch: int, model: nn.Module, batches: Batches) -> None:
        """Called before an epoch. `batches` never end, are all of one size, and are other ones than
        those of the epoch."""

    def epoch_images(self, epoch: int, images: Tensor) -> Tensor:
        """The images of an epoch, made from the data's, uint8 (N, H, W, 3); as many."""
        return images

    def batch_images(
        self, epoch: int, images: Tensor, rows: npt.NDArray[np.int64], count: int
    ) -> Tensor:
        """What `epoch_images` does, to a batch of images that are read while the net trains: uint8
        (N, H, W, 3), those of these `rows` of `count` in all."""
        return images

    def augment(self, pixels: Tensor) -> Tensor:
        return pixels

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        """The loss, one number, of images uint8 (N, 3, H, W). Labels are int64 (N,), or with label
        smoothing, mixup or a teacher shares of the classes, float32 (N, classes)."""
        return functional.cross_entropy(model(self.augment(to_pixels(images))), labels)

    def has_extra(self, step: int) -> bool:
        """Whether step 0, 1, ... of the run is followed by a second one, down `extra_loss`."""
        return False

    def extra_loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        """The loss of the second step; needed where `has_extra` is ever true."""
        raise NotImplementedError

    def learned_beside(self) -> dict[str, nn.Parameter]:
        """What is trained beside the net and is no part of it; `state` has it too."""
        return {}

    def state(self) -> dict[str, Tensor]:
        """The tensors that a resumed run needs beside the settings."""
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        pass

    def epoch_state(self) -> dict[str, Tensor]:
        """What ends with an epoch, such as what `begin_epoch` made: a run that is resumed within
        the epoch needs it beside `state`, and does not call `begin_epoch`."""
        return {}

    def restore_epoch(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        pass


@contextmanager
def at_rest(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode, its weights without gradients, which nobody asks for."""
    training, learning = model.training, [one for one in model.parameters() if one.requires_grad]
    model.eval()
    model.requires_grad_(False)
    try:
        yield
    finally:
        for weight in learning:
            weight.requires_grad_(True)
        model.train(training)


def make_method(name: str, settings: Mapping[str, object] | None = None) -> Method:
    """A registered method with its settings, each a value or text: {"sigma": 0.2},
    {"sigmas": "0.1,0.2"}, {"epsilon": "8/255"}."""
    kind: Any = METHODS[name]
    if not issubclass(kind, Method):
        raise InputError(f'expected a subclass of Method as the method "{name}", got {kind!r}')
    fields = [field.name for field in dataclasses.fields(kind)]
    hints = get_type_hints(kind)
    values = {}
    for setting, value in (settings or {}).items():
        if setting not in fields:
            raise unknown(f"setting of {name}", setting, fields)
        several = isinstance(value, tuple | list)
        text = ",".join(map(str, value)) if several else str(value)  # type: ignore[call-overload]
        values[setting] = _parse(text, hints[setting], f"{name}: {setting}")
    made: Method = kind(**values)
    return made


def _parse(text: str, hint: Any, what: str) -> Any:
    several = hint == tuple[float, ...]
    try:
        if several:
            return tuple(map(_number, text.split(",")))
        value = hint(text) if hint in (int, str) else _number(text)
    except (ValueError, ZeroDivisionError) as error:
        kind = "a whole number" if hint is int else "a number, or A/B"
        kind = "numbers as 0.1,0.2 or 1/4,1/2" if several else kind
        why = ", which divides by 0" if isinstance(error, ZeroDivisionError) else ""
        raise InputError(f'expected {what} as {kind}, got "{text}"{why}') from None
    if hint is int and abs(value) > _LARGEST_WHOLE:
        raise InputError(
            f'expected {what} as a whole number of at most {_LARGEST_WHOLE:,}, got "{text}"'
        )
    return value


def _number(text: str) -> float:
    """A number or a fraction, since papers say 8/255."""
    above, slash, below = text.partition("/")
    return float(above) / float(below) if slash else float(text)


def as_shares(labels: Tensor, classes: int, smoothing: float = 0.0) -> Tensor:
    """Labels (N,) as shares of the classes, float32 (N, classes); `smoothing` of each is shared out
    evenly among all classes."""
    certain = functional.one_hot(labels, classes).float()
    return certain * (1 - smoothing) + smoothing / classes


def as_labels(labels: Tensor) -> Tensor:
    """Labels (N,); of shares the class that has the largest."""
    return labels if labels.ndim == 1 else labels.argmax(1)


def to_pixels(images: Tensor) -> Tensor:
    return images.to(torch.float32) / 255


def need_positive(what: str, *figures: float) -> None:
    """Refuse settings that are not above 0, not finite, or NaN."""
    for figure in figures:
        if not 0 < figure < float("inf"):
            finite = "finite " if figure > 0 else ""
            raise InputError(f"expected {finite}{what} above 0, got {figure}")
