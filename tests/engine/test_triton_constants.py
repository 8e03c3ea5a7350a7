"""Triton takes a constant that it compares, chooses or clips with as a float32, though all else be
float64 (3.6 at least; its interpreter may not): such constants must be float32 numbers."""

from __future__ import annotations

import ast
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import hardy

KERNELS = sorted((Path(hardy.__file__).parent / "engine" / "triton").glob("*.py"))
CHOOSING = {"where", "minimum", "maximum", "clamp"}


def rounded(source: str) -> list[float]:
    """Constants in such places that a float32 cannot hold."""
    tree = ast.parse(source)
    named = {
        node.targets[0].id: node.value.args[0]
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "tl.constexpr"
    }
    places = [named.get(getattr(place, "id", ""), place) for place in operands(tree)]
    numbers = [eval(ast.unparse(place)) for place in places if is_number(place)]
    return [n for n in numbers if isinstance(n, float) and as_float32(n) != n]


def operands(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield from (node.left, *node.comparators)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in CHOOSING:
            yield from node.args


def is_number(place: ast.expr) -> bool:
    return not any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(place))


def as_float32(number: float) -> float:
    found: float = struct.unpack("f", struct.pack("f", number))[0]
    return found


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_constants_are_what_they_look_like(path: Path) -> None:
    assert rounded(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "a < 0.999",
        "0.1 >= a",
        "tl.where(a, 0.3, b)",
        "N = tl.constexpr(3.0**-30)\ntl.maximum(a, N)",
    ],
)
def test_others_are_found(source: str) -> None:
    assert len(rounded(source)) == 1


def test_what_a_float32_holds_is_none() -> None:
    assert rounded("N = tl.constexpr(0.25)\na < 0.5\ntl.minimum(a, N)\na * 0.1") == []
