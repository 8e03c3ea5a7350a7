"""The nets: published sizes, shapes, two parts, and how they halve."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.models import load_model
from hardy.train.blurpool import BlurPool, Halving
from hardy.train.checkpoint import write_tensors
from hardy.train.loop import Training, run_training
from hardy.train.method import make_method
from hardy.train.nets import Net, make_net
from hardy.train.nets.resnets import ResNet18
from hardy.train.nets.resnexts import ResNeXt29
from hardy.train.nets.wide_resnets import WideResNet
from hardy.train.record import begin_run
from hardy.train.run_folder import MODEL, read_run
from hardy.train.trained_model import trained_net
from tests.photos import random_images
from tests.train.small import CPU, NARROW, described, narrow, small_data

__all__ = ["narrow"]

# Millions of parameters for ten classes, as the papers state them.
WIDE = {(40, 1): 0.6, (40, 2): 2.2, (40, 4): 8.9, (28, 10): 36.5, (22, 8): 17.2, (16, 8): 11.0}
RESNEXT = {(8, 64): 34.4, (16, 64): 68.1}
HALVINGS = {"strides": {}, "antialias": {"antialias": 3}, "after": {"blur_after_conv": True}}


def count(net: nn.Module) -> int:
    return sum(parameter.numel() for parameter in net.parameters())


def parts_of(net: nn.Module, kind: type) -> list[nn.Module]:
    return [part for part in net.modules() if isinstance(part, kind)]


@pytest.mark.parametrize(("shape", "millions"), WIDE.items())
def test_wide_nets_have_the_published_size(shape, millions) -> None:
    with torch.device("meta"):
        assert round(count(WideResNet(*shape, classes=10)) / 1e6, 1) == millions


@pytest.mark.parametrize(("shape", "millions"), RESNEXT.items())
def test_resnexts_have_the_published_size(shape, millions) -> None:
    with torch.device("meta"):
        assert abs(count(ResNeXt29(*shape, classes=10)) / 1e6 - millions) <= 0.1


def wide_sum(blocks: int, k: int) -> int:
    """The paper's table: 3 x 3 of 16, then groups of pairs of 3 x 3 of 16k, 32k, 64k."""
    widths = [16 * k, 32 * k, 64 * k]
    firsts = [16, *widths[:2]]  # that come into each group
    convolutions = 27 * 16
    convolutions += sum(9 * a * b for a, b in zip(firsts, widths, strict=True))
    convolutions += sum(9 * b * b * (2 * blocks - 1) for b in widths)
    shortcuts = sum(a * b for a, b in zip(firsts, widths, strict=True))
    # Scale and shift, ahead of each convolution in a group, and of the mean at the end.
    scales = 2 * (sum(firsts) + sum(b * (2 * blocks - 1) for b in widths) + widths[2])
    return convolutions + shortcuts + scales + 10 * widths[2] + 10


def resnet_18_sum() -> int:
    """Table 1 of the paper with a stem of 3 x 3: four stages of two pairs of 3 x 3 convolutions,
    each with scale and shift; stages 2 to 4 begin with a projected shortcut."""
    pairs = [(64, 64), (64, 128), (128, 256), (256, 512)]
    stages = sum(9 * a * b + 27 * b * b + 4 * 2 * b for a, b in pairs)
    projections = sum(a * b + 2 * b for a, b in pairs[1:])
    return 27 * 64 + 2 * 64 + stages + projections + 512 * 10 + 10


def resnext_29_sum(cardinality: int, base: int) -> int:
    """1 x 1 of D = C · d · 2^stage, 3 x 3 in C groups, 1 x 1 of 256 · 2^stage; three times three,
    each with scale and shift; every stage begins with a projected shortcut."""
    total = 27 * 64 + 2 * 64
    before = 64
    for stage in range(3):
        d, out = cardinality * base * 2**stage, 256 * 2**stage
        inner = 9 * d * d // cardinality + d * out + 2 * (2 * d + out)
        total += 3 * inner + before * d + 2 * out * d + before * out + 2 * out
        before = out
    return total + 1024 * 10 + 10


SUMS = {
    "wrn_40_2": wide_sum(6, 2),
    "wrn_16_4": wide_sum(2, 4),
    "resnet_18": resnet_18_sum(),
    "resnext_29_4x32": resnext_29_sum(4, 32),
}
# As others who trained these nets state them.
KNOWN = {"wrn_40_2": 2_243_546, "wrn_16_4": 2_748_890, "resnet_18": 11_173_962}


@pytest.mark.parametrize("name", SUMS)
def test_exact_sizes(name) -> None:
    assert count(make_net(name, 10)) == SUMS[name] == KNOWN.get(name, SUMS[name])


@pytest.mark.parametrize("halving", HALVINGS)
@pytest.mark.parametrize("name", [*SUMS, "resnet_20"])
def test_every_net_gives_logits(name, halving) -> None:
    net = make_net(name, 7, **HALVINGS[halving]).eval()
    features = []
    net.head.register_forward_pre_hook(lambda module, inputs: features.append(inputs[0]))
    with torch.no_grad():
        assert net(torch.zeros(1, 3, 32, 32)).shape == (1, 7)
    assert features[0].shape == (1, net.head.in_features)
    strides = {conv.stride for conv in parts_of(net, nn.Conv2d)}
    assert strides == ({(1, 1), (2, 2)} if halving == "strides" else {(1, 1)})
    # Filters are no parameters, and all have the same names: one's weights fit the others.
    plain = make_net(name, 7).state_dict()
    assert {key: t.shape for key, t in net.state_dict().items()} == {
        key: t.shape for key, t in plain.items()
    }


CUT = {
    "wrn_40_2": (64, 16),
    "wrn_16_4": (128, 16),
    "resnext_29_4x32": (512, 16),
    "resnet_18": (256, 8),
    "resnet_20": (32, 16),
    "densenet_40": (304, 8),
    "shake_shake_26:width=8": (16, 16),
}


@pytest.mark.parametrize("name", CUT)
def test_nets_are_cut_before_their_last_stage(name) -> None:
    net = make_net(name, 3).eval()
    x = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        features = net.before(x)
        channels, side = CUT[name]
        assert features.shape == (2, channels, side, side)
        assert torch.equal(net.after(features), net(x))


ROWS = {2: (1, 1), 3: (1, 2, 1), 4: (1, 3, 3, 1), 5: (1, 4, 6, 4, 1), 7: (1, 6, 15, 20, 15, 6, 1)}


@pytest.mark.parametrize(("taps", "row"), ROWS.items())
def test_blur_pool_is_its_formula(taps, row) -> None:
    x = torch.rand(2, 3, 12, 10, generator=torch.Generator().manual_seed(0))
    filter = torch.outer(torch.tensor(row).float(), torch.tensor(row).float())
    edges = ((taps - 1) // 2, taps // 2) * 2
    padded = functional.pad(x, edges, mode="reflect").flatten(0, 1)[:, None]
    wanted = functional.conv2d(padded, (filter / filter.sum())[None, None])[..., ::2, ::2]
    torch.testing.assert_close(BlurPool(3, taps)(x).flatten(0, 1)[:, None], wanted)
    last = x.to(memory_format=torch.channels_last)  # stays so, or a GPU would turn it around
    assert BlurPool(3, taps)(last).is_contiguous(memory_format=torch.channels_last)


def test_blur_after_conv_is_what_it_says() -> None:
    """A whole block of each kind against the formula, by the blur and the functions of torch."""
    torch.manual_seed(0)
    after = Halving(3, after_conv=True)
    x = torch.randn(2, 32, 8, 8)

    def blurred(x: torch.Tensor) -> torch.Tensor:
        return BlurPool(x.shape[1], 3)(x)

    def convolved(x: torch.Tensor, part: nn.Module) -> torch.Tensor:
        return functional.conv2d(x, part.weight, padding=part.weight.shape[2] // 2)

    wide = WideResNet(10, 1, 3, after).eval()
    block = wide.blocks[wide.cut]
    ready = functional.silu(block.norm1(x))
    inner = functional.silu(block.norm2(blurred(convolved(ready, block.conv1))))
    wanted = convolved(inner, block.conv2) + convolved(blurred(ready), block.shortcut[1])
    torch.testing.assert_close(block(x), wanted)

    basic = ResNet18(3, after, width=8).eval()
    block = basic.blocks[basic.cut]
    conv1, norm1, swish, nothing, conv2, norm2 = block.inner
    assert isinstance(swish, nn.SiLU)
    assert isinstance(nothing, nn.Identity)
    inner = norm2(convolved(functional.silu(norm1(blurred(convolved(x, conv1)))), conv2))
    shortcut = block.shortcut[2](convolved(blurred(x), block.shortcut[1]))
    torch.testing.assert_close(block(x), functional.silu(inner + shortcut))

    for net in (wide, basic):  # elsewhere it is as ever
        gentle = [block for block in net.blocks if parts_of(block, nn.SiLU)]
        assert gentle == [block for block in net.blocks if parts_of(block, BlurPool)]
        assert len(gentle) == (2 if net is wide else 3)


def change(halving: Halving) -> float:
    """How features change as the image moves by a pixel, over how much those of images differ."""
    torch.manual_seed(0)
    net = ResNet18(10, halving, width=8).eval()
    x = torch.rand(8, 3, 40, 40, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        here, there = net(x[..., 4:36, 4:36]), net(x[..., 4:36, 5:37])
    return float((here - there).norm() / (here - here.mean(0)).norm())


@pytest.mark.parametrize("halving", [Halving(4), Halving(3, after_conv=True)])
def test_antialiasing_makes_a_net_steadier_under_shifts(halving) -> None:
    """Random weights will do: what moves by one pixel changes the features less."""
    assert change(halving) < 0.8 * change(Halving())


def test_runs_say_what_is_reconstructed_and_are_loaded_so(tmp_path) -> None:
    net = make_net("wrn_16_4", 3, blur_after_conv=True)
    begin_run(tmp_path / "out", described("wrn_16_4", 3, blur_after_conv=True))
    write_tensors(tmp_path / "out" / MODEL, net.state_dict(), {})
    assert "Hardy's reconstruction" in read_run(tmp_path / "out")["note"]
    assert parts_of(trained_net(tmp_path / "out")[0], nn.SiLU)

    begin_run(tmp_path / "plain", described("wrn_16_4", 3))
    write_tensors(tmp_path / "plain" / MODEL, net.state_dict(), {})
    assert "note" not in json.loads((tmp_path / "plain/run.json").read_text())
    assert not parts_of(trained_net(tmp_path / "plain")[0], nn.SiLU)
    with pytest.raises(InputError, match="blur_after_conv is True and was False"):
        begin_run(tmp_path / "plain", described("wrn_16_4", 3, blur_after_conv=True))


@pytest.mark.usefixtures("narrow")
def test_a_run_blurs_after_convolutions(tmp_path) -> None:
    data, recipe = small_data(tmp_path), replace(NARROW, epochs=1, blur_after_conv=True)
    run_training("standard", data, tmp_path / "out", recipe)
    net, run = trained_net(tmp_path / "out")
    assert run["recipe"]["blur_after_conv"]
    for each in (net, Training(make_method("standard"), data, recipe, CPU).net):
        assert len(parts_of(each, BlurPool)) == 4  # of two blocks, each with its shortcut
    assert load_model(f"hardy:{tmp_path / 'out'}").logits(random_images(2, 16, 16)).shape == (2, 3)


@pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0")
def test_our_nets_are_compiled_in_one_piece() -> None:
    net = WideResNet(10, 1, 3, Halving(3, after_conv=True)).eval()
    assert isinstance(net, Net)
    x = torch.rand(2, 3, 16, 16)
    with torch.no_grad():
        compiled = torch.compile(net, backend="eager", fullgraph=True)
        torch.testing.assert_close(compiled(x), net(x))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("wrn_40_3", {}, r'unknown net "wrn_40_3"; did you mean "wrn_40_2"\?'),
        ("wrn_40_2", {"antialias": 8}, r"a filter of 1 \(none\) to 7 taps, got 8"),
        (
            "wrn_40_2",
            {"antialias": 3, "blur_after_conv": True},
            r"expected either antialias or blur_after_conv, got both \(antialias 3\).*leave one",
        ),
        ("torchvision:resnet18", {"antialias": 3}, "expected antialias 3 for a net of our own"),
        (
            "timm:test_vit",
            {"blur_after_conv": True},
            r"blur_after_conv for .*got timm:test_vit, wh",
        ),
        ("torchvision:resnet51", {}, 'unknown torchvision model "resnet51"; did you mean resnet5'),
        ("timm:resnet5O", {}, 'unknown timm model "resnet5O"; did you mean resnet50'),
        ("onnx:net", {}, '"torchvision:NAME" or "timm:NAME" or "zoo:NAME", got "onnx:net"'),
    ],
)
def test_refusals(name, options, message, torchvision) -> None:
    with pytest.raises(InputError, match=message):
        make_net(name, 10, **options)
