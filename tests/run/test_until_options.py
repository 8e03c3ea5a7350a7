"""`until` and `at_most` as they are typed: what is taken, and what is refused before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hardy
from hardy.errors import InputError
from hardy.run.sample_limits import Limits, read_limits
from hardy.scores.sample_looks import read_targets
from tests.suites.helpers import write_photos, write_rows


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        (None, Limits()),
        (5000, Limits(5000)),
        ("50,000", Limits(50_000)),
        ("90s", Limits(seconds=90)),
        ("1.5h", Limits(seconds=5400)),
        ("10 min", Limits(seconds=600)),
    ],
)
def test_limits_that_can_be_typed(text: Any, limits: Limits) -> None:
    assert read_limits(text) == limits


@pytest.mark.parametrize("text", ["", "0", "10d", "-3", "ten", True])
def test_limits_that_cannot(text: Any) -> None:
    with pytest.raises(InputError, match="expected `at_most` as a number of predictions"):
        read_limits(text)


def test_targets_that_can_be_typed() -> None:
    assert read_targets(0.5) == read_targets("0.5") == {"": 0.5}
    assert read_targets("mCE=0.5, clean error=.3") == {"mCE": 0.5, "clean error": 0.3}
    assert read_targets({"mCE": 1}) == {"mCE": 1.0}
    for text in ("0", "mCE", "mCE=", -1, "nan", True, "=1", " =1", "mCE=1,=2", {"": 1}, {3: 1}, {}):
        with pytest.raises(InputError, match="expected `until` as points above 0"):
            read_targets(text)
    with pytest.raises(InputError, match=r'"mCE=0.5,clean error=0.3", got \'nan\'$'):
        read_targets({"mCE": float("nan")})
    with pytest.raises(InputError, match='expected each score once in `until`, got "mCE" twice'):
        read_targets("mCE=1, mCE=2")


@pytest.mark.parametrize("width", [float("nan"), 0, -1, float("inf"), True, "0.5"])
def test_a_difference_is_points(width: object) -> None:
    with pytest.raises(InputError, match=r"expected `until` as points above 0, such as 0\.5, got"):
        hardy.compare("fake:10", "fake:11", suite="cifar10_c", until=width)


UNKNOWN = ["mean eror", "error fogg", "mFR", "error fog (difficulty x)", "ECE", "mCE", "CE fog"]


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_score_is_told_before_any_prediction(name: str) -> None:
    with pytest.raises(InputError, match="unknown score for `until`"):
        hardy.evaluate("fake:10", suite="cifar10_c", images="nowhere.npz", until={name: 1})


@pytest.mark.parametrize(
    ("suite", "name"),
    [
        ("cifar10_c", "error speckle_noise"),
        ("imagenet_c", "mCE"),
        ("imagenet_p", "FP tilt (difficulty 2)"),
    ],
)
def test_a_score_that_may_come_is_waited_for(suite: str, name: str) -> None:
    with pytest.raises(InputError, match=r"there is no file or folder nowhere\.npz"):
        hardy.evaluate("fake:10", suite=suite, images="nowhere.npz", until={name: 1})


@pytest.mark.parametrize(
    ("suite", "name", "how"),
    [
        ("cifar10_c", "validation error", {}),
        ("cifar10_c", "error snow", {}),
        ("imagenet_c", "mCE", {"own_classes": True}),
    ],
)
def test_a_score_that_these_cells_have_not_is_told_before_any_prediction(
    suite: str, name: str, how: dict[str, Any], tmp_path: Path
) -> None:
    images = write_rows(tmp_path) if suite == "cifar10_c" else write_photos(tmp_path / "val")
    some = {"images": images, "only": ["fog"], "store": tmp_path / "runs", **how}
    with pytest.raises(InputError, match="unknown score for `until`"):
        hardy.evaluate("fake:2", suite=suite, until={name: 1}, **some)
    assert not (tmp_path / "runs").exists()
