"""The two networks of DeepAugment: their layers, and what is done to features and codes, image by
image against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from hardy.train.method import Draw
from hardy.train.methods import auto_encoder, edsr
from hardy.train.methods.auto_encoder import AutoEncoder, change_code, kernels
from hardy.train.methods.edsr import Edsr, change_head
from hardy.train.methods.image_networks import new_network
from tests.train.small import CPU


class Chosen(Draw):
    """Draws as usual, but for the first whole numbers: the same for all images."""

    def __init__(self, *first: int) -> None:
        super().__init__(0, CPU)
        self.first = list(first)
        self.whole: list[Tensor] = []
        self.uniforms: list[Tensor] = []

    def integers(self, below: int, *shape: int) -> Tensor:
        drawn = super().integers(below, *shape)
        if self.first:
            drawn = torch.full_like(drawn, self.first.pop(0))
        self.whole.append(drawn)
        return drawn

    def uniform(self, *shape: int) -> Tensor:
        self.uniforms.append(super().uniform(*shape))
        return self.uniforms[-1]


def random_of(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def test_networks_have_the_counted_sizes() -> None:
    with torch.device("meta"):
        sizes = [sum(one.numel() for one in made().parameters()) for made in (Edsr, AutoEncoder)]
        assert Edsr().enlarge(torch.zeros(2, 3, 16, 12)).shape == (2, 3, 64, 48)
    assert sizes == [1_517_571, 2_241_859]


def test_the_sound_edsr_is_its_layers() -> None:
    net, pixels = new_network("edsr"), torch.rand(1, 3, 6, 6)
    weights = net.state_dict()

    def conv(x: Tensor, name: str) -> Tensor:
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return functional.conv2d(x, weight, bias, padding=1)

    mean = torch.tensor([0.4488, 0.4371, 0.4040]).view(1, 3, 1, 1)
    head = features = conv(255 * (pixels - mean), "head.0")
    for block in range(16):
        inner = conv(features, f"body.{block}.body.0").relu()
        features = features + conv(inner, f"body.{block}.body.2")
    made = head + conv(features, "body.16")
    for name in ("tail.0.0", "tail.0.2"):
        made = functional.pixel_shuffle(conv(made, name), 2)
    with torch.no_grad():
        torch.testing.assert_close(net.enlarge(pixels), conv(made, "tail.1") / 255 + mean)


def test_layers_of_the_auto_encoder_have_the_sizes_of_the_table() -> None:
    net, seen = new_network("cae"), []
    for part in net.modules():
        if isinstance(part, torch.nn.Conv2d | torch.nn.ConvTranspose2d):
            part.register_forward_hook(lambda part, given, made: seen.append(tuple(made.shape[1:])))
    pixels = torch.rand(1, 3, 64, 64)
    with torch.no_grad():
        made = net.through(pixels, Draw(0, CPU))
    assert made.shape == pixels.shape
    inner, outer = [(128, 16, 16)] * 6, [(128, 32, 32)] * 6
    assert seen[:9] == [(64, 32, 32), (128, 16, 16), *inner, (32, 16, 16)]
    assert seen[9:17] == [(64, 14, 14), (128, 32, 32), *outer]
    assert seen[17:] == [(32, 30, 30), (256, 64, 64), (16, 62, 62), (3, 64, 64)]


def test_edges_are_mirrored() -> None:
    features = random_of(2, 3, 5, 6)
    wanted = functional.pad(features, (2, 2, 2, 2), mode="reflect")
    assert torch.equal(auto_encoder._Mirrored()(features), wanted)


def test_bits_are_drawn_by_the_code_and_pass_the_gradient() -> None:
    net, draw = new_network("cae"), Chosen()
    seen = []
    net.d_up_conv_1[0].register_forward_pre_hook(lambda part, given: seen.append(given[0]))
    codes = []
    net.e_conv_3.register_forward_hook(lambda part, given, made: codes.append(made))
    net.through(torch.rand(2, 3, 32, 32), draw).sum().backward()
    (bits,), (code,), (chance,) = seen, codes, draw.uniforms
    wanted = np.where(chance.numpy() <= (1 + code.detach().numpy()) / 2, 1, -1)
    np.testing.assert_allclose(bits.detach().numpy(), wanted, atol=1e-6)
    assert net.e_conv_1[1].weight.grad.abs().sum() > 0


@pytest.mark.parametrize("side", [1, 5, 16])
def test_images_of_any_size_come_back(side) -> None:
    pixels = torch.rand(3, 3, side, side + 2)
    with torch.no_grad():
        for kind in ("edsr", "cae"):
            made = new_network(kind)(pixels, Draw(0, CPU))
            assert made.shape == pixels.shape
            assert torch.isfinite(made).all()


def test_channels_of_the_head_take_others_places() -> None:
    head, draw = random_of(4, 64, 3, 3), Chosen(0)
    made = change_head(head, draw)
    pairs = draw.whole[1]
    for image in range(4):
        wanted = list(head[image])
        for place, other in pairs[:, :, image, 0].tolist():
            wanted[place] = wanted[other]
        assert torch.equal(made[image], torch.stack(wanted))


@pytest.mark.parametrize(("change", "share", "factor"), [(1, 0.05, 0), (2, 0.025, -1)])
def test_activations_of_the_head_are_zeroed_or_negated(change, share, factor) -> None:
    head = random_of(4, 64, 16, 16)
    made = change_head(head, Chosen(change))
    changed = made != head
    assert float(changed.float().mean()) == pytest.approx(share, rel=0.1)
    assert torch.equal(made[changed], factor * head[changed])


def test_a_head_may_stay() -> None:
    head = random_of(4, 64, 3, 3)
    assert torch.equal(change_head(head, Chosen(3)), head)


def by_hand(net: Edsr, head: Tensor, change: int, third: bool, skipped: list[int]) -> Tensor:
    """What the body makes of one image."""
    if change == 3:
        last = max(number for number in range(17) if number not in skipped)
        return net.body[last](head)
    x = head
    for number, part in enumerate(net.body):
        if number == 5:
            if change == 0:
                x = -x
            if change == 1:
                x = x.clamp(min=0) if third else x * (1 + torch.erf(x / 2**0.5)) / 2
            if change == 2:
                x = x.flip((1, 2) if third else (1, 3))
        x = part(x)
    return x


@pytest.mark.parametrize("change", range(5))
@pytest.mark.parametrize("third", [True, False])
def test_the_body_is_changed_as_listed(change, third) -> None:
    net, head = new_network("edsr"), random_of(6, 64, 4, 4)
    draw = Chosen(change, 0 if third else 2)
    with torch.no_grad():
        made = net.through_body(head, draw)
        skipped = (2 + draw.whole[2]).T.tolist()
        for image in range(6):
            one = head[image : image + 1]
            wanted = by_hand(net, one, change, third, skipped[image])
            torch.testing.assert_close(made[image : image + 1], wanted)


@pytest.mark.parametrize(
    ("skipped", "last"), [((2, 3, 4), 16), ((16, 16, 9), 15), ((16, 15, 2), 14), ((14, 16, 15), 13)]
)
def test_of_skipped_parts_the_last_that_is_left_counts(skipped, last) -> None:
    class Skipping(Chosen):
        def integers(self, below: int, *shape: int) -> Tensor:
            if len(shape) == 2:
                return torch.tensor(skipped).view(3, 1) - 2
            return super().integers(below, *shape)

    net, head = new_network("edsr"), random_of(1, 64, 4, 4)
    with torch.no_grad():
        made = net.through_body(head, Skipping(3, 0))
        torch.testing.assert_close(made, net.body[last](head))


def changed_code(number: int, *more: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, Chosen]:
    code, draw = random_of(5, 32, 6, 6).tanh(), Chosen(number, *more)
    made, louder = change_code(code, draw)
    return code.numpy(), made.numpy(), louder.numpy(), draw


def test_bits_are_made_louder() -> None:
    code, made, louder, draw = changed_code(0)
    np.testing.assert_array_equal(made, code)
    u, r = draw.uniforms[:2]
    np.testing.assert_allclose(louder, 3 + 4 * u.numpy() * r.numpy(), rtol=1e-6)
    assert changed_code(5)[2].max() == 1


@pytest.mark.parametrize(("number", "share", "factor"), [(1, 0.2, 0), (2, 0.1, -1)])
def test_places_of_the_code_are_zeroed_or_negated(number, share, factor) -> None:
    code, made, _, draw = changed_code(number)
    chosen = draw.uniforms[2].numpy() < share
    assert chosen.any()
    np.testing.assert_array_equal(made, np.where(chosen, factor * code, code))


def test_the_first_channels_change_places() -> None:
    code, made, _, draw = changed_code(3)
    for image in range(5):
        order = np.argsort(draw.uniforms[3][image].numpy())
        np.testing.assert_array_equal(made[image, :10], code[image, :10][order])
    np.testing.assert_array_equal(made[:, 10:], code[:, 10:])


@pytest.mark.parametrize("axes", range(3))
@pytest.mark.parametrize("number", [4, 5])
def test_channels_are_flipped(number, axes) -> None:
    code, draw = random_of(5, 32, 6, 6), Chosen(number)
    turned = draw.integers

    def fixed(below: int, *shape: int) -> Tensor:
        return torch.full(shape, axes) if below == 3 else turned(below, *shape)

    draw.integers = fixed  # type: ignore[method-assign]
    made = change_code(code, draw)[0].numpy()
    where = ((1,), (2,), (1, 2))[axes]
    for image in range(5):
        wanted = code[image].numpy().copy()
        drawn = range(32) if number == 5 else draw.whole[1][image, 0].tolist()
        for channel in drawn:
            wanted[channel] = np.flip(wanted[channel], [axis - 1 for axis in where])
        np.testing.assert_array_equal(made[image], wanted)


@pytest.mark.parametrize("number", [5, 6, 7, 8])
def test_codes_are_convolved(number, monkeypatch) -> None:
    own = random_of(5, 32, 32, 3, 3)
    monkeypatch.setattr(auto_encoder, "kernels", lambda change, channels, draw: own)
    code, made, _, _ = changed_code(number)
    wanted = [
        functional.conv2d(torch.from_numpy(code[image : image + 1]), own[image], padding=1)
        for image in range(5)
    ]
    alike = np.allclose(made, torch.cat(wanted).numpy(), atol=1e-4)
    assert alike == (number >= 6)


def test_kernels_of_noise() -> None:
    made = kernels(torch.full((9,), 6), 8, Draw(0, CPU))
    noise = made.clone()
    noise[:, range(8), range(8), 1, 1] -= 1
    assert noise.min() >= -0.1
    assert noise.max() <= 0.1
    assert float(noise.std()) == pytest.approx(0.2 / 12**0.5, rel=0.05)


def test_kernels_of_further_taps() -> None:
    made = kernels(torch.full((200,), 7), 8, Draw(0, CPU))
    assert (made[:, range(8), range(8), 1, 1] == 1).all()
    taps = made.sum((2, 3, 4))
    assert set(taps.unique().tolist()) == {1, 2}
    # One in 72 of the further taps is where there was one.
    assert float((taps == 2).float().mean()) == pytest.approx(0.5 * 71 / 72, abs=0.04)


def test_kernels_of_shifts() -> None:
    made = kernels(torch.full((400,), 8), 8, Draw(0, CPU))
    off = made.clone()
    off[:, range(8), range(8)] = 0
    assert not off.any()
    places = made[:, range(8), range(8)].flatten(2)
    assert (places.sum(2) == 1).all()
    moved = places.argmax(2)
    anew = (moved[:, 1:] != moved[:, :-1]).float().mean()
    assert float(anew) == pytest.approx(0.2 * 8 / 9, abs=0.02)
    assert torch.bincount(moved[:, 0], minlength=9).min() > 20


def test_a_convolved_code_is_its_formula() -> None:
    code = random_of(3, 8, 5, 5)
    own = kernels(torch.tensor([6, 7, 8]), 8, Draw(0, CPU))
    made = auto_encoder.convolve(code, own, torch.ones(3, dtype=torch.int64))
    for image in range(3):
        wanted = functional.conv2d(code[image : image + 1], own[image], padding=1)
        torch.testing.assert_close(made[image : image + 1], wanted)


def test_each_image_is_changed_by_itself() -> None:
    """All changes occur, and each as often as the others."""
    draw = Chosen()
    change_code(random_of(900, 32, 2, 2), draw)
    change_head(random_of(900, 64, 1, 1), draw)
    counts = torch.bincount(draw.whole[0].flatten(), minlength=9)
    assert counts.min() > 70
    heads = next(one for one in draw.whole[1:] if one.shape == (900, 1, 1, 1) and one.max() == 3)
    assert torch.bincount(heads.flatten()).tolist() == pytest.approx([225] * 4, rel=0.2)


def test_both_learn() -> None:
    pixels = torch.rand(4, 3, 2, 2).repeat_interleave(8, 2).repeat_interleave(8, 3)
    for kind in ("edsr", "cae"):
        net, draw = new_network(kind), Draw(0, CPU)
        adam = torch.optim.Adam(net.parameters(), 1e-3)
        losses = []
        for _ in range(12):
            adam.zero_grad()
            losses.append(net.objective(pixels, draw))
            losses[-1].backward()
            adam.step()
        assert losses[-1] < 0.7 * losses[0], kind


def test_edsr_learns_to_enlarge_what_is_a_quarter_as_large() -> None:
    net, pixels = new_network("edsr"), torch.rand(2, 3, 8, 8)
    with torch.no_grad():
        small = pixels.view(2, 3, 2, 4, 2, 4).mean((3, 5))
        wanted = (net.enlarge(small) - pixels).abs().mean()
        torch.testing.assert_close(net.objective(pixels, Draw(0, CPU)), wanted)
    assert edsr.SCALE == 4
