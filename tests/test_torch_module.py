"""`hardy.torch.Corrupt`: a corruption as a step of a pipeline."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

import hardy
from hardy.errors import InputError
from hardy.torch import Corrupt
from tests.photos import random_images

IMAGES = torch.from_numpy(random_images(4, 32, 40))
CHANNELS_FIRST = IMAGES.permute(0, 3, 1, 2)


def test_it_is_corrupt_in_torchs_layout() -> None:
    made = Corrupt("shot_noise", 3, seed=5)(CHANNELS_FIRST)
    expected = hardy.corrupt(IMAGES.numpy(), "shot_noise", 3, seed=5)
    np.testing.assert_array_equal(made.permute(0, 2, 3, 1).numpy(), expected)
    assert made.shape == CHANNELS_FIRST.shape
    as_rows = Corrupt("shot_noise", 3, seed=5, layout="hwc")(IMAGES)
    np.testing.assert_array_equal(as_rows.numpy(), expected)


def test_no_two_images_share_their_randomness() -> None:
    noise = Corrupt("gaussian_noise", 1)
    same = CHANNELS_FIRST[:1].expand(3, -1, -1, -1)
    first, second = noise(same), noise(same)
    seen = {image.numpy().tobytes() for image in (*first, *second)}
    assert len(seen) == 6
    noise.restart()
    assert (noise(same) == first).all()
    assert (noise(CHANNELS_FIRST[0], ids=0) == first[0]).all()
    assert (noise(same, ids=["a", "b", "c"]) == noise(same, ids=["a", "b", "c"])).all()


class Same(torch.utils.data.Dataset):
    """One image, eight times."""

    def __init__(self) -> None:
        self.noise = Corrupt("gaussian_noise", 1)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.noise(CHANNELS_FIRST[0])


def two_epochs(seed: int, workers: int, persistent: bool = False) -> list[bytes]:
    loader = torch.utils.data.DataLoader(
        Same(),
        num_workers=workers,
        multiprocessing_context="fork" if workers else None,
        persistent_workers=persistent,
        generator=torch.Generator().manual_seed(seed),
    )
    return [image.numpy().tobytes() for _ in range(2) for image in loader]


@pytest.mark.parametrize("persistent", [False, True])
def test_nor_do_images_of_different_workers_or_epochs(persistent: bool) -> None:
    made = two_epochs(0, 2, persistent)
    assert len(set(made)) == 16
    assert two_epochs(0, 2, persistent) == made
    assert not {*two_epochs(1, 2, persistent)} & {*made}


def test_without_workers_the_loader_has_no_say() -> None:
    made = two_epochs(0, 0)
    assert len(set(made)) == 16
    assert two_epochs(1, 0) == made


def test_in_a_pipeline_that_is_compiled_or_sent_to_workers() -> None:
    pipeline = torch.nn.Sequential(Corrupt("contrast", 2))
    compiled = torch.compile(pipeline, backend="eager")
    assert (compiled(CHANNELS_FIRST) == pipeline(CHANNELS_FIRST)).all()
    assert "'contrast', 2" in repr(pickle.loads(pickle.dumps(pipeline)))


def test_it_prints_as_it_was_made() -> None:
    made = repr(Corrupt("fog", 3, seed=7, edition="224", layout="hwc"))
    assert made == "Corrupt('fog', 3, seed=7, edition='224', layout='hwc')"
    assert repr(eval(made)) == made


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Corrupt("fgo", 3), 'did you mean "fog"'),
        (lambda: Corrupt("fog", 6), "severity of 1, 2, 3, 4 or 5"),
        (lambda: Corrupt("fog", 1, edition="225"), "225"),
        (lambda: Corrupt("fog", 1, layout="nchw"), '"chw" or "hwc"'),
        (lambda: Corrupt("fog", 1)(CHANNELS_FIRST / 255), "got torch.float32; corrupt before"),
        (lambda: Corrupt("fog", 1)(IMAGES), r"\(3, H, W\) or \(N, 3, H, W\), got \(4, 32, 40, 3\)"),
        (lambda: Corrupt("fog", 1)(IMAGES.numpy()), "got ndarray"),
        (lambda: Corrupt("fog", 1)(CHANNELS_FIRST, ids=[1, 1, 2, 3]), "1 twice"),
    ],
)
def test_refusals(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
