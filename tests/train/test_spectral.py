"""APR and HybridAugment++ against NumPy's Fourier transform and SciPy's blur."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.method import Draw, make_method
from hardy.train.methods.spectral import AmplitudePhase, HybridAugment, recombined
from tests.photos import photos
from tests.train.small import CPU
from tests.train.tiny import bytes_of, linear_net, no_waiting


def pixels_of(side: int = 16) -> torch.Tensor:
    return torch.from_numpy(photos(side).copy()).permute(0, 3, 1, 2) / 255


def ready(name: str, side: int = 16, **settings: str) -> AmplitudePhase | HybridAugment:
    method = make_method(name, settings)
    method.begin(Draw(0, CPU), (3, side, side))
    return method


def by_numpy(amplitudes: np.ndarray, phases: np.ndarray) -> np.ndarray:
    """One image, (3, H, W), over all three axes."""
    strength, angle = np.abs(np.fft.fftn(amplitudes)), np.angle(np.fft.fftn(phases))
    return np.fft.ifftn(strength * np.exp(1j * angle)).real


@pytest.mark.parametrize("sides", [(16, 16), (9, 12), (7, 5)])
def test_amplitudes_of_one_and_phases_of_the_other(sides: tuple[int, int]) -> None:
    draws = np.random.default_rng(0)
    one, other = draws.random((2, 4, 3, *sides))
    made = recombined(torch.from_numpy(one), torch.from_numpy(other)).numpy()
    wanted = np.stack([by_numpy(*pair) for pair in zip(one, other, strict=True)])
    np.testing.assert_allclose(made, wanted, atol=1e-12)
    np.testing.assert_allclose(recombined(*[torch.from_numpy(one)] * 2).numpy(), one, atol=1e-12)


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_low_frequencies_are_a_blur_of_three_taps(sigma: float) -> None:
    pixels = pixels_of()
    made = ready("hybrid_augment", sigma=str(sigma)).low(pixels).numpy()
    taps = np.exp(-0.5 * (np.arange(-1, 2) / sigma) ** 2)
    kernel = np.outer(taps, taps) / taps.sum() ** 2
    wanted = ndimage.correlate(pixels.numpy(), kernel[None, None], mode="mirror")
    np.testing.assert_allclose(made, wanted, atol=1e-6)


def follows(made: np.ndarray, candidates: list[np.ndarray]) -> list[int]:
    """Which of the candidates each image is."""
    distances = [np.abs(made - one).max((1, 2, 3)) for one in candidates]
    assert np.min(distances, 0).max() < 1e-5
    return np.argmin(distances, 0).tolist()


def test_pairs_of_apr(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = pixels_of()[:4].repeat(25, 1, 1, 1)
    method = ready("apr", variant="P")
    monkeypatch.setattr(method, "shuffled", lambda images: images.flip(0))
    made, own = method.paired(pixels).numpy(), pixels.numpy()
    mixed = np.stack([by_numpy(*pair) for pair in zip(own[::-1], own, strict=True)]).clip(0, 1)
    chosen = follows(made, [own, mixed])
    assert 40 < sum(chosen) < 80  # 0.6 of 100


def test_pairs_of_hybrid_augment(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = pixels_of()[:4].repeat(50, 1, 1, 1)
    method = ready("hybrid_augment", variant="P")
    monkeypatch.setattr(method, "shuffled", lambda images: images.flip(0))
    low = method.low(pixels).numpy()
    own = pixels.numpy()
    high = (own - low)[::-1]
    other = np.stack([by_numpy(*pair) for pair in zip(low[::-1], low, strict=True)])
    chosen = follows(
        method.paired(pixels).numpy(), [own, (low + high).clip(0, 1), (other + high).clip(0, 1)]
    )
    shares = np.bincount(chosen, minlength=3) / len(chosen)
    assert shares == pytest.approx([0.4, 0.24, 0.36], abs=0.12)


def test_what_is_shuffled_is_all_of_it_in_another_order() -> None:
    numbers = torch.arange(50.0)[:, None, None, None]
    made = ready("apr").shuffled(numbers).flatten()
    assert sorted(made.tolist()) == list(range(50))
    assert made.tolist() != list(range(50))


def test_every_other_single_is_one_operation_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all operations do nothing, so does APR's S, and HybridAugment's rounds a blur."""
    images = bytes_of(40, 16)
    for name in ("apr", "hybrid_augment"):
        method = ready(name)
        monkeypatch.setattr(method, "operated", lambda images: images)
        changed = (method.view(images) - images / 255).abs().amax((1, 2, 3))
        assert changed.max() < (1.5e-6 if name == "apr" else 1.01 / 255)


def every_other(monkeypatch: pytest.MonkeyPatch, method: AmplitudePhase | HybridAugment) -> None:
    """Operations that do nothing, and turn images upside down, in turns."""
    calls: list[None] = []

    def operated(images: torch.Tensor) -> torch.Tensor:
        calls.append(None)
        return images if len(calls) % 2 else images.flip(2)

    monkeypatch.setattr(method, "operated", operated)


def test_singles_of_apr(monkeypatch: pytest.MonkeyPatch) -> None:
    images = (255 * pixels_of()[:4]).byte().repeat(50, 1, 1, 1)
    method = ready("apr")
    every_other(monkeypatch, method)
    one = images.numpy() / 255
    other = one[:, :, ::-1]
    chosen = follows(method.view(images).numpy(), [one, mixed_in(one, other), mixed_in(other, one)])
    shares = np.bincount(chosen, minlength=3) / len(chosen)
    assert shares == pytest.approx([0.5, 0.25, 0.25], abs=0.12)


def mixed_in(amplitudes: np.ndarray, phases: np.ndarray) -> np.ndarray:
    pairs = zip(amplitudes, phases, strict=True)
    return np.stack([by_numpy(*pair) for pair in pairs]).clip(0, 1)


def test_singles_of_hybrid_augment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The high frequencies of one version on the low ones of the other, which passed APR's S."""
    images = (255 * pixels_of()[:4]).byte().repeat(150, 1, 1, 1)
    method = ready("hybrid_augment")
    every_other(monkeypatch, method)
    side = np.exp(-0.5 / 0.5**2)
    taps = np.array([side, 1, side]) / (1 + 2 * side)

    def low(pixels: np.ndarray) -> np.ndarray:
        return ndimage.correlate(pixels, np.outer(taps, taps)[None, None], mode="mirror")

    one = images.numpy() / np.float32(255)
    versions = one, one[:, :, ::-1]
    candidates = [one]
    for first, second in (versions, versions[::-1]):
        blurred = method.low(torch.from_numpy(first.copy())).numpy()
        np.testing.assert_allclose(blurred, low(first), atol=1e-6)
        blurred = np.floor(255 * blurred) / 255
        high = second - low(second)
        turned = blurred[:, :, ::-1]
        for lows in (blurred, mixed_in(blurred, turned), mixed_in(turned, blurred)):
            candidates.append((lows + high).clip(0, 1))
    chosen = follows(method.view(images).numpy(), candidates)
    shares = np.bincount(chosen, minlength=7) / len(chosen)
    assert shares == pytest.approx([1 / 2, 1 / 8, 1 / 16, 1 / 16, 1 / 8, 1 / 16, 1 / 16], abs=0.05)


@pytest.mark.parametrize("name", ["apr", "hybrid_augment"])
def test_losses(name: str) -> None:
    images, labels = bytes_of(6, 8), torch.arange(6) % 3
    net = linear_net()
    for variant, wanted in (
        ("S", lambda m: functional.cross_entropy(net(m.view(images)), labels)),
        ("P", lambda m: both(m, images / 255)),
        ("PS", lambda m: both(m, m.view(images))),
    ):

        def both(method, pixels: torch.Tensor) -> torch.Tensor:
            clean = functional.cross_entropy(net(pixels), labels)
            return clean + functional.cross_entropy(net(method.paired(pixels)), labels)

        loss = ready(name, 8, variant=variant).loss(net, images, labels)
        torch.testing.assert_close(loss, wanted(ready(name, 8, variant=variant)))


@pytest.mark.parametrize("name", ["apr", "hybrid_augment"])
def test_views_and_pairs_are_pixels_and_nothing_waits(name: str, monkeypatch) -> None:
    images, method = bytes_of(12, 9), ready(name, 9)
    with no_waiting(monkeypatch):
        view = method.view(images)
        pairs = method.paired(view)
    for made in (view, pairs):
        assert made.shape == images.shape
        assert made.min() >= 0
        assert made.max() <= 1


def test_pairs_alone_show_no_operation() -> None:
    assert make_method("hybrid_augment", {"variant": "P"}).seen == ()
    assert "rotate" in make_method("hybrid_augment", {"variant": "S"}).seen


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "SP"}, 'unknown variant "SP"'),
        ({"share": "1.5"}, "expected a share from 0 to 1, got 1.5"),
        ({"sigma": "0"}, "expected sigma above 0, got 0"),
        ({"severity": "0"}, "expected severity above 0.1, got 0"),
    ],
)
def test_bad_settings(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_method("hybrid_augment", settings)
