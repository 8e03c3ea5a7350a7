"""Robust training: one readable loop, and the methods and nets it trains by and with.

A method is a subclass of `hardy.train.method.Method`: what happens to a batch, and the loss. A net
is a function (classes, halving) -> module, with a `hardy.train.blurpool.Halving`. Another package
adds one by an entry point in the group "hardy.methods" or "hardy.nets". The rest of this room but
`training` imports torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hardy.registry import Registry, Row
from hardy.rooms import call_room

if TYPE_CHECKING:
    from torch import nn

    from hardy.train.blurpool import Halving
    from hardy.train.method import Method

    Factory = Callable[[int, Halving], nn.Module]


def _row(place: str) -> Row:
    return Row(f"hardy.train.{place}", needs="torch")


METHODS: Registry[type[Method]] = Registry(
    "method",
    "hardy.methods",
    of=type,
    rows={
        "standard": _row("methods.noise_baselines:Standard"),
        "gauss_single": _row("methods.noise_baselines:GaussSingle"),
        "gauss_mult": _row("methods.noise_baselines:GaussMult"),
        "speckle": _row("methods.noise_baselines:Speckle"),
        "patch_gaussian": _row("methods.patch:PatchGaussian"),
        "patch_uniform": _row("methods.patch:PatchUniform"),
        "augmix": _row("methods.augmix:AugMix"),
        "ant": _row("methods.ant:Ant"),
        "ant3x3": _row("methods.ant:Ant3x3"),
        "stability": _row("methods.stability_training:Stability"),
        "alp": _row("methods.alp:AdversarialLogitPairing"),
        "noise2net": _row("methods.noise2net:Noise2Net"),
        "groupwise_inhibition": _row("methods.inhibition:GroupwiseInhibition"),
        "corrupted": _row("methods.corrupted:Corrupted"),
    },
)

NETS: Registry[Factory] = Registry(
    "net",
    "hardy.nets",
    {
        name: _row(f"nets:{name}")
        for name in ("wrn_40_2", "wrn_16_4", "resnext_29_4x32", "resnet_18")
    },
)

call_room(__name__, "hardy.train.training:train")
