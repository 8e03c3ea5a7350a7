"""Hardy's own method: its views, its loss, and what its settings switch."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.method import Classifier, Draw, as_shares, make_method
from hardy.train.methods.augmix import jsd
from hardy.train.methods.best import Best
from tests.train.small import CPU
from tests.train.tiny import bytes_of, linear_net, no_waiting

HALF = (0.5, 0.5, 0.5)


def ready(**settings: str) -> Best:
    method = make_method("best", settings)
    assert isinstance(method, Best)
    method.classifier, method.batch = Classifier(linear_net(), HALF, HALF), 6
    method.begin(Draw(0, CPU), (3, 8, 8))
    return method


@pytest.mark.parametrize("clean", [0, 1])
@pytest.mark.parametrize("shares", [False, True])
def test_the_loss_of_best(clean: int, shares: bool) -> None:
    images, labels = bytes_of(6), torch.arange(6) % 3
    targets = as_shares(labels, 3, 0.1) if shares else labels
    method, again = (ready(clean=str(clean), jsd="5") for _ in range(2))
    loss = method.loss(method.classifier, images, targets)
    views = [*again.both(images), images / 255][: 2 + clean]
    logits = [again.classifier(view) for view in views]
    right = sum(functional.cross_entropy(one, targets) for one in logits) / len(views)
    torch.testing.assert_close(loss, right + 5 * jsd(*logits))


def test_views_are_made_without_waiting_and_are_bytes_in_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    method, images = ready(views="hybrid_augment+prime+patch_uniform"), bytes_of(6)
    with no_waiting(monkeypatch):
        first, second = method.both(images)
    for made in (first, second):
        assert made.shape == images.shape
        assert made.min() >= 0
        assert made.max() <= 1
        assert (made != images / 255).flatten(1).any(1).all()
    assert not torch.equal(first, second)
    torch.testing.assert_close(first * 255, (first * 255).round(), atol=1e-4, rtol=0)


def test_each_method_changes_a_share_of_the_images() -> None:
    images = bytes_of(200)
    for share, low, high in (("0", 0, 0), ("0.5", 70, 130), ("1", 190, 200)):
        made = ready(share=share, views="prime").shown(images)
        assert low <= int((made != images / 255).flatten(1).any(1).sum()) <= high


def test_the_second_view_has_high_frequencies_of_others() -> None:
    images = bytes_of(200)
    first, second = ready(share="0").both(images)
    torch.testing.assert_close(first, images / 255)
    changed = (second - images / 255).abs().flatten(1).amax(1) > 1e-3
    assert 90 < int(changed.sum()) < 150  # 0.6 of them
    assert torch.equal(*ready(share="0", paired="0").both(images))
    one = ready(share="0", paired="1").view(images)  # as for AFA's first half
    assert int(((one - images / 255).abs().flatten(1).amax(1) > 1e-3).sum()) > 190


def test_the_state_of_the_methods_is_kept_with_each_checkpoint() -> None:
    method, again = (ready(views="prime+pix_mix") for _ in range(2))
    digest = torch.arange(32, dtype=torch.uint8)
    method.partners.methods["pix_mix"].restore({"fractals": digest})
    assert {*method.state()} == {"pix_mix.fractals"}
    again.restore(method.state())
    assert torch.equal(again.state()["pix_mix.fractals"], digest)


def test_what_has_been_seen_follows_the_views() -> None:
    operations = set(Best().seen)
    assert "noc_rotation" in operations
    assert not operations & {"elastic_transform", "gaussian_noise", "brightness"}
    assert set(Best(warp=1).seen) == operations | {"elastic_transform", "noc_elastic"}
    assert Best(views="prime+patch_uniform").seen == ()
    assert {"brightness", "contrast"} < set(Best(views="pix_mix").seen)
    assert Best(share=0.0).seen == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"views": "augmix+gauss_single"}, "best: expected in views .* got gauss_single"),
        ({"views": "augmix+augmix"}, r"each method of views once, got augmix\+augmix"),
        ({"views": "augmax"}, 'unknown method "augmax"; did you mean "augmix"'),
        ({"share": "1.5"}, "expected share from 0 to 1, got 1.5"),
        ({"paired": "nan"}, "expected paired from 0 to 1, got nan"),
        ({"jsd": "inf"}, "expected finite jsd of at least 0, got inf"),
        ({"clean": "2"}, "expected clean as 0 or 1, got 2"),
        ({"warp": "3"}, "expected warp as 1, or 0 for no warps, got 3"),
    ],
)
def test_what_best_refuses(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_method("best", settings)
