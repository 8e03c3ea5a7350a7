"""Adversarial noise training (Rusak et al., 2020): a game against a small generator of noise.

The generator turns white noise into noise that fools the classifier, without seeing the image. Each
epoch begins with a new one, trained against the classifier as it stands; then both learn in turns.
Every starting generator is kept, and part of each batch gets the noise of old ones, so that what
was learned is not forgotten. Half of each batch stays clean.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from math import prod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.adversarial_noise import Generator, project, usual_epsilon
from hardy.train.cuda_graphs import Recorded, can_record
from hardy.train.method import Batches, Draw, at_rest, need_positive, to_pixels
from hardy.train.other_images import TakesStylised

Noise = Callable[[Tensor], Tensor]  # white noise to noise


class Shares(NamedTuple):
    """How a batch is made up: the first images get the current generator's noise, then old ones
    take a slice each, the rest stays clean. Without old ones the current one takes their part."""

    clean: float = 0.5
    current: float = 0.3
    replayed: float = 0.1  # the slice of one old generator

    @property
    def replays(self) -> int:
        """How many old generators a batch has, once there are so many."""
        return round((1 - self.clean - self.current) / self.replayed)

    def of(self, batch: int, old: int) -> tuple[int, list[slice]]:
        """How many images are the current one's, and the slices of old ones."""
        if not old:
            return round(batch * (1 - self.clean)), []
        current = round(batch * self.current)
        numbers = range(min(old, self.replays))
        ends = [round(batch * (self.current + self.replayed * (one + 1))) for one in numbers]
        return current, [slice(*both) for both in pairwise([current, *ends])]


@dataclass
class Ant(TakesStylised):
    """A small generator learns noise that fools the net, the net to withstand it.

    min over the net, max over the generator g, of CE(f(clip(x + η g(z))), y), z white noise.
    `epsilon` is the L2 norm of the noise over the image in 0..1, after clipping. Left at 0, it
    is the paper's 135 at 224 px, the same change per value: 19.3 at 32 px. An untrained generator
    gives Gaussian noise, so that counts as seen.

    A new generator learns for `restart_steps` steps before each epoch, at `restart_lr`, then beside
    the net at `generator_lr`. Of a batch the share `clean` has no noise, `current` that of the
    current generator, and as many old ones as there is room for take `replayed` each."""

    epsilon: float = 0.0
    generator_lr: float = 1e-4
    restart_lr: float = 5e-4
    restart_steps: int = 1001
    clean: float = Shares().clean
    current: float = Shares().current
    replayed: float = Shares().replayed
    side: ClassVar[int] = 1
    seen = ("gaussian_noise", "noc_gaussian")

    def __post_init__(self) -> None:
        need_positive("learning rates", self.generator_lr, self.restart_lr)
        if not 0 <= self.epsilon < float("inf"):
            raise InputError(f"expected epsilon above 0, or 0 for the paper's, got {self.epsilon}")
        if self.restart_steps < 0:
            raise InputError(f"expected restart_steps of at least 0, got {self.restart_steps}")
        self.shares = Shares(self.clean, self.current, self.replayed)
        noisy = 1 - self.clean
        if not 0 <= self.clean < 1 or not 0 < self.current <= noisy + 1e-9 or not self.replayed > 0:
            told = ", ".join(f"{one:g}" for one in self.shares)
            raise InputError(
                "expected the shares clean, current and replayed of a batch as parts of 1, with "
                f"clean and current together at most 1, got {told}"
            )

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        farthest = prod(shape) ** 0.5
        if self.epsilon > farthest:
            raise InputError(
                f"expected epsilon of at most {farthest:.4g}, which is from black to white at "
                f"{shape[1]} x {shape[2]} pixels, got {self.epsilon}"
            )
        self.radius = self.epsilon or usual_epsilon(prod(shape))
        self.generator = Generator(self.side, draw)
        self.weights = list(self.generator.parameters())
        # What a recorded step finds must stay where it is: one generator and one optimiser for all
        # epochs, set back in place, and the old generators as rows of one table.
        self.rate = torch.tensor(self.restart_lr, device=draw.device)
        self.adam = torch.optim.Adam(self.weights, self.rate, capturable=draw.device.type == "cuda")
        size = sum(weight.numel() for weight in self.weights)
        self.history = torch.zeros(self.epochs, size, device=draw.device)
        self.kept = torch.zeros((), dtype=torch.int64, device=draw.device)
        self.fooling: Callable[[Tensor, Tensor], None] | None = None

    def begin_epoch(self, epoch: int, model: nn.Module, batches: Batches) -> None:
        self._restart(self.restart_lr)
        self.generator.start(self.draw)
        if self.fooling is None:
            self.fooling = partial(self.fool, model)
            if can_record(self.draw.device, self.draw.ranks):
                self.fooling = Recorded(self.fooling, self.draw.there)
        steps = islice(batches, self.restart_steps)
        unit = f"steps of a new generator for epoch {epoch + 1} of {self.epochs}"
        for images, labels in self.track(steps, self.restart_steps, unit):
            self.fooling(to_pixels(images), labels)
        self._restart(self.generator_lr)
        self.history[epoch] = torch.cat([weight.detach().flatten() for weight in self.weights])
        self.kept.fill_(epoch + 1)
        self.phase = self._phase(epoch)

    def _phase(self, epoch: int) -> int:
        """0 while the only one in the history is the current one's own start; then one less than
        there are, as far as that matters."""
        return min(epoch, max(1, self.shares.replays - 1))

    def _restart(self, rate: float) -> None:
        """A new optimiser, in the old one's place."""
        self.rate.fill_(rate)
        for held in self.adam.state.values():
            for tensor in held.values():
                tensor.zero_()

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        pixels = to_pixels(images)
        self.fool(model, pixels, labels)
        batch, labels = self.with_stylised(self.mixed(pixels), labels)
        return functional.cross_entropy(model(batch), labels)

    def fool(self, model: nn.Module, pixels: Tensor, labels: Tensor) -> None:
        """One step of the generator up the loss of the classifier, which stays as it is."""
        with at_rest(model):
            loss = functional.cross_entropy(model(self.noisy(self.generator, pixels)), labels)
            slopes = torch.autograd.grad(loss, self.weights)
        # One generator, whichever process it is in.
        self.draw.ranks.average(slopes, len(labels))
        for weight, slope in zip(self.weights, slopes, strict=True):
            weight.grad = -slope
        self.adam.step()

    def mixed(self, pixels: Tensor) -> Tensor:
        old = self.phase + 1 if self.phase else 0
        current, slices = self.shares.of(len(pixels), old)
        batch = pixels.clone()
        with torch.no_grad():
            batch[:current] = self.noisy(self.generator, pixels[:current])
            for part, one in zip(slices, self.drawn(len(slices)), strict=True):
                batch[part] = self.noisy(one, pixels[part])
        return batch

    def drawn(self, count: int) -> list[Noise]:
        """Draw different generators of the history: any, and others by how far after it, around the
        end to the beginning, they were kept."""
        if not count:
            return []
        first = (self.draw.uniform() * self.kept).long()
        after: list[Tensor] = []
        for number in range(1, count):
            one = 1 + (self.draw.uniform() * (self.kept - number)).long()
            for taken in torch.stack(after).sort().values if after else ():
                one = one + (one >= taken)
            after.append(one)
        return [self.old(first), *(self.old((first + one) % self.kept) for one in after)]

    def old(self, number: Tensor) -> Noise:
        flat = self.history.index_select(0, number.view(1))[0]
        parts = flat.split([weight.numel() for weight in self.weights])
        named = {
            name: part.view_as(weight)
            for (name, weight), part in zip(self.generator.named_parameters(), parts, strict=True)
        }
        return lambda white: functional_call(self.generator, named, white)

    def noisy(self, generator: Noise, pixels: Tensor) -> Tensor:
        white = self.generator.white(self.draw, pixels.shape)
        with torch.autocast(pixels.device.type, enabled=False):
            return project(pixels, generator(white), self.radius)

    def state(self) -> dict[str, Tensor]:
        """The old generators; the current one ends with its epoch."""
        return {"history": self.history, "kept": self.kept}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.history.copy_(state["history"])
        self.kept.copy_(state["kept"])

    def epoch_state(self) -> dict[str, Tensor]:
        """The current generator, and what its optimiser remembers of each weight."""
        named = {"rate": self.rate}
        for number, weight in enumerate(self.weights):
            named[f"{number}.weight"] = weight
            named |= {f"{number}.{name}": held for name, held in self.adam.state[weight].items()}
        return named

    def restore_epoch(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        self.phase = self._phase(epoch)
        self.rate.copy_(state["rate"])
        with torch.no_grad():
            for number, weight in enumerate(self.weights):
                weight.copy_(state[f"{number}.weight"])
                where = self.rate.device if self.adam.defaults["capturable"] else "cpu"
                self.adam.state[weight] = {
                    "step": state[f"{number}.step"].to(where),
                    "exp_avg": state[f"{number}.exp_avg"].to(weight),
                    "exp_avg_sq": state[f"{number}.exp_avg_sq"].to(weight),
                }


@dataclass
class Ant3x3(Ant):
    """As ant, with a 3 x 3 convolution: neighbouring values of the noise correlate."""

    side: ClassVar[int] = 3
