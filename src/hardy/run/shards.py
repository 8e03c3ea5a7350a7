"""A share of a run: every n-th block of its images, for one of n processes that know nothing of one
another, such as the jobs of a SLURM array. Together they fill one store."""

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from hardy.errors import InputError
from hardy.schema import brief

# Who starts several processes, and how it tells each which one it is, and of how many. A job of an
# array may start its one process by srun, which then says nothing.
_RANKS = {
    "torchrun": ("RANK", "WORLD_SIZE"),
    "srun": ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    "a SLURM array": ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"),
}
_TASK = "SLURM_ARRAY_TASK_ID"
_EXPECTED = 'a share such as "1/8", or "auto" under torchrun, srun or in a SLURM array'


class Shard(NamedTuple):
    """The share with this number, of so many; numbers from 0 and from 1 both do."""

    number: int
    shares: int

    def __str__(self) -> str:
        return f"{self.number}/{self.shares}"

    def has(self, block: int) -> bool:
        return block % self.shares == self.number % self.shares


def read_shard(text: str | None, environment: Mapping[str, str] = os.environ) -> Shard | None:
    """The share that a user asked for; "auto" asks whoever started this process."""
    if text is None:
        return None
    if text == "auto":
        return _shard_of_rank(environment)
    numbers = re.fullmatch(r"(\d{1,9})/(\d{1,9})", str(text))
    if not numbers:
        raise InputError(f"expected {_EXPECTED}, got {brief(str(text))}")
    return _checked(Shard(int(numbers[1]), int(numbers[2])), text)


def _shard_of_rank(environment: Mapping[str, str]) -> Shard:
    alone: Shard | None = None
    for number, count in _RANKS.values():
        said = [environment.get(name, "") for name in (number, count)]
        if all(word.isdecimal() for word in said):
            rank = _place_in_array(environment) if number == _TASK else int(said[0])
            found = _checked(Shard(rank, int(said[1])), f"{number}={said[0]}, {count}={said[1]}")
            if found.shares > 1:
                return found
            alone = alone or found
    if alone is not None:
        return alone
    known = "; ".join(f"{who} sets {' and '.join(names)}" for who, names in _RANKS.items())
    raise InputError(
        f'expected to be one of several processes, since `shard` is "auto", but no variable says '
        f'so ({known}); name the share, such as "1/8"'
    )


def _place_in_array(environment: Mapping[str, str]) -> int:
    """Which one of an array this is, from 0: the numbers of its tasks may begin and step anyhow."""
    task, first, step = (
        int(environment.get(name) or default)
        for name, default in ((_TASK, 0), ("SLURM_ARRAY_TASK_MIN", 0), ("SLURM_ARRAY_TASK_STEP", 1))
    )
    return (task - first) // max(1, step)


def _checked(shard: Shard, got: str) -> Shard:
    if not (shard.shares >= 1 and shard.number <= shard.shares):
        raise InputError(
            f"expected {_EXPECTED}, with a number no larger than that of the shares, got {got}"
        )
    return shard
