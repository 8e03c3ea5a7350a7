"""The nets, one file per family, and what they share; all take normalised images (N, 3, H, W).

The source of their classes is part of what identifies a trained model: no name in it may change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice

import torch
from torch import Tensor, nn

from hardy.errors import InputError
from hardy.models.adapters.torch_sources import fresh_module, own_preprocessing
from hardy.models.model import Options
from hardy.train import NETS
from hardy.train.blurpool import STRIDES, Halving, choose_halving
from hardy.train.net_settings import read_settings

_MOST_WEIGHTS = 10**9  # of a net whose settings are given


class Net(nn.Module):
    """`forward` is `after(before(x))`; what comes between are the feature maps of the next-to-last
    stage."""

    blocks: nn.Sequential
    cut: int  # how many of the blocks come before
    head: nn.Linear

    def before(self, x: Tensor) -> Tensor:
        return _through(islice(self.blocks, self.cut), x)

    def after(self, features: Tensor) -> Tensor:
        return self.head(_through(islice(self.blocks, self.cut, None), features).mean((2, 3)))

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.before(x))


def _through(blocks: Iterable[nn.Module], x: Tensor) -> Tensor:
    for block in blocks:
        x = block(x)
    return x


Half = Callable[[Tensor], Tensor]


def cut_in_two(net: nn.Module) -> tuple[Half, Half] | None:
    """`before` and `after` of a net of ours; of a library's ResNet, whose parts lie in the order
    they are used in, the halves before and from layer4 on. None: the stages are not known."""
    if isinstance(net, Net):
        return net.before, net.after
    parts = dict(net.named_children())
    if type(net).__name__ != "ResNet" or list(parts)[-3] != "layer4":
        return None
    *inner, last, pool, head = parts.values()
    return partial(_through, inner), lambda x: head(pool(last(x)).flatten(1))


def _initialise(net: nn.Module) -> None:
    """Convolutions normal with variance 2 / (k² · outputs), biases 0; torch does the rest so."""
    for part in net.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(part, nn.Linear):
            nn.init.zeros_(part.bias)


def need_strides(name: str, halving: Halving) -> None:
    """Refuse another halving for a net that has its own."""
    if halving != STRIDES:
        raise InputError(
            f"expected antialias or blur_after_conv for a net that halves by stride, got {name}, "
            "which halves in its own way; leave the option out"
        )


def make_net(
    name: str, classes: int, antialias: int = 1, blur_after_conv: bool = False
) -> nn.Module:
    """A net with fresh weights, drawn from torch's global generator: a registered one, whose
    settings may follow ("densenet_40:growth=8"), or "torchvision:resnet50" or "timm:NAME", which
    halve images as their libraries have it."""
    halving = choose_halving(antialias, blur_after_conv)
    if _is_ours(name):
        ours, _, said = name.partition(":")
        settings = read_settings(said, NETS[ours], ours)
        make = partial(NETS[ours], classes, halving, **settings)
        if settings:
            _check_size(make, name)
        return make()
    if halving != STRIDES:
        asked = "blur_after_conv" if blur_after_conv else f"antialias {antialias}"
        raise InputError(
            f"expected {asked} for a net of our own ({', '.join(NETS)}), got {name}, whose layers "
            "are its library's; leave the option out"
        )
    return fresh_module(name, classes)


def _check_size(make: Callable[[], nn.Module], name: str) -> None:
    """Refuse settings, which may come from a file, before memory is spent on them."""
    with torch.device("meta"):  # shapes without values
        weights = sum(weight.numel() for weight in make().parameters())
    if weights > _MOST_WEIGHTS:
        raise InputError(
            f"expected a net of at most {_MOST_WEIGHTS:,} weights, got {name}, which has "
            f"{weights:,}; choose smaller settings"
        )


def _is_ours(name: str) -> bool:
    return ":" not in name or name.partition(":")[0] in NETS


def check_net(name: str, antialias: int = 1, blur_after_conv: bool = False) -> None:
    """Refuse what `make_net` would refuse, before images are read: a net is made and dropped, and
    the global generator left as it was."""
    with torch.random.fork_rng(devices=[]):
        make_net(name, 2, antialias, blur_after_conv)


def normalisation(name: str, net: nn.Module) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation per channel that `make_net(name, ...)` wants its images prepared with: 0.5
    for small images, as AugMix has it; what its library says for others."""
    if _is_ours(name):
        return (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
    own = own_preprocessing(net, Options(name))
    return own.mean, own.std
