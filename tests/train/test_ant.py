"""Adversarial noise training: the generators, the game, what batches are made of."""

from __future__ import annotations

from itertools import repeat

import pytest
import torch
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.adversarial_noise import Generator
from hardy.train.method import Draw, make_method
from hardy.train.methods.ant import Ant, Shares
from tests.train.small import CPU, make_narrow


def ready(name: str = "ant", side: int = 8, **settings: str) -> Ant:
    method = make_method(name, {"restart_steps": "0", **settings})
    assert isinstance(method, Ant)
    method.epochs = 4
    method.begin(Draw(0, CPU), (3, side, side))
    return method


def flat(generator: Generator) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in generator.parameters()])


@pytest.mark.parametrize(("side", "parameters"), [(1, 983), (3, 4183)])
def test_generators_have_the_published_size_and_start_as_white_noise(side, parameters) -> None:
    generator = Generator(side, Draw(0, CPU))
    assert sum(weight.numel() for weight in generator.parameters()) == parameters
    white = torch.randn(2, 3, 8 + side - 1, 8 + side - 1, generator=torch.Generator())
    made = generator(white)
    assert made.shape == (2, 3, 8, 8)
    edge = side // 2
    assert (made - white[:, :, edge : 8 + edge, edge : 8 + edge]).abs().max() < 1e-2
    biases = [p for name, p in generator.named_parameters() if name.endswith("bias")]
    assert all((bias == 0).all() for bias in biases)


def test_only_the_3x3_generator_reaches_its_neighbours() -> None:
    for side, reach in ((1, 1), (3, 9)):
        generator = Generator(side, Draw(0, CPU))
        with torch.no_grad():
            for weight in generator.parameters():
                weight.fill_(0.1)
        white = torch.zeros(1, 3, 9, 9, requires_grad=True)
        made = generator(white)
        made[0, 0, made.shape[2] // 2, made.shape[3] // 2].backward()
        assert int((white.grad[0].abs().sum(0) > 0).sum()) == reach


def test_the_radius_is_the_papers_per_value_unless_it_is_set() -> None:
    assert ready(side=224).radius == pytest.approx(135)
    assert ready(side=32).radius == pytest.approx(135 / 7)
    assert ready(side=32, epsilon="4").radius == 4


def test_noise_has_the_radius() -> None:
    method = ready("ant3x3", epsilon="3")
    pixels = torch.rand(5, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    noisy = method.noisy(method.generator, pixels)
    torch.testing.assert_close((noisy - pixels).flatten(1).norm(dim=1), torch.full((5,), 3.0))


@pytest.mark.parametrize(
    ("batch", "old", "current", "replayed"),
    [
        (70, 0, 35, []),
        (70, 2, 21, [7, 7]),
        (70, 9, 21, [7, 7]),
        (70, 1, 21, [7]),
        (128, 2, 38, [13, 13]),
    ],
)
def test_shares(batch, old, current, replayed) -> None:
    found, slices = Shares().of(batch, old)
    assert found == current
    assert [part.stop - part.start for part in slices] == replayed
    if replayed:
        assert slices[0].start == current
        assert old == 1 or slices[-1].stop == batch // 2


def test_other_shares_replay_others() -> None:
    """A tenth stays clean, and of four old generators each takes a fifth, all different."""
    method = ready(clean="0.1", current="0.1", replayed="0.2")
    assert method.shares.replays == 4
    phases = []
    for epoch in range(6):
        method.phase = method._phase(epoch)
        phases.append(method.phase)
    assert phases == [0, 1, 2, 3, 3, 3]
    assert [len(method.shares.of(50, phase + 1)[1]) for phase in (1, 2, 3)] == [2, 3, 4]
    method.kept.fill_(5)
    method.old = int
    found = [tuple(method.drawn(4)) for _ in range(300)]
    assert all(len(set(some)) == 4 for some in found)
    assert {one for some in found for one in some} == set(range(5))
    assert len(set(found)) > 90  # of 120 orders


@pytest.mark.parametrize(
    "settings", [{"clean": "1"}, {"clean": "0.8"}, {"replayed": "0"}, {"current": "nan"}]
)
def test_shares_that_cannot_be(settings) -> None:
    with pytest.raises(InputError, match="expected the shares clean, current and replayed"):
        ready(**settings)


def test_what_a_batch_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each generator paints its images with its number: the current one 99, old ones their epoch,
    clean ones stay 0."""
    method = ready()
    model = make_narrow(3)

    def paint(generator, pixels):
        return torch.full_like(pixels, 99 if generator is method.generator else generator)

    monkeypatch.setattr(method, "noisy", paint)
    monkeypatch.setattr(method, "old", int)  # the number instead of the generator
    pixels = torch.zeros(70, 3, 8, 8)

    def composition() -> list[int]:
        return [int(number) for number in method.mixed(pixels)[:, 0, 0, 0]]

    method.begin_epoch(0, model, repeat(None))
    assert composition() == [99] * 35 + [0] * 35
    replayed = set()
    for epoch in range(1, 4):
        method.begin_epoch(epoch, model, repeat(None))
        assert int(method.kept) == epoch + 1
        for _ in range(40):
            made = composition()
            assert made[:21] == [99] * 21
            first, second = made[21], made[28]
            assert made[21:35] == [first] * 7 + [second] * 7
            assert first != second
            assert made[35:] == [0] * 35
            replayed |= {(epoch, first), (epoch, second)}
    # Each iteration draws anew, out of all starts so far, that of this epoch among them.
    assert replayed == {(epoch, old) for epoch in range(1, 4) for old in range(epoch + 1)}


def test_each_epoch_begins_with_a_new_generator_trained_on_its_own_batches() -> None:
    method = ready(restart_steps="3")
    asked = []

    def batches():
        while True:
            asked.append(1)
            yield torch.full((4, 3, 8, 8), 100, dtype=torch.uint8), torch.tensor([0, 1, 2, 0])

    model = make_narrow(3)
    starts = []
    for epoch in range(2):
        method.begin_epoch(epoch, model, batches())
        starts.append(flat(method.generator))
        assert float(method.adam.param_groups[0]["lr"]) == pytest.approx(1e-4)
        assert not any(t.any() for held in method.adam.state.values() for t in held.values())
        assert torch.equal(method.history[epoch], starts[-1])
    assert len(asked) == 6
    assert not torch.equal(starts[0], starts[1])


def test_the_steps_of_a_restart_can_be_watched() -> None:
    method, watched = ready(restart_steps="3"), []

    def track(steps, total, unit):
        for step in steps:
            watched.append((total, unit))
            yield step

    method.track = track
    batch = torch.full((4, 3, 8, 8), 100, dtype=torch.uint8), torch.tensor([0, 1, 2, 0])
    method.begin_epoch(1, make_narrow(3), repeat(batch))
    assert watched == [(3, "steps of a new generator for epoch 2 of 4")] * 3


def test_an_old_generator_makes_the_noise_it_made() -> None:
    method = ready("ant3x3")
    white = torch.randn(2, 3, 10, 10, generator=torch.Generator().manual_seed(0))
    then = []
    for epoch in range(2):
        method.begin_epoch(epoch, make_narrow(3), repeat(None))
        then.append(method.generator(white).detach())
    assert not torch.equal(then[0], then[1])
    for epoch in range(2):
        assert torch.equal(method.old(torch.tensor(epoch))(white), then[epoch])


def test_the_generators_step_leaves_the_classifier_as_it_is_and_the_history_too() -> None:
    method, model = ready(), make_narrow(3).train()
    method.begin_epoch(0, model, repeat(None))
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    before = {name: tensor.clone() for name, tensor in method.generator.state_dict().items()}
    start = flat(method.generator)
    pixels = torch.rand(6, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    method.fool(model, pixels, torch.arange(6) % 3)
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(weights[name], t) for name, t in model.state_dict().items())
    now = method.generator.state_dict()
    assert all(not torch.equal(part, now[name]) for name, part in before.items())
    assert torch.equal(method.history[0], start)


def test_the_classifiers_loss_reaches_no_generator() -> None:
    method, model = ready(), make_narrow(3).train()
    method.begin_epoch(0, model, repeat(None))
    images = torch.full((8, 3, 8, 8), 100, dtype=torch.uint8)
    loss = method.loss(model, images, torch.arange(8) % 3)
    for weight in method.generator.parameters():
        weight.grad = None
    loss.backward()
    assert all(weight.grad is None for weight in method.generator.parameters())
    assert all(parameter.grad is not None for parameter in model.parameters())


class Brightness(torch.nn.Module):
    """Two classes, dark and bright: what a shift of all pixels fools best."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(20.0))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        bright = self.scale * (pixels.mean((1, 2, 3)) - 0.5)
        return torch.stack([-bright, bright], 1)


@pytest.mark.parametrize("name", ["ant", "ant3x3"])
def test_the_generator_learns_to_fool_better_than_gaussian_noise(name) -> None:
    method = ready(name, epsilon="2", restart_lr="0.01")
    images = torch.full((64, 3, 8, 8), 115, dtype=torch.uint8)
    labels = torch.zeros(64, dtype=torch.int64)  # dark
    model, pixels = Brightness(), images.float() / 255

    def loss() -> float:
        with torch.no_grad():
            noisy = method.noisy(method.generator, pixels)
            return float(functional.cross_entropy(model(noisy), labels))

    method.begin_epoch(0, model, repeat((images, labels)))
    gaussian = loss()
    method.restart_steps = 60
    method.begin_epoch(1, model, repeat((images, labels)))
    assert loss() > 3 * gaussian


def test_a_radius_out_of_reach() -> None:
    with pytest.raises(InputError, match=r"epsilon of at most 13\.86.* got 1e\+300"):
        ready(epsilon="1e300")
