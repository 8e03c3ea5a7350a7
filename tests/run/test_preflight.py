from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from scipy.stats import binomtest
from sklearn.datasets import load_digits

import hardy
from hardy.errors import InputError
from hardy.models import Preprocessing, load_model
from hardy.models.adapters.function_model import FakeModel
from hardy.models.model import AS_TRAINED, ModelFacts, Override
from hardy.models.normalisations import NORMALISATIONS
from hardy.run.chance import binomial_tail, share_at_random
from hardy.run.preflight import STANDARD, check, check_not_learnt
from tests.models.tiny import tiny
from tests.photos import random_images

INCEPTION = Preprocessing(**STANDARD["Inception's (−1..1)"]._asdict())
IMAGENET = Preprocessing(**STANDARD["ImageNet's"]._asdict())


def digits():
    """Real handwriting: uint8 (1797, 8, 8, 3) and labels, in a fixed order."""
    found = load_digits()
    grey = np.round(found.images * 255 / 16).astype(np.uint8)
    order = np.random.default_rng(0).permutation(len(grey))
    return np.repeat(grey[order][..., None], 3, axis=-1), found.target[order]


@pytest.fixture(scope="module")
def trained():
    """A small network, trained for a second on digits scaled to −1..1."""
    images, labels = digits()
    pixels = torch.tensor(images[:1200]).permute(0, 3, 1, 2).float() / 127.5 - 1
    target = torch.tensor(labels[:1200])
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(576, 10),
        )
    steps = torch.optim.Adam(network.parameters(), 0.01)
    for _ in range(60):
        chosen = torch.randint(0, 1200, (128,), generator=generator)
        loss = torch.nn.functional.cross_entropy(network(pixels[chosen]), target[chosen])
        steps.zero_grad()
        loss.backward()
        steps.step()
    return network, images[1200:1500], labels[1200:1500]


def test_the_right_normalisation_passes(trained):
    network, images, labels = trained
    found = check(load_model(network, preprocessing=INCEPTION), images, labels)
    assert found.accuracy > 0.85
    assert found.images == 300
    assert found.warnings == ()


def test_what_a_model_was_trained_with_is_not_doubted(trained):
    network, images, labels = trained
    doubtful = Preprocessing((0, 0, 0), (1, 1, 1))
    known = replace(doubtful, source=AS_TRAINED)
    assert check(load_model(network, preprocessing=doubtful), images, labels).warnings
    assert check(load_model(network, preprocessing=known), images, labels).warnings == ()


def test_a_wrong_normalisation_is_noticed_and_the_right_one_named(trained):
    network, images, labels = trained
    right = check(load_model(network, preprocessing=INCEPTION), images, labels).accuracy
    wrong = Preprocessing((0, 0, 0), (1, 1, 1), source="a guess")
    found = check(load_model(network, preprocessing=wrong, name="mine"), images, labels)
    assert found.accuracy < right - 0.1
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith(
        f"mine: {100 * found.accuracy:.1f} % of 300 clean images are right"
    )
    assert "mean 0 0 0, std 1 1 1 (a guess), but" in found.warnings[0]
    assert f"{100 * right:.1f} % with Inception's (−1..1) normalisation" in found.warnings[0]
    assert found.warnings[0].endswith('override its preprocessing: `preprocessing="tf"`')


def test_the_advice_can_be_followed_whatever_was_given():
    """What has a name goes by it, since --preprocess refuses --mean and --std beside it."""
    images, labels = bright(200)
    right = Override(named="unit").onto(IMAGENET)
    for given in (Override(named="caffe"), Override(mean=(0.7,) * 3, std=(0.9,) * 3)):
        model = load_model(Bands(right), preprocessing=given.onto(IMAGENET))
        (warning,) = check(model, images, labels).warnings
        assert warning.endswith('`preprocessing="unit"` in place of the normalisation given')
    cifar = Preprocessing(**STANDARD["CIFAR-10's"]._asdict())
    model = load_model(Bands(cifar), preprocessing=Override(named="caffe").onto(IMAGENET))
    (warning,) = check(model, images, labels).warnings
    assert "`mean=0.4914,0.4822,0.4465` `std=0.247,0.2435,0.2616` in place of" in warning


class Bands(torch.nn.Module):
    """Knows ten levels of brightness in the units of one normalisation, and no other."""

    def __init__(self, trained_with: Preprocessing) -> None:
        super().__init__()
        levels = (torch.arange(10) + 0.5) / 10
        units = (levels - trained_with.mean[0]) / trained_with.std[0]
        self.register_buffer("centres", units)
        self.width = 0.1 / trained_with.std[0]
        self.red = 2 if trained_with.bgr else 0

    def forward(self, pixels):
        return -(((pixels[:, self.red].mean((1, 2))[:, None] - self.centres) / self.width) ** 2)


def bright(number, seed=0):
    generator = np.random.default_rng(seed)
    levels = generator.integers(0, 256, number)
    noise = generator.integers(-20, 21, (number, 8, 8, 3))
    images = np.clip(levels[:, None, None, None] + noise, 0, 255).astype(np.uint8)
    labels = np.minimum(images[..., 0].mean(axis=(1, 2)) / 25.5, 9).astype(int)
    return images, labels


@pytest.mark.parametrize("title", STANDARD)
def test_each_standard_is_found_where_another_was_used(title):
    images, labels = bright(200)
    right = Preprocessing(**STANDARD[title]._asdict(), size=8)
    module = Bands(right)
    assert check(load_model(module, preprocessing=right), images, labels).warnings == ()
    wrong = Preprocessing((0.7, 0.7, 0.7), (0.9, 0.9, 0.9), size=8)
    (warning,) = check(load_model(module, preprocessing=wrong), images, labels).warnings
    assert f"100.0 % with {title} normalisation" in warning
    names = [name for name, one in NORMALISATIONS.items() if one == STANDARD[title]]
    asked = f'`preprocessing="{names[0]}"`' if names else f"`mean={right.mean[0]:.6g},"
    assert asked in warning


def test_red_first_is_asked_for_by_name_where_blue_came_first():
    """A mean and a std would leave the order as it is."""
    images, labels = bright(200)
    model = load_model(Bands(INCEPTION), preprocessing=replace(IMAGENET, bgr=True))
    (warning,) = check(model, images, labels).warnings
    assert 'override its preprocessing: `preprocessing="tf"`' in warning


def test_a_difference_that_chance_can_make_is_no_warning():
    images, labels = bright(200)
    model = load_model(Bands(INCEPTION), preprocessing=IMAGENET)
    assert check(model, images, labels).warnings != ()
    assert check(model, images[:8], labels[:8]).warnings == ()


class Stated(FakeModel):
    """A fake whose library states an accuracy."""

    def __init__(self, known_accuracy: float) -> None:
        super().__init__(10)
        self.facts = ModelFacts(known_accuracy=known_accuracy)


@pytest.mark.parametrize(
    ("accuracy", "warning"),
    [
        (0.80, ""),
        (0.77, ""),
        (0.60, "of 400 clean images are right, where its library states 80.0 % for these weights"),
        (0.99, "are these images that it was trained on"),
    ],
)
def test_the_published_accuracy_is_expected(accuracy, warning):
    model = Stated(0.80)
    images = random_images(400, 8, 8)
    found = check(model, images, model.labels(images, accuracy))
    assert abs(found.accuracy - accuracy) < 0.05
    assert len(found.warnings) == bool(warning)
    assert warning in "".join(found.warnings)


def test_a_small_difference_is_no_warning_however_certain():
    model = Stated(0.80)
    images = random_images(20_000, 8, 8)
    found = check(model, images, model.labels(images, 0.78))
    assert 0.77 < found.accuracy < 0.79
    assert binomial_tail(round(found.accuracy * 20_000), 20_000, 0.80) < 1e-6
    assert found.warnings == ()


def test_a_model_at_its_published_accuracy_is_asked_once():
    class Counting(Stated):
        preprocessing = IMAGENET
        calls = 0

        def logits(self, images, preprocessing=None):
            self.calls += 1
            return super().logits(images)

    images = random_images(100, 8, 8)
    good, bad = Counting(1.0), Counting(1.0)
    check(good, images, good.labels(images))
    check(bad, images, (bad.labels(images) + 1) % 10)
    assert (good.calls, bad.calls) == (2, 2 + len(STANDARD) - 1)  # one each for the labels


def test_images_without_a_label_are_left_out():
    model = FakeModel(10)
    images = random_images(20, 8, 8)
    labels = model.labels(images)
    labels[5:] = -1
    assert check(model, images, labels) == (1.0, 5, ())
    assert check(model, images, np.full(20, -1)) == (None, 0, ())
    with pytest.raises(InputError, match=r"expected 20 labels, one per image, got \(19,\)"):
        check(model, images, labels[:19])


def test_what_chance_makes_of_the_same_answers():
    generator = np.random.default_rng(0)
    guessed, truth = generator.choice(5, 400, p=[0.6, 0.2, 0.1, 0.1, 0]), np.arange(400) ** 2 % 5
    shuffled = [np.mean(generator.permutation(guessed) == truth) for _ in range(2000)]
    assert share_at_random(guessed, truth) == pytest.approx(np.mean(shuffled), abs=0.003)


@pytest.mark.parametrize(("hits", "number", "share"), [(3, 10, 0.5), (180, 300, 0.8), (0, 5, 0.3)])
def test_the_tail_of_the_binomial(hits, number, share):
    tails = [binomtest(hits, number, share, side).pvalue for side in ("less", "greater")]
    assert binomial_tail(hits, number, share) == pytest.approx(min(1, 2 * min(tails)), rel=1e-9)


def test_a_number_of_classes_that_does_not_fit_is_an_error_and_no_doubt(tmp_path):
    doubts: list[str] = []
    with pytest.raises(InputError, match="expected logits for 10 classes, got 5"):
        hardy.evaluate(
            tiny(),
            suite="cifar10_c",
            images=random_images(40, 32, 32),
            labels=np.arange(40) % 10,
            store=tmp_path / "runs",
            warn=doubts.append,
        )
    assert doubts == []
    assert not (tmp_path / "runs").exists()


def test_a_model_without_its_weights_is_noticed():
    """Right as often as a coin among its classes: most likely the checkpoint was forgotten."""

    class Guess:
        name, identity, device, precision = "guess", "guess", "cpu", "float32"
        preprocessing = Preprocessing((0.5,) * 3, (0.5,) * 3)

        def __init__(self, right: float) -> None:
            self.right = right

        def logits(self, images, preprocessing=None):
            chance = np.random.default_rng(0).random(len(images))
            guessed = np.where(chance < self.right, 0, 1 + np.arange(len(images)) % 3)
            return np.eye(4, dtype=np.float32)[guessed] * 9 - 1

    images, labels = np.zeros((200, 8, 8, 3), np.uint8), np.zeros(200, np.int64)
    (told,) = check(Guess(0.25), images, labels).warnings
    assert (
        "no better than chance among 4 classes; is it trained, and are its classes numbered" in told
    )
    torch_module = Guess(0.25)
    torch_module.facts = ModelFacts(takes_tensors=True)
    (told,) = check(torch_module, images, labels).warnings
    assert "no better than chance among 4 classes; are its weights loaded (`checkpoint`)" in told
    ours = Guess(0.25)  # with sizes that somebody typed, too
    ours.facts = ModelFacts(takes_tensors=True, trained_on="photographs")
    (told,) = check(ours, images, labels).warnings
    assert "no better than chance among 4 classes; was it trained for long enough" in told
    assert check(Guess(0.6), images, labels).warnings == ()


def test_permuted_classes_are_told_as_such_and_no_normalisation_is_blamed():
    """Under another normalisation it is right as often as by chance, which is far more often."""
    labels = np.arange(60) % 3

    class Permuted:
        name, identity, device, precision = "permuted", "permuted", "cpu", "float32"
        preprocessing = IMAGENET

        def logits(self, images, preprocessing=None):
            guessed = (labels + 1) % 3
            if preprocessing is not None:  # without its normalisation it sees nothing
                guessed = np.random.default_rng(3).permutation(labels)
            return np.eye(3, dtype=np.float32)[guessed] * 9 - 1

    images = np.zeros((60, 8, 8, 3), np.uint8)
    (told,) = check(Permuted(), images, labels).warnings
    assert told.startswith(
        "permuted: 0.0 % of 60 clean images are right, fewer than by chance among"
    )
    assert told.endswith(
        "seem to be in another order than the images'; give these a label map (`labels`)"
    )


def test_one_answer_for_all_images_is_no_order_of_classes():
    """The images do not have that class; under other normalisations it is one that they have."""

    class Stuck:
        name, identity, device, precision = "stuck", "stuck", "cpu", "float32"
        preprocessing = IMAGENET

        def logits(self, images, preprocessing=None):
            answer = 3 if preprocessing is None else 0
            return np.tile(np.eye(4, dtype=np.float32)[answer] * 9 - 1, (len(images), 1))

    images = np.zeros((90, 8, 8, 3), np.uint8)
    (told,) = check(Stuck(), images, np.arange(90) % 3).warnings
    assert "no better than chance among 4 classes" in told


def test_outputs_that_are_no_numbers_are_not_called_probabilities():
    class Broken:
        name, identity, device, precision = "broken", "broken", "cpu", "float32"
        preprocessing = IMAGENET

        def logits(self, images, preprocessing=None):
            return np.full((len(images), 3), np.nan, np.float32)

    assert check(Broken(), np.zeros((60, 8, 8, 3), np.uint8), np.arange(60) % 3).warnings == ()


def test_images_that_a_net_has_learnt() -> None:
    source = "60 images of 3 classes, folder photos"

    def said(described: str) -> str | None:
        variants = SimpleNamespace(describe=lambda: described)
        return check_not_learnt(source, cast(Any, variants), "net")

    for described in (f"{source}, imagenet_c on the fly", f"20 of {source} taken as they are, x"):
        assert "net was trained on these images" in str(said(described))
    assert said("60 images of 3 classes, folder photos2, imagenet_c on the fly") is None
    assert (
        check_not_learnt(None, cast(Any, SimpleNamespace(describe=lambda: source)), "net") is None
    )
