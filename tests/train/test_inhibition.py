"""Group-wise inhibition against its formulas, written out image by image."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.loop import Training, run_training
from hardy.train.method import Classifier, Draw, make_method
from hardy.train.methods import inhibition
from hardy.train.methods.inhibition import GroupwiseInhibition, cluster, mean_of, overlaps
from hardy.train.nets.wide_resnets import WideResNet
from tests.photos import random_images
from tests.train.small import CPU, NARROW, narrow, small_data

__all__ = ["narrow"]


def random_maps(images: int, channels: int, side: int) -> torch.Tensor:
    """Maps of low rank, so that they are alike in groups."""
    draws = torch.Generator().manual_seed(0)
    rough = torch.randn(images, channels, 3, generator=draws) ** 3
    return (rough @ torch.randn(images, 3, side * side, generator=draws)).relu()


def groups_of(maps: np.ndarray, centres: list[int]) -> list[int] | None:
    """K-means of one image with centres on distinct maps, as one would write it down. None where
    rounding decides: the mean of a group of two is as near to the one as to the other."""

    def nearest(centres: list[int]) -> list[int]:
        return [int(np.argmin([((m - maps[c]) ** 2).sum() for c in centres])) for m in maps]

    for _ in range(50):
        groups, moved = nearest(centres), []
        for number, centre in enumerate(centres):
            own = [m for m, group in zip(maps, groups, strict=True) if group == number]
            mean = np.mean(own, 0) if own else maps[centre]
            distances = {c: ((maps[c] - mean) ** 2).sum() for c in range(len(maps))}
            free = sorted((c for c in distances if c not in moved), key=distances.__getitem__)
            if np.isclose(distances[free[0]], distances[free[1]], rtol=1e-9):
                return None
            moved.append(free[0])
        shift = sum(np.linalg.norm(maps[a] - maps[b]) for a, b in zip(centres, moved, strict=True))
        centres = moved
        if shift**2 < 1e-4:
            break
    return nearest(centres)


def test_clusters() -> None:
    count = 24
    maps = random_maps(count, 80, 6).double()
    first = torch.rand(count, 80, generator=torch.Generator().manual_seed(1)).topk(6, 1).indices
    members = cluster(maps, first)
    assert members.shape == (count, 6, 80)
    assert (members.sum(1) == 1).all()
    wanted = [groups_of(*each) for each in zip(maps.numpy(), first.tolist(), strict=True)]
    decided = [number for number, groups in enumerate(wanted) if groups is not None]
    assert len(decided) > count / 2
    for number in decided:
        assert members[number].argmax(0).tolist() == wanted[number]
    assert not torch.equal(members, cluster_of_rounds(maps, first, 1))  # one round is not enough


def cluster_of_rounds(maps: torch.Tensor, first: torch.Tensor, rounds: int) -> torch.Tensor:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inhibition, "ROUNDS", rounds)
        return cluster(maps, first)


def test_each_centre_takes_a_map_of_its_own() -> None:
    """The first of three centres nearest to the last map gets it."""
    distances = torch.tensor([[[3.0, 2.0, 1.0], [1.5, 9.0, 1.0], [0.0, 9.0, -5.0]]])
    assert inhibition._snapped(distances).tolist() == [[2, 0, 1]]


def test_maps_that_are_all_the_same() -> None:
    """As dead channels are: there is one group then, and nothing breaks."""
    members = cluster(torch.zeros(2, 9, 4), torch.arange(6).expand(2, 6))
    assert members.sum(2).tolist() == [[9, 0, 0, 0, 0, 0]] * 2


def test_what_has_settled_stays_whatever_the_others_do() -> None:
    maps = random_maps(30, 40, 6)
    first = torch.rand(30, 40, generator=torch.Generator().manual_seed(2)).topk(6, 1).indices
    members = cluster(maps, first)
    others = torch.cat([maps[:15], random_maps(15, 40, 6)])
    assert torch.equal(cluster(others, first)[:15], members[:15])
    assert torch.equal(cluster_of_rounds(maps, first, 50), members)


def test_clusters_that_hardly_move_are_settled() -> None:
    """Where the first shift of all is small, it is the last one."""
    maps = 1e-6 * random_maps(4, 40, 6)
    first = torch.rand(4, 40, generator=torch.Generator().manual_seed(1)).topk(6, 1).indices
    assert torch.equal(cluster(maps, first), cluster_of_rounds(maps, first, 1))
    larger = cluster(1e6 * maps, first)
    assert not torch.equal(cluster(maps, first), larger)


def test_masks() -> None:
    draws = torch.Generator().manual_seed(0)
    maps, weights = torch.rand(3, 5, 16, generator=draws), torch.randn(3, 5, generator=draws)
    groups = torch.tensor([[0, 1, 1, 2, 0], [0, 0, 0, 1, 2], [1, 1, 1, 1, 1]])
    members = (groups[:, None] == torch.arange(3)[:, None]).float()
    masks = inhibition.inhibition(maps, weights, members)
    seen = set()
    for image in range(3):
        for group in range(3):
            own = [c for c in range(5) if groups[image, c] == group]
            wanted = np.ones(16)
            if own and float(weights[image, own].sum()) > 0:
                m = sum(float(weights[image, c]) * maps[image, c].double().numpy() for c in own)
                wanted = 1 / (1 + np.exp((m - m.mean()) / (m.std() + 1e-8)))
            seen.add(bool((wanted == 1).all()))
            for channel in own:
                np.testing.assert_allclose(masks[image, channel], wanted, atol=1e-5)
    assert seen == {True, False}


def test_masks_are_low_where_the_evidence_is() -> None:
    maps = torch.tensor([[[0.0, 0.0, 0.0, 4.0]]])
    mask = inhibition.inhibition(maps, torch.ones(1, 1), torch.ones(1, 1, 1))[0, 0]
    assert mask[3] < 0.2
    assert (mask[:3] > 0.5).all()


def test_overlaps_leave_out_empty_groups() -> None:
    maps = torch.tensor([[[1.0, 0.0], [3.0, 0.0], [-1.0, 5.0]]])
    members = torch.tensor([[[1.0, 1, 0], [0, 0, 1], [0, 0, 0]]])
    products, pairs = overlaps(maps, members)
    assert float(pairs.sum()) == 1
    assert float(mean_of(products, pairs)) == 2.0  # |(2, 0) · (−1, 5)|
    assert float(mean_of(products, 0 * pairs)) == 0.0


def ready(net: nn.Module, **settings: str) -> GroupwiseInhibition:
    method = make_method("groupwise_inhibition", settings)
    method.classifier = Classifier(net, (0.5,) * 3, (0.5,) * 3).train()
    method.all_steps = 1000
    method.begin(Draw(0, CPU), (3, 16, 16))
    return method


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(random_images(8, 16, 16)).permute(0, 3, 1, 2), torch.arange(8) % 3


def test_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Written out, with the eight images' groups given."""
    torch.manual_seed(0)
    net = WideResNet(10, 1, 3)
    for norm in net.modules():
        if isinstance(norm, nn.BatchNorm2d):  # so that the two modes differ
            norm.running_mean.normal_(0, 0.1)
            norm.running_var.uniform_(0.5, 2)
    method, (images, labels) = ready(net), batch()
    members = torch.zeros(8, 6, 32)
    members[:, torch.arange(32) % 6, torch.arange(32)] = 1
    monkeypatch.setattr(inhibition, "cluster", lambda maps, first: members)
    before = deepcopy(net.state_dict())  # the second pass changes running means
    loss = method.extra_loss(method.classifier, images, labels)
    assert method.classifier.training
    names, weights = zip(*net.named_parameters(), strict=True)
    found = torch.autograd.grad(loss, weights)
    net.load_state_dict(before)

    x = images / 127.5 - 1
    net.eval()
    features = net.before(x).detach().requires_grad_()
    logits = net.after(features)
    slopes = torch.autograd.grad(logits[torch.arange(8), labels].sigmoid().sum(), features)[0]
    right = logits.argmax(1) == labels
    assert 0 < int(right.sum()) < 8
    mask = inhibition.inhibition(features.flatten(2), slopes.mean((2, 3)), members).detach()
    net.train()
    made = net.before(x)
    masked = net.after(made * mask.view_as(made))
    wanted = 0.1 * functional.cross_entropy(masked[right], labels[right])
    flat = made.flatten(2)[right]
    means = [flat[:, group::6].mean(1) for group in range(6)]
    pairs = [(means[a] * means[b]).sum(1).abs() for a in range(6) for b in range(a)]
    wanted = wanted + 1e-3 * torch.stack(pairs).mean()
    torch.testing.assert_close(loss, wanted)
    for name, one, other in zip(names, found, torch.autograd.grad(wanted, weights), strict=True):
        torch.testing.assert_close(one, other, msg=name)


def test_nothing_right_is_no_loss() -> None:
    net = WideResNet(10, 1, 3)
    method, (images, _) = ready(net), batch()
    net.eval()
    with torch.no_grad():
        wrong = (net(images / 127.5 - 1).argmax(1) + 1) % 3
    loss = method.extra_loss(method.classifier, images, wrong)
    assert float(loss.detach()) == 0.0
    loss.backward()
    assert all(float(weight.grad.abs().sum()) == 0 for weight in net.parameters())


def test_mixed_precision_reaches_all_weights() -> None:
    torch.manual_seed(0)
    net = WideResNet(10, 1, 3)
    method, (images, labels) = ready(net), batch()
    with torch.autocast("cpu", torch.bfloat16):
        loss = method.extra_loss(method.classifier, images, labels)
    loss.backward()
    assert loss.dtype == torch.float32
    for name, weight in net.named_parameters():
        assert float(weight.grad.abs().sum()) > 0, name


def test_when() -> None:
    method = make_method("groupwise_inhibition")
    assert [step for step in range(510) if method.has_extra(step)] == [501, 504, 507]
    assert not method.seen


@pytest.mark.usefixtures("narrow")
def test_it_trains(tmp_path) -> None:
    """Extra steps change the weights, and it learns with them."""
    data, recipe = small_data(tmp_path), replace(NARROW, epochs=6, batch=16)
    settings = {"start": "4", "every": "2"}
    log = run_training("groupwise_inhibition", data, tmp_path / "a", recipe, settings=settings).log
    assert log[-1]["loss"] < 0.6 * np.log(3)
    without = run_training("standard", data, tmp_path / "b", recipe).log
    assert log[0]["loss"] == without[0]["loss"]
    assert log[-1]["loss"] != without[-1]["loss"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"start": "-1"}, "expected start of at least 0, got -1"),
        ({"every": "0"}, "expected every of at least 1, got 0"),
        ({"groups": "1"}, "expected groups of at least 2, got 1"),
    ],
)
def test_refusals(settings, message) -> None:
    with pytest.raises(InputError, match=message):
        make_method("groupwise_inhibition", settings)


def test_a_net_without_stages_is_refused(tmp_path, torchvision) -> None:
    method = make_method("groupwise_inhibition")
    recipe = replace(NARROW, net="torchvision:squeezenet1_1")
    with pytest.raises(InputError, match=r"next-to-last stage is known, .*, got SqueezeNet"):
        Training(method, small_data(tmp_path), recipe, CPU)
