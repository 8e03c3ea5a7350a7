"""PixMix: its mixtures against their formulas, and the fractals that it mixes with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from hardy.errors import HardyError, InputError
from hardy.train import fractals
from hardy.train.fractals import cached_fractals, digest_of, make_fractals
from hardy.train.method import Draw, make_method
from hardy.train.methods.pix_mix import PixMix, mix_rounds
from tests.train.small import CPU
from tests.train.tiny import bytes_of, no_waiting, tiny_net


def ready(side: int = 16, **settings: str) -> PixMix:
    method = make_method("pix_mix", {"fractals": "4", **settings})
    assert isinstance(method, PixMix)
    method.begin(Draw(0, CPU), (3, side, side))
    method.begin_epoch(0, tiny_net(), iter(()))
    return method


def test_rounds_of_mixing() -> None:
    draws = torch.Generator().manual_seed(0)
    pixels, partners = (
        torch.rand(5, 3, 4, 4, generator=draws),
        torch.rand(4, 5, 3, 4, 4, generator=draws),
    )
    partners[0, 4] = 0.0
    a = torch.rand(4, 5, 1, 1, 1, generator=draws) + 0.5
    b = torch.rand(4, 5, 1, 1, 1, generator=draws) - 0.5
    adds = (torch.arange(20) % 3 == 0).view(4, 5, 1, 1, 1)
    rounds = torch.arange(5)
    made = mix_rounds(pixels, partners, rounds, a, b, adds).numpy()
    for image in range(5):
        x = pixels[image].double().numpy()
        for step in range(int(rounds[image])):
            y = np.maximum(partners[step, image].double().numpy(), 1e-37)
            first, second = float(a[step, image]), float(b[step, image])
            if adds[step, image]:
                x = (first * (2 * x - 1) + second * (2 * y - 1) + 1) / 2
            else:
                x = (2 * x) ** first * (2 * y) ** second / 2
            x = x.clip(0, 1)
        np.testing.assert_allclose(made[image], x, atol=1e-5)


def test_laws_of_the_weights() -> None:
    first, second = (one.flatten().numpy() for one in ready(beta="3").powers(4000))
    assert ((first <= 1) == (second >= 0)).all()
    below = first <= 1
    assert below.mean() == pytest.approx(0.5, abs=0.04)
    for values, law in (
        (first[below], stats.beta(3, 1)),
        (second[below], stats.beta(1, 3)),
        (first[~below] - 1, stats.beta(1, 3)),
        (-second[~below], stats.beta(1, 3)),
    ):
        assert stats.kstest(values, law.cdf).pvalue > 1e-3


def test_views_are_pixels_and_nothing_waits_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    images, method = bytes_of(40, 16), ready()
    with no_waiting(monkeypatch):
        made = method.view(images)
    assert made.shape == images.shape
    assert made.min() >= 0
    assert made.max() <= 1
    same = (made == images / 255).flatten(1).all(1)
    assert 0 < int(same.sum()) < 20  # no round and no operation: one in ten


def test_crops_lie_anywhere_in_a_fractal() -> None:
    method = ready()
    assert method.side == 18
    method.pictures = torch.arange(4 * 18 * 18).view(4, 1, 18, 18).expand(-1, 3, -1, -1)
    corners = method.crops(500, 16, 16)[:, 0, 0, 0]
    places = {(n, r, c) for n in range(4) for r in range(3) for c in range(3)}
    assert set(corners.tolist()) == {(n * 18 + r) * 18 + c for n, r, c in places}


def test_fractals_are_functions_of_their_number() -> None:
    made = make_fractals(np.arange(6), 24)
    assert made.shape == (6, 3, 24, 24)
    np.testing.assert_array_equal(make_fractals(np.arange(3, 5), 24), made[3:5])
    assert len({picture.tobytes() for picture in made}) == 6
    assert (made.reshape(6, -1).std(1) > 10).all()  # there is something on them


@pytest.mark.parametrize("damage", ["cut", "other", "flipped"])
def test_a_cache_that_is_not_whole_is_made_anew(
    damage: str, own_fractals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = cached_fractals(3, 12).clone()  # which else would be read from the file, as it is
    (path,) = own_fractals.glob("3-of-12px*")
    whole = path.read_bytes()
    content = {
        "cut": whole[: len(whole) // 2],
        "other": b"something else",
        "flipped": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
    }
    path.write_bytes(content[damage])
    assert torch.equal(cached_fractals(3, 12), made)
    assert path.read_bytes() == whole
    monkeypatch.setattr(fractals, "make_fractals", None)  # from now on it is read
    assert torch.equal(cached_fractals(3, 12), made)


def test_a_run_goes_on_with_its_own_fractals_only() -> None:
    method = make_method("pix_mix", {"fractals": "4"})
    method.begin(Draw(0, CPU), (3, 16, 16))
    method.restore({"fractals": digest_of(torch.zeros(4, 3, 18, 18).byte())})
    with pytest.raises(HardyError, match="fractals of this machine are not those"):
        method.begin_epoch(1, tiny_net(), iter(()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"fractals": "0"}, "at least 1 fractal, got 0"), ({"beta": "0"}, "expected beta above 0")],
)
def test_bad_settings_of_pix_mix(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_method("pix_mix", settings)
