"""How many answers chance gets right, and whether some are more than that."""

import math

import numpy as np
import numpy.typing as npt


def share_at_random(guessed: npt.NDArray[np.int64], truth: npt.NDArray[np.int64]) -> float:
    """The share that would be right if the same answers were given to the images at random: one
    class for all of them is right as often as the images have it."""
    width = int(max(guessed.max(), truth.max())) + 1
    shares = [np.bincount(some, minlength=width) / len(truth) for some in (guessed, truth)]
    return float(shares[0] @ shares[1])


def above_chance(hits: int, number: int, share: float) -> bool:
    """Whether more are right than the share that chance gets right."""
    return hits > number * share and binomial_tail(hits, number, share) < 0.05


def binomial_tail(hits: int, number: int, share: float) -> float:
    """P(X ≤ hits) or P(X ≥ hits), the smaller one doubled, X ~ Bin(number, share)."""
    if not 0 < share < 1:
        return float(hits == number * share)
    k = np.arange(number + 1)
    log_factorial = np.array([math.lgamma(n + 1) for n in k])
    log_terms = log_factorial[number] - log_factorial[k] - log_factorial[number - k]
    terms = np.exp(log_terms + k * math.log(share) + (number - k) * math.log1p(-share))
    return float(min(1.0, 2 * min(terms[: hits + 1].sum(), terms[hits:].sum())))
