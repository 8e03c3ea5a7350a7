"""Robust training: one readable loop, and the methods and nets it trains by and with.

A method is a subclass of `hardy.train.method.Method`: what happens to a batch, and the loss. A net
is a function (classes, halving) -> module, with a `hardy.train.blurpool.Halving`; its settings are
further arguments, to be named, each with a default. Another package adds one by an entry point in
the group "hardy.methods" or "hardy.nets". The rest of this room but `training` imports torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hardy.registry import Registry, Row
from hardy.rooms import call_room

if TYPE_CHECKING:
    from torch import nn

    from hardy.train.method import Method

    Factory = Callable[..., nn.Module]  # (classes, halving, *, settings)


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
        "deep_augment": _row("methods.deep_augment:DeepAugment"),
        "groupwise_inhibition": _row("methods.inhibition:GroupwiseInhibition"),
        "apr": _row("methods.spectral:AmplitudePhase"),
        "hybrid_augment": _row("methods.spectral:HybridAugment"),
        "prime": _row("methods.prime:Prime"),
        "trivial_augment": _row("methods.trivial_augment:TrivialAugment"),
        "noisy_mix": _row("methods.noisy_mix:NoisyMix"),
        "pix_mix": _row("methods.pix_mix:PixMix"),
        "afa": _row("methods.auxiliary_fourier:AuxiliaryFourier"),
        "corrupted": _row("methods.corrupted:Corrupted"),
        "best": _row("methods.best:Best"),
    },
)

NETS: Registry[Factory] = Registry(
    "net",
    "hardy.nets",
    {
        "wrn_40_2": _row("nets.wide_resnets:wrn_40_2"),
        "wrn_16_4": _row("nets.wide_resnets:wrn_16_4"),
        "resnext_29_4x32": _row("nets.resnexts:resnext_29_4x32"),
        "resnext_29_8x32_slim": _row("nets.resnexts:resnext_29_8x32_slim"),
        "resnet_18": _row("nets.resnets:resnet_18"),
        "resnet_20": _row("nets.resnets:resnet_20"),
        "densenet_40": _row("nets.densenets:densenet_40"),
        "densenet_40_b": _row("nets.densenets:densenet_40_b"),
        "shake_shake_26": _row("nets.shake_shake:shake_shake_26"),
        "r_mg_cifar": _row("nets.multigrid:r_mg_cifar"),
        "mg_cifar": _row("nets.multigrid:mg_cifar"),
        "r_mg_18": _row("nets.multigrid:r_mg_18"),
        "r_mg_34": _row("nets.multigrid:r_mg_34"),
        "msdnet_cifar": _row("nets.msdnet:msdnet_cifar"),
        "msdnet_imagenet": _row("nets.msdnet:msdnet_imagenet"),
        "condensenet_86": _row("nets.condensenet:condensenet_86"),
        "condensenet_74": _row("nets.condensenet:condensenet_74"),
        "assemble_resnet_50": _row("nets.assemble:assemble_resnet_50"),
        "assemble_resnet_152": _row("nets.assemble:assemble_resnet_152"),
    },
)

call_room(__name__, "hardy.train.training:train")
