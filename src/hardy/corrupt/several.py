"""One of several corruptions for each image, by the seed and the image's id."""

from collections.abc import Sequence
from typing import Any

from hardy.corrupt.calls import check_cell
from hardy.engine import rng
from hardy.engine.keys import Ids, image_ids
from hardy.engine.ops import ops_for
from hardy.errors import InputError

Named = tuple[str, int]  # a corruption and a severity


def list_named(
    name: str | Sequence[str], severity: int | Sequence[int], edition: str
) -> list[Named]:
    """Every corruption at every severity that is named, one of each or several."""
    found = [(one, level) for one in _several(name) for level in _several(severity)]
    if not found:
        raise InputError("expected at least one corruption and severity, got an empty list")
    for one, level in found:
        check_cell(one, level, edition)
    return found


def deal(
    named: Sequence[Named], p: float, seed: int, ids: Ids, count: int
) -> list[tuple[Named, Sequence[int], Ids]]:
    """Each corruption with the places and ids of its images; with 1 - `p` an image gets none."""
    if len(named) == 1 and p == 1:
        return [(named[0], range(count), ids)]
    numbers = image_ids(ids, count)
    draws = rng.Draws(ops_for(numbers), rng.derive_key(seed, "any", "choice", 0), numbers)
    chosen = draws.integers("cell", (), len(named))
    applied = draws.uniform("applied", (), 0, 1) < p
    found: list[tuple[Named, Sequence[int], Ids]] = []
    for number, one in enumerate(named):
        if places := (applied & (chosen == number)).nonzero()[0].tolist():
            found.append((one, places, numbers[places]))
    return found


def _several(given: Any) -> Sequence[Any]:
    return given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
