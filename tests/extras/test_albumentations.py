"""Corruptions in pipelines of albumentations itself."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import hardy
from hardy.errors import InputError
from tests.cells import middle
from tests.photos import random_images

albumentations = pytest.importorskip(
    "albumentations", reason="needs albumentations: make test-extras"
)
from hardy.hooks import AlbumentationsCorrupt  # noqa: E402

# It warns of other libraries, which is no fault of ours.
pytestmark = pytest.mark.filterwarnings("default")
IMAGE = random_images(1, 32, 40)[0]


def noise(seed: int | None = 7, **options: Any) -> Any:
    steps = [AlbumentationsCorrupt("gaussian_noise", [1, 2, 3], **{"p": 1, **options})]
    return albumentations.Compose(steps, seed=seed)


@pytest.mark.parametrize("name", hardy.corruptions())
def test_every_corruption_is_a_transform(name: str) -> None:
    steps = albumentations.ReplayCompose([AlbumentationsCorrupt(name, middle(name), p=1)])
    found = steps(image=IMAGE, mask=IMAGE[..., 0])
    drawn = found["replay"]["transforms"][0]["params"]["draw"]
    expected = hardy.corrupt(IMAGE, name, middle(name), seed=drawn, ids=0)
    np.testing.assert_array_equal(found["image"], expected)
    np.testing.assert_array_equal(found["mask"], IMAGE[..., 0])


def test_it_follows_the_seed_of_albumentations() -> None:
    first, again, other = noise(), noise(), noise(seed=8)
    made = [first(image=IMAGE)["image"].tobytes() for _ in range(10)]
    assert len(set(made)) == 10
    assert [again(image=IMAGE)["image"].tobytes() for _ in range(10)] == made
    assert other(image=IMAGE)["image"].tobytes() not in made
    np.random.seed(0)
    torch.manual_seed(0)
    first.set_random_seed(7)
    assert first(image=IMAGE)["image"].tobytes() == made[0], "and of no other generator"


def test_each_image_gets_one_of_several_or_none() -> None:
    several = AlbumentationsCorrupt(["contrast", "brightness"], [1, 5], p=0.5)
    steps = albumentations.Compose([several], seed=0)
    seen = {steps(image=IMAGE)["image"].tobytes() for _ in range(100)}
    cells = [(name, severity) for name in ("contrast", "brightness") for severity in (1, 5)]
    made = {hardy.corrupt(IMAGE, *cell).tobytes() for cell in cells}
    assert seen == made | {IMAGE.tobytes()}


def test_it_is_written_down_and_replayed() -> None:
    steps = noise(edition="cifar")
    written = json.loads(json.dumps(albumentations.to_dict(steps)))
    again = albumentations.from_dict(written)
    assert repr(again.transforms) == repr(steps.transforms)
    again.set_random_seed(7)
    np.testing.assert_array_equal(again(image=IMAGE)["image"], steps(image=IMAGE)["image"])
    replayed = albumentations.ReplayCompose(steps.transforms)
    found = replayed(image=IMAGE)
    second = albumentations.ReplayCompose.replay(found["replay"], image=IMAGE)
    np.testing.assert_array_equal(second["image"], found["image"])


class Same(torch.utils.data.Dataset):
    """One image, eight times."""

    def __init__(self, seed: int | None) -> None:
        self.noise = noise(seed)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> np.ndarray:
        return self.noise(image=IMAGE)["image"]


def two_epochs(seed: int | None, loader_seed: int, persistent: bool) -> list[bytes]:
    loader = DataLoader(
        Same(seed),
        batch_size=2,
        num_workers=2,
        multiprocessing_context="fork",
        persistent_workers=persistent,
        generator=torch.Generator().manual_seed(loader_seed),
    )
    return [image.numpy().tobytes() for _ in range(2) for batch in loader for image in batch]


@pytest.mark.parametrize("persistent", [False, True])
def test_no_two_workers_or_epochs_draw_the_same(persistent: bool) -> None:
    made = two_epochs(7, 0, persistent)
    assert len(set(made)) == 16
    assert two_epochs(7, 0, persistent) == made
    assert not {*two_epochs(7, 1, persistent)} & {*made}
    assert not {*two_epochs(8, 0, persistent)} & {*made}
    assert len(set(two_epochs(None, 0, persistent))) == 16


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AlbumentationsCorrupt("fgo", 3), 'did you mean "fog"'),
        (lambda: AlbumentationsCorrupt("fog", 6), "severity of 1, 2, 3, 4 or 5"),
        (lambda: AlbumentationsCorrupt([], 1), "at least one corruption"),
        (lambda: noise()(image=IMAGE.astype(np.float32) / 255), "float32"),
    ],
)
def test_refusals(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
