"""DeepAugment (Hendrycks et al., 2021): images pass networks that are damaged at random."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from hardy.errors import InputError
from hardy.train.method import Batches, Draw, Method, seed_apart
from hardy.train.methods.image_networks import (
    NETWORKS,
    Network,
    digest_of_weights,
    new_network,
    read_network,
    trained_network,
)
from hardy.train.methods.weight_damage import Weights, damaged_auto_encoder, damaged_edsr

_TRAINED = "trained"  # instead of the name of a file
# As many images in a row pass one damaged network as in the original, on average.
_TOGETHER = 20
DAMAGE: dict[str, Callable[[Weights, Draw], Weights]] = {
    "edsr": damaged_edsr,
    "cae": damaged_auto_encoder,
}


@dataclass
class DeepAugment(Method):
    """A third of each batch passes damaged networks that enlarge, a third damaged auto-encoders.

    Both were trained to give images back: EDSR, at half the side, enlarges them; the compressive
    auto-encoder, at twice the side, keeps 32 bits of every 4 x 4 pixels. Then weights of a few of
    their layers are negated, shuffled, masked, rotated or convolved, and features of each image are
    too (`weight_damage`, `edsr` and `auto_encoder` have the lists). What comes out is clipped; no
    gradient passes.

    `edsr` and `cae` name files of weights, such as the authors released; left out, a network is
    trained on the training images for `steps` steps before the first epoch, and kept in the user's
    cache. `damaged` networks of each kind are drawn for each epoch, and each 20 images of a batch
    pass one of them: as many on average shared one in the original, which distorted each image
    once, stored it, and trained on both copies beside the clean images. 3,200 of each kind in 100
    epochs are more than the 2,500 that it would have drawn for CIFAR-10.

    The images lose half of their resolution as under pixelation, so that counts as seen. Nothing
    adds noise or blurs by a formula."""

    edsr: str = _TRAINED
    cae: str = _TRAINED
    steps: int = 20_000
    damaged: int = 32
    seen = ("pixelate", "noc_pixelate", "noc_thumbnail_resize")

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise InputError(f"expected steps of at least 0, got {self.steps}")
        if self.damaged < 1:
            raise InputError(f"expected at least 1 damaged network, got {self.damaged}")
        files = {kind: getattr(self, kind) for kind in NETWORKS}
        self.given = {
            kind: read_network(kind, Path(file)) for kind, file in files.items() if file != _TRAINED
        }

    def described(self) -> dict[str, Any]:
        """Files by what is in them: they may lie elsewhere when a run is resumed."""
        digests = {kind: digest_of_weights(weights) for kind, weights in self.given.items()}
        return super().described() | digests

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        self.networks = {
            kind: DamagedNetwork(kind, new_network(kind).to(draw.device)) for kind in NETWORKS
        }
        self.known = False  # whether the networks are those of the run

    def begin_epoch(self, epoch: int, model: nn.Module, batches: Batches) -> None:
        if not self.known:
            draw = self.draw
            for kind, network in self.networks.items():
                weights = self.given.get(kind)
                if weights is None and self.steps:
                    weights = trained_network(
                        kind, self.data, self.steps, draw.device, draw.ranks, self.track
                    )
                if weights is not None:
                    network.sound.load_state_dict(weights)
            self.known = True
        self._damage(epoch)

    def restore_epoch(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        self._damage(epoch)

    def _damage(self, epoch: int) -> None:
        """Draw damage by seed and epoch alone: the same in all processes, and where one resumes."""
        seed = seed_apart(self.draw.seed, f"damaged networks of epoch {epoch}")
        draw = Draw(seed, torch.device("cpu"))
        for network in self.networks.values():
            network.fill_table(self.damaged, draw)

    def state(self) -> dict[str, Tensor]:
        return {
            f"{kind}.{name}": weight
            for kind, network in self.networks.items()
            for name, weight in network.sound.state_dict().items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        for kind, network in self.networks.items():
            own = network.sound.state_dict()
            network.sound.load_state_dict({name: state[f"{kind}.{name}"] for name in own})
        self.known = True

    @torch.no_grad()
    def augment(self, pixels: Tensor) -> Tensor:
        third = len(pixels) // 3
        if not third:
            return pixels
        clean, first, second = pixels.split([len(pixels) - 2 * third, third, third])
        return torch.cat(
            [
                clean,
                self.networks["edsr"].distort(first, self.draw),
                self.networks["cae"].distort(second, self.draw),
            ]
        )


class DamagedNetwork:
    """A network, and several damaged sets of its weights, the rows of a table."""

    def __init__(self, kind: str, sound: Network) -> None:
        self.damage, self.sound = DAMAGE[kind], sound.requires_grad_(False)
        self.named = dict(sound.named_parameters())
        self.table = torch.zeros(0)

    def fill_table(self, rows: int, draw: Draw) -> None:
        """Draw damage on the host, which may wait for it there, and so that devices agree."""
        sound = {name: weight.cpu() for name, weight in self.named.items()}
        made = torch.stack(
            [
                torch.cat([weight.flatten() for weight in self.damage(sound, draw).values()])
                for _ in range(rows)
            ]
        )
        if self.table.shape == made.shape:
            self.table.copy_(made)  # where a recorded step looks for it
        else:
            self.table = made.to(next(iter(self.named.values())).device)

    def distort(self, pixels: Tensor, draw: Draw) -> Tensor:
        """Pixels in 0..1, of which those that stand together pass one damaged network."""
        made = [
            functional_call(self.sound, self._drawn(draw), (some, draw))
            for some in pixels.split(_TOGETHER)
        ]
        return torch.cat(made).clamp(0, 1)

    def _drawn(self, draw: Draw) -> Weights:
        """A row of the table, as weights by name."""
        flat = self.table.index_select(0, draw.integers(len(self.table), 1))[0]
        parts = flat.split([weight.numel() for weight in self.named.values()])
        return {
            name: part.view_as(weight)
            for (name, weight), part in zip(self.named.items(), parts, strict=True)
        }
