"""The nets: published sizes, shapes, and anti-aliased down-sampling."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.nets import NETS, BlurPool, ResNet18, ResNeXt29, WideResNet, make_net

# Millions of parameters for ten classes, as the papers state them.
WIDE = {(40, 1): 0.6, (40, 2): 2.2, (40, 4): 8.9, (28, 10): 36.5, (22, 8): 17.2, (16, 8): 11.0}
RESNEXT = {(8, 64): 34.4, (16, 64): 68.1}
EXACT = {"wrn_40_2": 2_243_546, "wrn_16_4": 2_748_890, "resnet_18": 11_173_962}


def count(net: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in net.parameters())


@pytest.mark.parametrize(("shape", "millions"), WIDE.items())
def test_wide_nets_have_the_published_size(shape, millions) -> None:
    with torch.device("meta"):
        assert round(count(WideResNet(*shape, classes=10)) / 1e6, 1) == millions


@pytest.mark.parametrize(("shape", "millions"), RESNEXT.items())
def test_resnexts_have_the_published_size(shape, millions) -> None:
    with torch.device("meta"):
        assert abs(count(ResNeXt29(*shape, classes=10)) / 1e6 - millions) <= 0.1


@pytest.mark.parametrize(("name", "parameters"), EXACT.items())
def test_exact_sizes(name, parameters) -> None:
    assert count(make_net(name, 10)) == parameters


@pytest.mark.parametrize("antialias", [1, 3])
@pytest.mark.parametrize("name", NETS)
def test_every_net_gives_logits(name, antialias) -> None:
    net = make_net(name, 7, antialias).eval()
    features = []
    net.head.register_forward_pre_hook(lambda module, inputs: features.append(inputs[0]))
    with torch.no_grad():
        assert net(torch.zeros(1, 3, 32, 32)).shape == (1, 7)
    assert features[0].shape == (1, net.head.in_features)
    assert any(isinstance(part, BlurPool) for part in net.modules()) == (antialias > 1)
    strides = {p.stride for p in net.modules() if isinstance(p, torch.nn.Conv2d)}
    assert strides == ({(1, 1)} if antialias > 1 else {(1, 1), (2, 2)})
    assert count(net) == count(make_net(name, 7))  # filters are no parameters
    assert not any("kernel" in key for key in net.state_dict())


ROWS = {2: (1, 1), 3: (1, 2, 1), 4: (1, 3, 3, 1), 5: (1, 4, 6, 4, 1), 7: (1, 6, 15, 20, 15, 6, 1)}


@pytest.mark.parametrize(("taps", "row"), ROWS.items())
def test_blur_pool_is_its_formula(taps, row) -> None:
    x = torch.rand(2, 3, 12, 10, generator=torch.Generator().manual_seed(0))
    filter = torch.outer(torch.tensor(row).float(), torch.tensor(row).float())
    edges = ((taps - 1) // 2, taps // 2) * 2
    padded = functional.pad(x, edges, mode="reflect").flatten(0, 1)[:, None]
    wanted = functional.conv2d(padded, (filter / filter.sum())[None, None])[..., ::2, ::2]
    torch.testing.assert_close(BlurPool(3, taps)(x).flatten(0, 1)[:, None], wanted)


def test_antialiasing_makes_a_net_steadier_under_shifts() -> None:
    """Random weights will do: what moves by one pixel changes the features less."""

    def change(antialias: int) -> float:
        torch.manual_seed(0)
        net = ResNet18(10, antialias, width=8).eval()
        x = torch.rand(8, 3, 40, 40, generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            here, there = net(x[..., 4:36, 4:36]), net(x[..., 4:36, 5:37])
        return float((here - there).norm() / (here - here.mean(0)).norm())

    assert change(4) < 0.8 * change(1)


def test_refusals() -> None:
    with pytest.raises(InputError, match=r'unknown net "wrn_40_3"; did you mean "wrn_40_2"\?'):
        make_net("wrn_40_3", 10)
    with pytest.raises(InputError, match=r"a filter of 1 \(none\) to 7 taps, got 8"):
        make_net("wrn_40_2", 10, antialias=8)
