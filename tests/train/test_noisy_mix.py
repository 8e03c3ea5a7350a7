"""NoisyMix: where features are changed, and by what."""

from __future__ import annotations

import pytest
import torch
from scipy import stats
from torch.nn import functional

from hardy.errors import InputError
from hardy.train import NETS
from hardy.train.blurpool import STRIDES
from hardy.train.method import Classifier, Draw, make_method
from hardy.train.methods.augmix import jsd
from hardy.train.methods.noisy_mix import Change, NoisyMix, stage_ends
from tests.train.small import CPU, make_narrow
from tests.train.tiny import bytes_of, no_waiting, tiny_net

HALF = (0.5, 0.5, 0.5)


def ready(seed: int = 0) -> NoisyMix:
    method = make_method("noisy_mix")
    assert isinstance(method, NoisyMix)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        method.classifier = Classifier(make_narrow(3), HALF, HALF)
    method.begin(Draw(seed, CPU), (3, 16, 16))
    return method


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("wrn_16_4", [(64, 16, 16), (128, 8, 8), (256, 4, 4)]),
        ("resnext_29_4x32", [(256, 16, 16), (512, 8, 8), (1024, 4, 4)]),
        ("densenet_40", [(160, 16, 16), (304, 8, 8), (448, 4, 4)]),
        ("resnet_18", [(64, 16, 16), (128, 8, 8), (256, 4, 4)]),
    ],
)
def test_places_are_the_ends_of_stages(name: str, shapes: list[tuple[int, ...]]) -> None:
    ends, found = stage_ends(NETS[name](3, STRIDES), (3, 16, 16))
    assert found == [(3, 16, 16), *shapes]
    assert len(ends) == 3


def test_a_net_without_stages_is_refused() -> None:
    with pytest.raises(InputError, match="noisy_mix: expected a net whose stages are known"):
        stage_ends(tiny_net(), (3, 16, 16))


def test_features_are_mixed_within_their_view_and_then_noisy() -> None:
    features = torch.arange(12.0).view(6, 2)  # three views of two images
    times, plus = torch.full((3, 2, 2), 2.0), torch.full((3, 2, 2), 0.5)
    share, order = torch.tensor([0.75]), torch.tensor([1, 0])
    made = Change(torch.tensor([True]), share, order, times, plus)(features)
    for view in range(3):
        for image in range(2):
            own, other = features[2 * view + image], features[2 * view + 1 - image]
            torch.testing.assert_close(
                made[2 * view + image], 2 * (0.75 * own + 0.25 * other) + 0.5
            )
    elsewhere = Change(torch.tensor([False]), share, order, times, plus)
    assert torch.equal(elsewhere(features), features)


def test_noises_have_their_strengths() -> None:
    method = ready()
    many = [method.noises(200, (40,)) for _ in range(300)]
    times, plus = (torch.stack(parts) for parts in zip(*many, strict=True))
    assert (plus != 0).float().mean() == pytest.approx(0.35, abs=0.01)
    assert (times != 1).float().mean() == pytest.approx(0.35, abs=0.01)
    assert (times - 1).abs().max() < 0.5
    # E[B²] of Beta(2, 5) is 3/28; a view has its number as a factor.
    for view in range(3):
        wanted = 0.35 * 0.25 * (view + 1) ** 2 * 3 / 28
        assert plus[:, view].square().mean() == pytest.approx(wanted, rel=0.2)
    assert (times - 1).square().mean() == pytest.approx(0.35 * 0.25 * 3 / 28 / 3, rel=0.15)
    drawn = torch.cat([method.beta((3,)) for _ in range(700)]).numpy()
    assert stats.kstest(drawn, stats.beta(2, 5).cdf).pvalue > 1e-3


def test_the_loss_is_mixed_by_labels_and_the_net_left_as_it_was(monkeypatch) -> None:
    images, labels = bytes_of(6, 16), torch.arange(6) % 3
    method, again = ready(), ready()
    model = method.classifier.train()
    before = model(images / 255)
    with no_waiting(monkeypatch):
        loss = method.loss(model, images, labels)
    assert torch.equal(model(images / 255), before)  # nothing is changed outside of a loss
    views = torch.cat([images / 255, *again.mixtures(images, 2)])
    share, order = again.draw.uniform(1), again.draw.uniform(6).argsort()
    chosen = int(again.draw.integers(4, 1))
    noises = [again.noises(6, shape) for shape in again.shapes]
    again.changes[chosen] = Change(torch.tensor([True]), share, order, *noises[chosen])
    logits = again.classifier.train()(views).chunk(3)
    pair = [functional.cross_entropy(logits[0], those) for those in (labels, labels[order])]
    wanted = share[0] * pair[0] + (1 - share[0]) * pair[1] + 12 * jsd(*logits)
    torch.testing.assert_close(loss, wanted)
