"""The one set of checks: what counts as a number, and what is said of a field that does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.schema import TEXT, WHOLE, all_of, check_fields, check_table, is_number, one_of, or_null

SCHEMA = {"name": TEXT, "kind": one_of(("a", "b"))}
OPTIONAL = {"size": or_null(WHOLE)}
GOOD = {"name": "x", "kind": "a"}


@pytest.mark.parametrize("value", [0, -3, 0.5, 10**300])
def test_numbers(value: object) -> None:
    assert is_number(value)


@pytest.mark.parametrize(
    "value", [True, "1", None, float("nan"), float("inf"), 10**400, -(10**400)]
)
def test_no_numbers(value: object) -> None:
    assert not is_number(value)


def test_a_list_fits_where_all_of_it_does() -> None:
    assert all_of(is_number)([1, 2.5])
    assert not all_of(is_number)([1, "2"])
    assert not all_of(is_number)((1, 2))


def test_a_table_that_fits() -> None:
    for data in (GOOD, {**GOOD, "size": 3}, {**GOOD, "size": None}):
        check_table(data, SCHEMA, "x.toml", optional=OPTIONAL)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "x.toml: model: expected a table, got 3; correct the file"),
        ({"name": "x"}, "x.toml: model.kind: expected a or b, got nothing; add it"),
        ({**GOOD, "kind": ["a"]}, r"x.toml: model.kind: expected a or b, got \['a'\]; correct the"),
        ({**GOOD, "size": 0}, "model.size: expected a whole number above 0 or null, got 0"),
        ({**GOOD, "sizes": 3}, r'field of x.toml "model.sizes"; did you mean "model.size"\?'),
        ({**GOOD, "name": [16**9999]}, "name: expected text, got a number of too many digits; co"),
        ({**GOOD, "size": 16**9999}, "expected a whole number above 0 or null, got a number of to"),
        (
            {**GOOD, "name": np.eye(2)},
            r"expected text, got array\(\[\[1., 0.\],  .*\]\]\); correct",
        ),
        ({**GOOD, "name": 10**80}, "model.name: expected text, got 10{59}…; correct the file"),
    ],
)
def test_a_table_that_does_not_fit(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_table(data, SCHEMA, "x.toml", optional=OPTIONAL, prefix="model.")


def test_other_fields_may_be_nobodys_business() -> None:
    check_fields({**GOOD, "more": 3}, SCHEMA, "run.json")
    with pytest.raises(InputError, match=r"run.json: name: expected text, got nothing; begin anew"):
        check_fields({}, SCHEMA, "run.json", "begin anew")
