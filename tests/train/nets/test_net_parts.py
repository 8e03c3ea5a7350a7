"""The parts of nets against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from hardy.train.nets import make_net
from hardy.train.nets.assemble import SelectiveKernel
from hardy.train.nets.condensenet import HalfLinear, LearnedGroupConv
from hardy.train.nets.dropblock import DropBlock
from hardy.train.nets.msdnet import sure_enough
from hardy.train.nets.multigrid import MultigridConv, MultigridUnit
from hardy.train.nets.shake_shake import shaken


@pytest.fixture(autouse=True)
def _always_the_same() -> None:
    torch.manual_seed(0)


def test_a_multigrid_convolution_reads_its_neighbours() -> None:
    grids = [torch.rand(2, width, side, side) for width, side in ((4, 8), (3, 4), (2, 2))]
    layer = MultigridConv([4, 3, 2], [5, 6, 7], smallest=1).eval()
    finest, middle, coarsest = layer(grids)
    pooled = grids[0].reshape(2, 4, 4, 2, 4, 2).amax((3, 5))
    enlarged = grids[2].repeat_interleave(2, 2).repeat_interleave(2, 3)
    seen = torch.cat([pooled, grids[1], enlarged], 1)
    torch.testing.assert_close(middle, layer.norms[1](layer.convs[1](seen)))
    assert (finest.shape, coarsest.shape) == ((2, 5, 8, 8), (2, 7, 2, 2))
    assert [conv.kernel_size[0] for conv in layer.convs] == [3, 3, 1]


def test_channels_that_a_shortcut_lacks_are_zeros() -> None:
    unit = MultigridUnit([2], [3], 3, residual=True).eval()
    for part in unit.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.zeros_(part.weight), nn.init.zeros_(part.bias)
    x = torch.rand(1, 2, 4, 4)
    (y,) = unit([x])
    assert torch.equal(y[:, :2], x)
    assert not y[:, 2].any()


def test_multigrid_pyramids_have_the_sizes_of_the_table() -> None:
    with torch.device("meta"):
        net = make_net("r_mg_34", 10)
        seen = []
        for unit in net.units:
            unit.register_forward_hook(lambda unit, given, made: seen.append(made))
        net(torch.zeros(1, 3, 224, 224))
    found = [[(grid.shape[1], grid.shape[2]) for grid in grids] for grids in seen]
    assert found[0] == [(64, 56), (32, 28), (16, 14)]
    assert found[3] == [(128, 28), (64, 14), (32, 7)]
    assert found[7] == [(256, 14), (128, 7)]
    assert found[13:] == [[(512, 7)]] * 3


def test_msdnet_halves_its_width_where_the_table_says() -> None:
    with torch.device("meta"):
        nets = make_net("msdnet_imagenet", 10), make_net("msdnet_cifar", 10)
    for net, first, wanted in (
        (nets[0], 1, [(128, 64), (144, 72), (152, 76)]),
        (nets[1], 1, [(58, 29), (65, 32)]),
    ):
        reduced = [layer.reduce for layer in net.layers if len(layer.reduce)]
        factors = {0: 1, 1: 2, 2: 4, 3: 4}
        found = []
        for parts in reduced:
            scale, part = next(iter(parts.items()))
            by = factors[int(scale)]
            found.append((part[0].in_channels // by, part[0].out_channels // by))
        assert found == wanted, first


def test_exits_lie_where_the_table_says() -> None:
    for name, layers in {
        "msdnet_imagenet": [4, 8, 12, 16, 20],
        "msdnet_imagenet:step=6": [6, 12, 18, 24, 30],
        "msdnet_imagenet:step=7": [7, 14, 21, 28, 35],
        "msdnet_cifar": [4, 6, 8, 10, 12, 14, 16],
        "msdnet_cifar:exits=10": [4, 6, 8, 10, 12, 14, 16, 18, 20, 22],
        "msdnet_cifar:exits=5,base=1,step=1,growing=yes": [1, 3, 6, 10, 15],
        "msdnet_cifar:exits=7,base=1,step=1,growing=yes": [1, 3, 6, 10, 15, 21, 28],
    }.items():
        with torch.device("meta"):
            assert list(map(int, make_net(name, 10).classifiers)) == layers


def test_early_exit_takes_the_first_that_is_sure() -> None:
    exits = [torch.tensor([[9.0, 0], [0, 1]]), torch.tensor([[0.0, 5], [8, 0]]), torch.zeros(2, 2)]
    assert torch.equal(sure_enough(exits, 0.95), torch.tensor([[9.0, 0], [8, 0]]))
    assert torch.equal(sure_enough(exits, 1.0), exits[-1])


def test_condensing_keeps_the_inputs_that_weigh_most() -> None:
    layer = LearnedGroupConv(8, 8, 4)
    whole = layer.conv.weight.detach()[:, :, 0, 0].numpy().copy()
    layer.condense(1)
    for group in range(4):
        size = np.abs(whole[group::4]).sum(0)
        assert {*np.flatnonzero(layer.mask[group])} == {*np.argsort(size)[2:]}
    before = layer.mask.clone()
    layer.condense(1)  # as a resumed run does
    assert torch.equal(layer.mask, before)
    layer.condense(3)
    assert (layer.mask.sum(1) == 2).all()
    assert (layer.mask <= before).all()
    assert not layer.weight().abs().sum(0)[~layer.mask].any()


def test_a_converted_layer_gives_the_same() -> None:
    layer = LearnedGroupConv(16, 32, 4)
    layer.norm.running_mean.uniform_(-1, 1)
    layer.norm.weight.data.uniform_(0.5, 2)
    layer.condense(3)
    layer.eval()
    x = torch.randn(2, 16, 5, 5)
    converted = layer.converted()
    assert converted.conv.weight.numel() == layer.conv.weight.numel() // 4
    torch.testing.assert_close(converted(x), layer(x), rtol=0, atol=1e-5)


# Millions of weights once converted, half of the linear layer's inputs left; as counted.
CONVERTED = {
    ("condensenet_74", 1000): "4.77",
    ("condensenet_74:groups=8", 1000): "2.94",
    ("condensenet_86", 10): "0.52",
    ("condensenet_86:layers=8", 10): "0.21",
    ("condensenet_86:layers=12", 10): "0.40",
    ("condensenet_86:layers=16", 10): "0.64",
    ("condensenet_86:layers=18", 10): "0.79",
    ("condensenet_86:layers=20", 10): "0.94",
    ("condensenet_86:layers=30,growth=12", 10): "4.21",
}


@pytest.mark.parametrize(("net", "wanted"), CONVERTED.items())
def test_converted_nets_have_the_published_size(net, wanted) -> None:
    made = make_net(*net)
    made.at_share(0.5)
    made.eval()
    small = made.answering(converted=True, half_head=True)
    assert f"{sum(one.numel() for one in small.parameters()) / 1e6:.2f}" == wanted


def test_a_whole_condensenet_is_converted_to_the_same() -> None:
    net = make_net("condensenet_86:layers=2", 10)
    net.at_share(0.5)
    net.eval()
    x = torch.rand(2, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(net.answering(converted=True)(x), net(x), rtol=0, atol=1e-5)


def test_events_are_spread_over_the_first_half() -> None:
    net = make_net("condensenet_86:layers=1,lasso=0.5", 10)
    layer = net._learned()[0]
    kept = {}
    for percent in range(0, 100, 2):
        net.at_share(percent / 100)
        kept.setdefault(int(layer.mask[0].sum()) * 4 // layer.mask.shape[1], percent)
        assert float(net.lasso_now) == (0.5 if percent < 50 else 0)
    assert kept == {4: 0, 3: 18, 2: 34, 1: 50}


def test_the_lasso_is_its_formula() -> None:
    layer = LearnedGroupConv(8, 8, 4)
    weight = layer.conv.weight.detach()[:, :, 0, 0].double().numpy()
    wanted = sum(np.sqrt((weight[group::4] ** 2).sum(0)).sum() for group in range(4))
    assert float(layer.lasso().detach()) == pytest.approx(wanted, rel=1e-5)


def test_half_a_linear_layer_keeps_the_larger_half() -> None:
    whole = nn.Linear(6, 2)
    with torch.no_grad():
        whole.weight.copy_(torch.tensor([[1.0, 9, 2, 8, 3, 7]] * 2))
    assert HalfLinear(whole).read.tolist() == [1, 3, 5]


def test_shaking_mixes_forward_and_back_by_two_draws() -> None:
    one, other = (torch.randn(3, 2, 4, 4, requires_grad=True) for _ in range(2))
    torch.manual_seed(1)
    forward, back = torch.rand(2, 3, 1, 1, 1)
    torch.manual_seed(1)
    made = shaken(one, other)
    torch.testing.assert_close(made, forward * one + (1 - forward) * other)
    made.sum().backward()
    torch.testing.assert_close(one.grad, back.expand_as(one))
    torch.testing.assert_close(other.grad, (1 - back).expand_as(other))


@pytest.mark.parametrize("side", [14, 7, 4])
def test_dropblock_keeps_the_share_that_its_rate_leaves(side) -> None:
    """A pixel is kept where none of the corners whose square covers it was drawn."""
    drop, block = DropBlock(1.0), min(7, side)
    drop.keep.fill_(0.9)
    rate = 0.1 * side**2 / (block**2 * (side - block + 1) ** 2)
    places = np.arange(side)
    covering = np.minimum.reduce([places + 1, places[::-1] + 1, np.full(side, block)])
    covering = np.minimum(covering, side - block + 1)
    wanted = ((1 - rate) ** np.outer(covering, covering)).mean()
    draws = [drop(torch.ones(2, 2000, side, side)) for _ in range(2)]
    found = float(torch.stack([(each > 0).float().mean() for each in draws]).mean())
    assert found == pytest.approx(wanted, abs=0.01)
    assert wanted > 0.89
    for each in draws:
        assert torch.equal(each[0], each[1])  # one mask for the batch
        assert float(each.mean()) == pytest.approx(1, abs=1e-4)
    assert torch.equal(drop.eval()(draws[0]), draws[0])


def test_dropblock_drops_more_and_more() -> None:
    with torch.device("meta"):
        net = make_net("assemble_resnet_50", 10)
    drops = [part for part in net.modules() if isinstance(part, DropBlock)]
    assert {part.scale for part in drops} == {0.25, 1}
    part = DropBlock(1.0)
    net.stages.append(part)
    for done, keep in ((0, 1), (0.5, 0.95), (1, 0.9)):
        net.at_share(done)
        assert float(part.keep) == pytest.approx(keep)


def test_narrow_nets_are_squeezed_to_one_channel_at_least() -> None:
    net = make_net("assemble_resnet_50:width=4,sk=no,se=yes", 3)
    assert all(weight.numel() for weight in net.parameters())


def test_selective_kernels_weigh_two_branches() -> None:
    layer = SelectiveKernel(8).eval()
    x = torch.rand(2, 16, 3, 3)
    u, v = x[:, :8], x[:, 8:]
    z = functional.relu(layer.squeeze[1](layer.squeeze[0]((u + v).mean((2, 3), keepdim=True))))
    a, b = layer.weigh(z)[:, :8], layer.weigh(z)[:, 8:]
    share = torch.sigmoid(a - b)
    torch.testing.assert_close(layer(x), share * u + (1 - share) * v)


@pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0")
@pytest.mark.parametrize(
    "name",
    [
        "msdnet_cifar:exits=2,base=1,step=1,channels=4,growth=2",
        "condensenet_86:layers=1,growth=4",
        "shake_shake_26:depth=8,width=4",
    ],
)
def test_new_nets_are_compiled_in_one_piece(name) -> None:
    net, x = make_net(name, 3), torch.rand(2, 3, 16, 16)
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    assert compiled(x).shape == (2, 3)
    assert getattr(net, "added_loss", lambda labels: 0)(torch.tensor([0, 1])) is not None
    with torch.no_grad():
        torch.testing.assert_close(compiled.eval()(x), net.eval()(x))
