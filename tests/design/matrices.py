"""Matrices of overlaps to design from."""

from __future__ import annotations

import numpy as np

from hardy.design.matrix import Matrix


def named(values: np.ndarray) -> Matrix:
    return Matrix(tuple(f"c{k:02}" for k in range(len(values))), np.asarray(values, float))


def random_matrix(number: int, seed: int = 0) -> Matrix:
    draws = np.random.default_rng(seed).random((number, number))
    values = np.triu(draws, 1)
    return named(values + values.T + np.eye(number))


def blocks(*sizes: int, inside: float = 0.8, outside: float = 0.1) -> Matrix:
    """Groups that overlap within and hardly without."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    values = np.where(group[:, None] == group[None, :], inside, outside)
    np.fill_diagonal(values, 1)
    return named(values)
