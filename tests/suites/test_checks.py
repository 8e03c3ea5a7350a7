"""What counts as a number in a suite's file."""

from __future__ import annotations

import pytest

from hardy.suites.checks import is_number


@pytest.mark.parametrize("value", [0, -3, 0.5, 10**300])
def test_numbers(value: object) -> None:
    assert is_number(value)


@pytest.mark.parametrize(
    "value", [True, "1", None, float("nan"), float("inf"), 10**400, -(10**400)]
)
def test_no_numbers(value: object) -> None:
    assert not is_number(value)
