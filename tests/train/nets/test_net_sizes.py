"""Every net has the size that its paper or its authors' code has, and gives logits."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hardy.errors import InputError
from hardy.train import NETS
from hardy.train.nets import make_net
from tests.train.test_nets import SUMS

PLAIN = "assemble_resnet_50:big_little=no,blur=no,dropblock=no"
GROWING = "msdnet_cifar:base=1,step=1,growing=yes"
# Millions of weights by net and number of classes, to as many places as are published. Where
# authors print no figure, it is counted from their layers; that of R-MG and MSDNet agrees.
PUBLISHED = {
    ("resnet_20", 10): "0.27",
    ("densenet_40", 10): "1.0",
    ("densenet_40_b", 10): "0.98",
    ("shake_shake_26", 10): "26.2",
    ("r_mg_34", 1000): "32.90",
    ("r_mg_18", 1000): "15.85",
    ("r_mg_cifar", 100): "20.56",
    ("r_mg_cifar:units=2", 100): "44.79",
    ("r_mg_cifar:units=3", 100): "69.02",
    ("r_mg_cifar:units=4", 100): "93.26",
    ("r_mg_cifar:width=40", 100): "8.06",
    ("r_mg_cifar:units=2,width=40", 100): "17.5",
    ("r_mg_cifar:units=3,width=40", 100): "27.0",
    ("r_mg_cifar:units=4,width=40", 100): "36.5",
    ("msdnet_imagenet", 1000): "23.96",
    ("msdnet_imagenet:step=6", 1000): "56.53",
    ("msdnet_imagenet:step=7", 1000): "62.31",
    ("msdnet_imagenet:channels=64", 1000): "29.73",
    ("msdnet_imagenet:step=6,channels=64", 1000): "64.83",
    ("msdnet_imagenet:step=7,channels=64", 1000): "70.78",
    ("msdnet_cifar", 100): "3.07",
    ("msdnet_cifar:exits=10", 10): "4.84",
    (f"{GROWING},exits=5", 100): "2.08",
    (f"{GROWING},exits=7", 10): "3.89",
    ("condensenet_74", 1000): "11.92",
    ("condensenet_74:groups=8", 1000): "11.10",
    ("condensenet_86", 10): "1.45",
    ("condensenet_86:layers=30,growth=12", 10): "13.8",
    (f"{PLAIN},resnet_d=no,sk=no", 1001): "25.56",
    (f"{PLAIN},sk=no", 1001): "25.58",
    (f"{PLAIN},sk=no,se=yes", 1001): "28.09",
    (PLAIN, 1001): "38.79",
    ("assemble_resnet_50", 1001): "41.85",
    ("assemble_resnet_152", 1001): "117.0",
}
# The authors' table cuts digits off, and its last figure is 0.02 away from the steps of the others.
CUT_OFF = {1: 8.34, 2: 20.46, 3: 32.58, 4: 44.68}


def weightless(name: str, classes: int) -> nn.Module:
    """Shapes without values, which cost nothing."""
    with torch.device("meta"):
        return make_net(name, classes)


def millions(name: str, classes: int) -> float:
    return sum(one.numel() for one in weightless(name, classes).parameters()) / 1e6


def test_every_net_has_a_size() -> None:
    named = {name.partition(":")[0] for name, _ in PUBLISHED} | {*SUMS, "mg_cifar"}
    assert {*NETS} - named == set()


@pytest.mark.parametrize(("net", "wanted"), PUBLISHED.items())
def test_nets_have_the_published_size(net, wanted) -> None:
    places = len(wanted.partition(".")[2])
    assert f"{millions(*net):.{places}f}" == wanted


@pytest.mark.parametrize(("units", "wanted"), CUT_OFF.items())
def test_plain_multigrid_nets_have_the_published_size(units, wanted) -> None:
    assert 0 <= millions(f"mg_cifar:units={units}", 100) - wanted < (0.01 if units < 4 else 0.02)


LAST_EXIT = {
    ("msdnet_imagenet", 1000): "13.32",
    ("msdnet_imagenet:step=6", 1000): "25.67",
    ("msdnet_imagenet:step=7", 1000): "34.93",
    ("msdnet_cifar", 100): "0.85",
    ("msdnet_cifar:exits=10", 10): "1.20",
    (f"{GROWING},exits=5", 100): "0.83",
    (f"{GROWING},exits=7", 10): "1.61",
}


def last_exit_only(name: str, classes: int) -> float:
    """The size without what only the earlier exits use."""
    net = weightless(name, classes)
    *early, _ = net.classifiers.values()
    unused = sum(weight.numel() for one in early for weight in one.parameters())
    return (sum(weight.numel() for weight in net.parameters()) - unused) / 1e6


@pytest.mark.parametrize(("net", "wanted"), LAST_EXIT.items())
def test_msdnets_without_their_early_exits_have_the_counted_size(net, wanted) -> None:
    assert f"{last_exit_only(*net):.2f}" == wanted


@pytest.mark.parametrize("side", [32, 224])
@pytest.mark.parametrize("name", [*NETS, "assemble_resnet_50:small=yes"])
def test_every_net_takes_both_sizes(name, side) -> None:
    net = weightless(name, 7)
    images = torch.zeros(2, 3, side, side, device="meta")
    assert net(images).shape == net.eval()(images).shape == (2, 7)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("densenet_40:growht=8", 'unknown setting of densenet_40 "growht"; did you mean "growth"'),
        ("densenet_40:growth=a", 'expected growth of densenet_40 as a whole number.* got "a"'),
        ("densenet_40:growth=1001", "up to 1,000"),
        ("assemble_resnet_50:sk=maybe", "as yes or no, got"),
        ("msdnet_cifar:exits=1000,step=1000", "expected at most 200 layers, got 999,004"),
        ("msdnet_imagenet:step=1000", "expected at most 200 layers, got 5,000"),
        ("assemble_resnet_50:width=1000", "at most 1,000,000,000 weights, got assemble_resnet_50"),
        ("densenet_40:growth", "expected settings of densenet_40 as NAME=VALUE"),
        ("densenet_40:depth=41", "expected a depth of 7, 10, 13"),
        ("resnet_18:width=4", 'unknown setting of resnet_18 "width"'),
        ("shake_shake_26:width=3", "an even width"),
        ("r_mg_cifar:width=6", "a width that 4 divides"),
        ("msdnet_cifar:exits=0", "expected exits, base and step of at least 1"),
        ("msdnet_cifar:growing=1", 'expected growing of msdnet_cifar as yes or no.* got "1"'),
        ("condensenet_86:groups=3", "groups of at least 2 and a growth that they divide"),
        ("condensenet_86:lasso=-1", "expected a lasso of at least 0"),
        ("assemble_resnet_50:width=6", "a width that 4 divides"),
        ("assemble_resnet_50:se=yes", "expected sk=yes or se=yes, got both"),
    ],
)
def test_bad_settings(name, message) -> None:
    with pytest.raises(InputError, match=message):
        make_net(name, 10)


@pytest.mark.parametrize("name", ["r_mg_cifar", "msdnet_cifar", "condensenet_86", "densenet_40"])
def test_nets_that_halve_in_their_own_way_say_so(name) -> None:
    with pytest.raises(InputError, match=f"got {name}, which halves in its own way"):
        make_net(name, 10, antialias=3)
