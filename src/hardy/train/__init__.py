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


def _row(place: str, summary: str) -> Row:
    return Row(f"hardy.train.{place}", summary, needs="torch")


METHODS: Registry[type[Method]] = Registry(
    "method",
    "hardy.methods",
    {
        "standard": _row("methods.noise_baselines:Standard", "Crop and flip only."),
        "gauss_single": _row(
            "methods.noise_baselines:GaussSingle", "Gaussian noise of one σ on half of each batch."
        ),
        "gauss_mult": _row(
            "methods.noise_baselines:GaussMult",
            "Gaussian noise on half of each batch, σ from the severities of ImageNet-C.",
        ),
        "speckle": _row(
            "methods.noise_baselines:Speckle",
            "Speckle noise on half of each batch, σ from the severities of ImageNet-C.",
        ),
        "patch_gaussian": _row(
            "methods.patch:PatchGaussian",
            "Gaussian noise in a square patch of each image, its centre anywhere.",
        ),
        "patch_uniform": _row(
            "methods.patch:PatchUniform",
            "Uniform noise in a square patch of each image, its centre anywhere.",
        ),
        "augmix": _row(
            "methods.augmix:AugMix",
            "An image and two mixtures of operations on it have to get one prediction.",
        ),
        "ant": _row(
            "methods.ant:Ant",
            "A small generator learns noise that fools the net, the net to withstand it.",
        ),
        "ant3x3": _row(
            "methods.ant:Ant3x3",
            "As ant, with a 3 x 3 convolution: neighbouring values of the noise correlate.",
        ),
        "stability": _row(
            "methods.stability_training:Stability",
            "The prediction must not move when slight uniform noise is added.",
        ),
        "alp": _row(
            "methods.alp:AdversarialLogitPairing",
            "An image and its adversarial partner have to get the same logits.",
        ),
        "noise2net": _row(
            "methods.noise2net:Noise2Net",
            "Half of each batch passes random nets, another for each image and batch.",
        ),
        "groupwise_inhibition": _row(
            "methods.inhibition:GroupwiseInhibition",
            "Now and then the feature maps that say most about the class are turned down.",
        ),
        "corrupted": _row(
            "methods.corrupted:Corrupted",
            "In each epoch another half of the images is under one corruption of a suite.",
        ),
    },
)

_NETS = {
    "wrn_40_2": "WRN-40-2: 2.2 million weights, the usual one for CIFAR-10.",
    "wrn_16_4": "WRN-16-4: 2.7 million weights, fewer layers than WRN-40-2 and wider ones.",
    "resnext_29_4x32": "ResNeXt-29 with 4 groups of 32 channels: 6.8 million weights.",
    "resnet_18": "ResNet-18 begun for 32 px: 11.2 million weights.",
}
NETS: Registry[Factory] = Registry(
    "net", "hardy.nets", {name: _row(f"nets:{name}", summary) for name, summary in _NETS.items()}
)

call_room(__name__, "hardy.train.training:train")
