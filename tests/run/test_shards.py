"""Shares of a run: which blocks are whose, and how a process knows its own."""

from __future__ import annotations

from typing import Any

import pytest

from hardy.errors import InputError
from hardy.run.shards import Shard, read_shard


@pytest.mark.parametrize("first", [0, 1])
def test_every_block_is_in_one_share_whether_they_are_counted_from_0_or_1(first: int) -> None:
    shares = [read_shard(f"{number}/3") for number in range(first, first + 3)]
    for block in range(10):
        assert [share is not None and share.has(block) for share in shares].count(True) == 1


@pytest.mark.parametrize("text", ["4/3", "1/0", "x", "1", "-1/3", "1/3/5", "1.5/3", "", (1, 2)])
def test_what_is_no_share(text: Any) -> None:
    with pytest.raises(InputError, match='expected a share such as "1/8"'):
        read_shard(text)


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"RANK": "3", "WORLD_SIZE": "8"}, Shard(3, 8)),
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"}, Shard(0, 4)),
        ({"SLURM_ARRAY_TASK_ID": "4", "SLURM_ARRAY_TASK_COUNT": "4"}, Shard(4, 4)),
        # --array=1-5:2, of which each job starts its one process by srun
        (
            {
                "SLURM_PROCID": "0",
                "SLURM_STEP_NUM_TASKS": "1",
                "SLURM_ARRAY_TASK_ID": "3",
                "SLURM_ARRAY_TASK_COUNT": "3",
                "SLURM_ARRAY_TASK_MIN": "1",
                "SLURM_ARRAY_TASK_STEP": "2",
            },
            Shard(1, 3),
        ),
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, Shard(0, 1)),
        (
            {
                "SLURM_ARRAY_TASK_ID": "2",
                "SLURM_ARRAY_TASK_COUNT": "4",
                "RANK": "1",
                "WORLD_SIZE": "2",
            },
            Shard(1, 2),
        ),
    ],
)
def test_who_started_the_process_says_which_share(variables: dict[str, str], wanted: Shard) -> None:
    assert read_shard("auto", variables) == wanted


def test_nobody_says() -> None:
    assert read_shard(None) is None
    with pytest.raises(InputError, match=r"torchrun sets RANK and WORLD_SIZE.* such as .1/8"):
        read_shard("auto", {"RANK": "1"})
    with pytest.raises(InputError, match="SLURM_ARRAY_TASK_ID=9, SLURM_ARRAY_TASK_COUNT=4"):
        read_shard("auto", {"SLURM_ARRAY_TASK_ID": "9", "SLURM_ARRAY_TASK_COUNT": "4"})
