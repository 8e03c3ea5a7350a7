"""`hardy.torch.Corrupt`: a corruption as a step of a pipeline."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.torch import Corrupt
from tests.cells import middle
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
    several = repr(Corrupt(["fog", "snow"], [1, 2], p=0.5, floats=True))
    assert several.endswith("layout='chw', p=0.5, floats=True)")
    assert repr(eval(several)) == several


SEVERAL = {"name": ["gaussian_noise", "contrast"], "severity": [1, 5], "seed": 3}


def test_each_image_gets_one_of_several_by_seed_and_id() -> None:
    same, ids = CHANNELS_FIRST[:1].expand(40, -1, -1, -1), [f"{number}" for number in range(40)]
    made = Corrupt(**SEVERAL)(same, ids=ids)
    cells = [(name, severity) for name in SEVERAL["name"] for severity in SEVERAL["severity"]]
    seen = set()
    for image, id in zip(made, ids, strict=True):
        alone = {
            cell: hardy.corrupt(IMAGES[0].numpy(), *cell, seed=3, ids=id).tobytes()
            for cell in cells
        }
        (cell,) = (c for c in cells if alone[c] == image.permute(1, 2, 0).numpy().tobytes())
        seen.add(cell)
    assert seen == set(cells)
    assert (Corrupt(**SEVERAL)(same[:7], ids=ids[30:37]) == made[30:37]).all(), "in any batch"
    assert (Corrupt(**SEVERAL | {"seed": 4})(same, ids=ids) != made).any()


def test_a_probability_leaves_some_images_as_they_are() -> None:
    same = CHANNELS_FIRST[:1].expand(200, -1, -1, -1)
    made = Corrupt("contrast", 5, p=0.25)(same)
    changed = (made != same).flatten(1).any(1)
    assert 25 < changed.sum() < 75
    assert (made[changed] == Corrupt("contrast", 5)(same)[changed]).all()
    assert (Corrupt("contrast", 5, p=0)(same) == same).all()
    again = Corrupt("contrast", 5, p=0.25)
    assert (torch.stack([again(image) for image in same]) == made).all()


def test_pil_images_come_back_as_such() -> None:
    photo = Image.fromarray(IMAGES[0].numpy())
    made = Corrupt("gaussian_noise", 2, seed=5)(photo, ids="cat")
    expected = hardy.corrupt(photo, "gaussian_noise", 2, seed=5, ids="cat")
    assert made.tobytes() == expected.tobytes()
    noise = Corrupt("gaussian_noise", 2)
    assert noise(photo).tobytes() != noise(photo).tobytes()
    grey = Corrupt("gaussian_noise", 2, p=0)(photo.convert("L"))
    assert (grey.mode, grey.size) == ("RGB", photo.size), "whether corrupted or not"


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_floats_are_rounded_to_bytes_and_back(dtype: torch.dtype) -> None:
    given = (CHANNELS_FIRST.double() / 255).to(dtype)
    made = Corrupt("shot_noise", 3, seed=5, floats=True)(given)
    expected = Corrupt("shot_noise", 3, seed=5)(CHANNELS_FIRST)
    assert made.dtype == dtype
    assert (made == (expected.float() / 255).to(dtype)).all()
    between = (given * 0.999)[:, :, :, :8]
    kept = Corrupt("shot_noise", 3, p=0, floats=True)(between)
    assert (kept == between).all(), "what is not corrupted is not rounded"


def test_floats_between_two_bytes() -> None:
    steps = torch.tensor([0.49, 0.5, 0.51, 1.5, 254.6]) / 255
    given = steps.repeat(8, 2)[None].expand(3, -1, -1)
    rows = torch.tensor([0, 0, 1, 2, 255], dtype=torch.uint8).repeat(8, 2)[None].expand(3, -1, -1)
    made = Corrupt("contrast", 1, floats=True)(given)
    assert (made * 255 == Corrupt("contrast", 1)(rows)).all()


def test_a_pipeline_of_torchvision_in_workers(torchvision) -> None:
    from torchvision.datasets import FakeData
    from torchvision.transforms import v2

    corrupt = Corrupt(["gaussian_noise", "contrast"], [1, 3], p=0.5)
    floats = [v2.ToDtype(torch.float32, scale=True)]
    for steps in (
        [corrupt, v2.ToImage(), *floats],
        [v2.ToImage(), corrupt, *floats],
        [v2.ToImage(), *floats, pickle.loads(pickle.dumps(Corrupt("fog", [1, 2], floats=True)))],
    ):
        pictures = FakeData(8, (3, 32, 40), transform=v2.Compose(steps))
        loader = torch.utils.data.DataLoader(
            pictures, batch_size=4, num_workers=1, multiprocessing_context="fork"
        )
        batches = [images for images, _ in loader]
        assert [(tuple(one.shape), one.dtype) for one in batches] == [
            ((4, 3, 32, 40), torch.float32)
        ] * 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Corrupt("fgo", 3), 'did you mean "fog"'),
        (lambda: Corrupt("fog", 6), "severity of 1, 2, 3, 4 or 5"),
        (lambda: Corrupt("fog", 1, edition="225"), "225"),
        (lambda: Corrupt("fog", 1, layout="nchw"), '"chw" or "hwc"'),
        (lambda: Corrupt("fog", 1)(CHANNELS_FIRST / 255), "got torch.float32; corrupt before"),
        (lambda: Corrupt("fog", 1)(CHANNELS_FIRST / 255), "floats=True if 0 is black, 1 white"),
        (lambda: Corrupt("fog", 1, floats=True)(CHANNELS_FIRST / 250), "0 to 1, got 0 to 1.02;"),
        (lambda: Corrupt("fog", 1, floats=True)(CHANNELS_FIRST / 0), "0 to 1, got nan"),
        (lambda: Corrupt("fog", 1, floats=True)(CHANNELS_FIRST.long()), "got torch.int64"),
        (lambda: Corrupt("fog", 1, p=1.5), "probability p from 0 to 1, got 1.5"),
        (lambda: Corrupt([], 1), "at least one corruption and severity"),
        (lambda: Corrupt(["fog", "fgo"], 3), 'did you mean "fog"'),
        (lambda: Corrupt("fog", [3, 6]), "severity of 1, 2, 3, 4 or 5"),
        (lambda: Corrupt("fog", 1)(IMAGES), r"\(3, H, W\) or \(N, 3, H, W\), got \(4, 32, 40, 3\)"),
        (lambda: Corrupt("fog", 1)(IMAGES.numpy()), "got ndarray"),
        (lambda: Corrupt("fog", 1)(CHANNELS_FIRST, ids=[1, 1, 2, 3]), "1 twice"),
    ],
)
def test_refusals(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("name", hardy.corruptions())
def test_every_corruption_is_a_transform_of_torchvision(torchvision, name: str) -> None:
    """PIL images, tensors and torchvision's own images give one another's bytes, with a label."""
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    rows = np.ascontiguousarray(IMAGES[0].numpy())
    corrupt = Corrupt(name, middle(name), seed=9)
    expected = hardy.corrupt(rows, name, middle(name), seed=9, ids=0)
    pixels = CHANNELS_FIRST[0]
    for image in (Image.fromarray(rows), pixels, tv_tensors.Image(pixels)):
        corrupt.restart()
        made, label = v2.Compose([v2.Identity(), corrupt])(image, 5)
        assert (type(made), label) == (type(image), 5)
        np.testing.assert_array_equal(v2.ToImage()(made).permute(1, 2, 0).numpy(), expected)
