"""The method `corrupted`: which images it changes, and how."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import hardy
from hardy.corrupt import CORRUPTIONS
from hardy.corrupt import passes as engine
from hardy.design.designed_suite import suite_toml
from hardy.engine.rng import derive_key
from hardy.errors import InputError
from hardy.suites import load
from hardy.train.loop import run_training
from hardy.train.method import Draw, make_method
from hardy.train.methods.corrupted import Corrupted
from hardy.train.run_folder import read_run
from tests.photos import random_images
from tests.train.small import CPU, NARROW, narrow, small_data

__all__ = ["narrow"]

IMAGES = torch.from_numpy(random_images(41, 32, 32))


def method(**settings: str) -> Corrupted:
    made = make_method("corrupted", {"corruption": "gaussian_noise", **settings})
    assert isinstance(made, Corrupted)
    made.begin(Draw(0, CPU), (3, 32, 32))
    return made


def changed(made: torch.Tensor) -> list[int]:
    return torch.nonzero((made != IMAGES).flatten(1).any(1)).flatten().tolist()


def test_another_half_in_each_epoch() -> None:
    halves = [changed(method().epoch_images(epoch, IMAGES)) for epoch in range(30)]
    assert {len(half) for half in halves} == {20}
    assert len({tuple(half) for half in halves}) == 30
    # Over 30 epochs every image is seen both ways, each about as often.
    often = np.bincount(np.concatenate(halves), minlength=41)
    assert often.min() >= 5
    assert often.max() <= 25


def test_the_same_again_and_another_with_another_seed() -> None:
    first = method().epoch_images(3, IMAGES)
    assert torch.equal(first, method().epoch_images(3, IMAGES))
    other = method()
    other.begin(Draw(1, CPU), (3, 32, 32))
    assert not torch.equal(first, other.epoch_images(3, IMAGES))


def test_the_bytes_are_the_engines_at_all_severities() -> None:
    suite = load("cifar10_c")
    made = method().epoch_images(2, IMAGES)
    found = []
    for row in changed(made):
        for level in (1, 2, 3, 4, 5):
            key = derive_key(0, "training epoch 2/cifar", "gaussian_noise", level)
            expected = engine.run_pass(
                CORRUPTIONS["gaussian_noise"],
                IMAGES[row : row + 1].numpy(),
                suite.edition.params("gaussian_noise", level),
                key=key,
                ids=np.array([row], np.uint64),
            )
            if np.array_equal(expected[0], made[row].numpy()):
                found.append(level)
    assert len(found) == 20
    assert set(found) == {1, 2, 3, 4, 5}


def test_a_fresh_draw_for_each_epoch_and_none_that_a_test_sees() -> None:
    one, two = (method().epoch_images(epoch, IMAGES) for epoch in (0, 1))
    both = sorted({*changed(one)} & {*changed(two)})
    assert both
    for row in both:
        assert not torch.equal(one[row], two[row])
        for level in (1, 2, 3, 4, 5):
            tested = hardy.corrupt(IMAGES[row].numpy(), "gaussian_noise", level, ids=row)
            assert not np.array_equal(tested, one[row].numpy())


def test_none_is_clean() -> None:
    made = make_method("corrupted", {"corruption": "none"})
    made.begin(Draw(0, CPU), (3, 1, 1))
    assert made.epoch_images(0, IMAGES) is IMAGES
    assert made.seen == ()


def test_that_nothing_is_to_be_corrupted_has_to_be_said(tmp_path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(suite_toml("cifar10_c", "mine", ["contrast", "fog"], "x"))
    words = r"by `settings`, corruption=NAME \(contrast, fog\), or corruption=none for clean"
    with pytest.raises(InputError, match=words):
        make_method("corrupted", {"suite": str(path)})


def test_the_data_stay_clean() -> None:
    before = IMAGES.clone()
    method().epoch_images(0, IMAGES)
    assert torch.equal(IMAGES, before)


def test_a_run_says_what_it_has_seen(tmp_path, narrow) -> None:
    settings = {"corruption": "contrast", "suite": "cifar10_c"}
    run_training(
        "corrupted", small_data(tmp_path / "data"), tmp_path / "out", NARROW, settings=settings
    )
    run = read_run(tmp_path / "out")
    assert run["seen_corruptions"] == ["contrast"]
    suite_hash = load("cifar10_c").content_hash()
    assert run["method"] == {"name": "corrupted", "suite_hash": suite_hash, **settings}


def test_a_suite_of_the_users_is_known_by_its_contents(tmp_path, narrow) -> None:
    """Wherever its file lies, and not by what it is called."""
    data, out = small_data(tmp_path / "data"), tmp_path / "out"
    text = suite_toml("cifar10_c", "mine", ["contrast", "fog"], "x")
    for place in ("a", "b", "c"):
        (tmp_path / place).mkdir()
        changed_in_c = text.replace("fog", "snow") if place == "c" else text
        (tmp_path / place / "mine.toml").write_text(changed_in_c)
    settings = {"corruption": "contrast", "suite": str(tmp_path / "a/mine.toml")}
    run_training("corrupted", data, out, NARROW, settings=settings)
    assert read_run(out)["method"]["suite"] == "mine"
    (tmp_path / "a/mine.toml").unlink()
    again = settings | {"suite": str(tmp_path / "b/mine.toml")}
    assert run_training("corrupted", data, out, NARROW, settings=again).epochs == 0
    other = settings | {"suite": str(tmp_path / "c/mine.toml")}
    with pytest.raises(InputError, match=r"another run: method\.suite_hash is '"):
        run_training("corrupted", data, out, NARROW, settings=other)


def test_the_suite_is_read_once(tmp_path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(suite_toml("cifar10_c", "mine", ["gaussian_noise"], "x"))
    made = method(suite=str(path))
    path.unlink()
    assert len(changed(made.epoch_images(0, IMAGES))) == 20


def test_unknown_names() -> None:
    with pytest.raises(InputError, match='unknown corruption of cifar10_c "fogg"; did you mean'):
        method(corruption="fogg")
    with pytest.raises(InputError, match='unknown suite "cifar10"'):
        method(suite="cifar10")
    with pytest.raises(InputError, match='unknown setting of corrupted "seed"'):
        method(seed="1")
