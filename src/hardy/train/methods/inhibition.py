"""Group-wise inhibition (Liu et al., 2021): the strongest evidence for the class is turned down.

After a normal step comes, now and then, one on the same batch with the feature maps of the
next-to-last stage masked where groups of similar maps show the most evidence, so that the net
learns to use the rest as well.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.method import Draw, Method, as_labels, to_pixels
from hardy.train.nets import cut_in_two

MASKED_WEIGHT, ORTHOGONAL_WEIGHT = 0.1, 1e-3
# Centres that lie on maps soon stay: of 600 sets of 256 random maps, of ranks 2, 4 and 16, all had
# settled after 15, and those of nets with random weights after 5.
ROUNDS = 16
_SETTLED = 1e-4
TINY = 1e-8


@dataclass
class GroupwiseInhibition(Method):
    """Now and then the feature maps that say most about the class are turned down.

    Normal steps are cross-entropy. From step `start` on, each `every`-th is followed by one on

        0.1 · CE(after(mask · F), y) + 0.001 · mean over pairs of groups of |⟨μₐ, μᵦ⟩|,

    over the images that are classified correctly. F are the feature maps; they are clustered into
    `groups`, each with its mean map μ. With g = ∂σ(logit of y)/∂F and w its mean over each map, a
    group's evidence is m = Σ w F over its maps, standardised over the pixels; its mask is σ(−m), or
    1 where Σ w is not above 0. Masks and groups are constants, made in evaluation mode.

    Maps are clustered in at most 16 rounds, where the original allows 50: they settle sooner.

    Not published, and decided here: pixels have the deviation of a population; μ is of the maps as
    they are in training, not yet masked; correct is what evaluation mode gets right. Whatever is
    wrong weighs nothing in the loss, but stays in the batch, and so in its normalisation, which
    originally was that of the correct images alone.

    The published CIFAR results train on each image together with a view of it by AugMix. This is
    the method alone: the images are cropped and flipped, as with `standard`.
    """

    start: int = 500
    every: int = 3
    groups: int = 6

    def __post_init__(self) -> None:
        for name, lowest in (("start", 0), ("every", 1), ("groups", 2)):
            if getattr(self, name) < lowest:
                raise InputError(f"expected {name} of at least {lowest}, got {getattr(self, name)}")

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        parts = cut_in_two(self.classifier.net)
        if parts is None:
            raise InputError(
                "expected a net whose next-to-last stage is known, such as wrn_40_2 or "
                f"torchvision:resnet50, got {type(self.classifier.net).__name__}"
            )
        if self.start >= self.all_steps:
            raise InputError(
                f"expected start below the {self.all_steps:,} steps of the run, after which "
                f"nothing is inhibited, got {self.start}; train for longer, or "
                "bring another by `settings`"
            )
        self.before, self.after = parts

    def has_extra(self, step: int) -> bool:
        return step >= self.start and step % self.every == 0

    def extra_loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        classifier = self.classifier
        x = (to_pixels(images) - classifier.mean) / classifier.std
        labels = as_labels(labels)
        classifier.eval()
        # Not under no_grad: autocast of older versions of torch keeps the copies of the weights it
        # makes there, which pass on no gradients, for what follows.
        features = self.before(x).detach().requires_grad_()
        logits = self.after(features)
        evidence = logits.gather(1, labels[:, None]).float().sigmoid().sum()
        (slopes,) = torch.autograd.grad(evidence, features)
        right = (logits.argmax(1) == labels).float()
        classifier.train()

        with torch.autocast(images.device.type, enabled=False):
            maps = features.detach().flatten(2).float()
            count = min(self.groups, maps.shape[1])
            first = self.draw.uniform(*maps.shape[:2]).topk(count, 1).indices
            members = cluster(maps, first)
            mask = inhibition(maps, slopes.flatten(2).float().mean(2), members)
        made = self.before(x)
        masked = self.after(made * mask.view(made.shape).to(made.dtype))
        losses = functional.cross_entropy(masked.float(), labels, reduction="none")
        with torch.autocast(images.device.type, enabled=False):
            products, pairs = overlaps(made.flatten(2).float(), members)
        orthogonal = mean_of(products, pairs * right[:, None, None])
        # Of several processes each weighs as many images as it has, not as are right: nearly so.
        return MASKED_WEIGHT * mean_of(losses, right) + ORTHOGONAL_WEIGHT * orthogonal


def cluster(maps: Tensor, first: Tensor) -> Tensor:
    """float (N, C, P) to 0 or 1 (N, K, C), which of the C maps belongs to which of K groups.

    K-means, whose centres are moved on to the nearest maps, each to one of its own; `first` (N, K)
    says which maps they are at first. It ends where (Σ ‖shift of a centre‖)² is below 1e-4, for
    each image on its own, or after `ROUNDS`.
    """
    maps = maps - maps.mean(1, keepdim=True)  # no distance changes, and squares lose less
    squares = maps.square().sum(2)
    chosen, moving = first, torch.ones_like(first[:, :1], dtype=torch.bool)
    for _ in range(ROUNDS):
        centres = _taken(maps, chosen)
        members = _nearest(maps, centres)
        sizes = members.sum(2, keepdim=True)
        means = torch.where(sizes > 0, members @ maps / sizes.clamp(min=1), centres)
        moved = _snapped(squares[:, None] - 2 * means @ maps.mT)
        shift = (_taken(maps, moved) - centres).norm(dim=2).sum(1, keepdim=True).square()
        chosen = torch.where(moving, moved, chosen)
        moving = moving & (shift >= _SETTLED)
    return _nearest(maps, _taken(maps, chosen))


def _taken(maps: Tensor, chosen: Tensor) -> Tensor:
    return maps.gather(1, chosen[:, :, None].expand(-1, -1, maps.shape[2]))


def _nearest(maps: Tensor, centres: Tensor) -> Tensor:
    """The nearest centre of each map: ‖map‖² is the same for all centres, and left out."""
    nearest = (centres.square().sum(2, keepdim=True) - 2 * centres @ maps.mT).argmin(1)
    groups = torch.arange(centres.shape[1], device=maps.device)
    return (nearest[:, None] == groups[:, None]).to(maps.dtype)


def _snapped(distances: Tensor) -> Tensor:
    """(N, K, C) to (N, K): the nearest of C that none of the K before has taken."""
    places = torch.arange(distances.shape[2], device=distances.device)
    free, chosen = torch.ones_like(distances[:, 0], dtype=torch.bool), []
    for distance in distances.unbind(1):
        nearest = torch.where(free, distance, torch.inf).argmin(1, keepdim=True)
        free = free & (places != nearest)
        chosen.append(nearest)
    return torch.cat(chosen, 1)


def inhibition(maps: Tensor, weights: Tensor, members: Tensor) -> Tensor:
    """The mask (N, C, P) of maps (N, C, P) with weights (N, C)."""
    weighted = members * weights[:, None]
    evidence = weighted @ maps
    evidence = evidence - evidence.mean(2, keepdim=True)
    evidence = evidence / (evidence.square().mean(2, keepdim=True).sqrt() + TINY)
    important = weighted.sum(2, keepdim=True) > 0
    return members.mT @ torch.where(important, torch.sigmoid(-evidence), 1.0)


def overlaps(maps: Tensor, members: Tensor) -> tuple[Tensor, Tensor]:
    """(N, K, K): |⟨μₐ, μᵦ⟩|, and 1 where a < b and neither group is empty."""
    sizes = members.sum(2, keepdim=True)
    means = members @ maps / sizes.clamp(min=1)
    there = (sizes > 0).to(maps.dtype)
    return (means @ means.mT).abs(), (there @ there.mT).triu(1)


def mean_of(values: Tensor, weights: Tensor) -> Tensor:
    """0 where nothing weighs."""
    return (values * weights).sum() / weights.sum().clamp(min=1)
