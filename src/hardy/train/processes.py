"""The processes of one run, as `torchrun` starts them: one for each GPU, or any number on a CPU.

Each works on its part of every batch; gradients are averaged. Not by torch's wrapper: a method may
use the model for more than the one loss, which that does not expect.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, distributed

from hardy.errors import HardyError, InputError

TODO = "start several processes by torchrun, or unset WORLD_SIZE"

# How gloo and NCCL say that a process which they wait for is gone.
_PEER_LEFT = ("closed by peer", "reset by peer", "remote process exited")


class PeerGone(HardyError):
    """Another process, for which this one waits, has stopped."""


@dataclass(frozen=True)
class Ranks:
    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        """The one that writes and prints."""
        return self.rank == 0

    def average(self, tensors: Sequence[Tensor], weight: float = 1) -> None:
        """Average over all processes, in place; the tensors are of one type. `weight` is the number
        of images in a mean over images: the parts of a batch may differ by one."""
        if self.world > 1:
            flat = torch.cat([*(one.flatten() for one in tensors), tensors[0].new_ones(1)]) * weight
            distributed.all_reduce(flat)
            parts = (flat[:-1] / flat[-1]).split([tensor.numel() for tensor in tensors])
            for tensor, part in zip(tensors, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

    def take_first(self, tensors: Sequence[Tensor]) -> None:
        """Overwrite the tensors, in place, by those of the first process."""
        if self.world > 1:
            for tensor in tensors:
                distributed.broadcast(tensor, 0)

    def gather(self, tensor: Tensor, device: torch.device) -> list[Tensor]:
        """The tensor of each process; they talk through the device."""
        if self.world == 1:
            return [tensor]
        mine = tensor.to(device)
        all_of_them = [torch.empty_like(mine) for _ in range(self.world)]
        distributed.all_gather(all_of_them, mine)
        return [one.cpu() for one in all_of_them]

    def gather_tables(self, table: Mapping[int, str]) -> list[Mapping[int, str]]:
        """The table of each process; all must ask at once."""
        if self.world == 1:
            return [table]
        tables: list[Any] = [None] * self.world
        distributed.all_gather_object(tables, dict(table))
        return tables

    def any_of(self, one: bool, other: bool, device: torch.device) -> tuple[bool, bool]:
        """Whether each is so in any process; all must ask at once."""
        if self.world == 1:
            return one, other
        flags = torch.tensor([one, other], dtype=torch.float32, device=device)
        distributed.all_reduce(flags)
        return bool(flags[0]), bool(flags[1])

    def wait(self) -> None:
        if self.world > 1:
            distributed.barrier()


ALONE = Ranks()


@contextmanager
def joined(kind: str) -> Iterator[Ranks]:
    """The processes that `torchrun` or Ray started, on "cpu" or "cuda"; else this one alone."""
    world = os.environ.get("WORLD_SIZE", "1")
    if not _is_whole(world) or int(world) < 1:
        raise InputError(
            f'expected WORLD_SIZE as a whole number of at least 1, got "{world}"; {TODO}'
        )
    if int(world) == 1:
        yield ALONE
        return
    _check_started(int(world), kind)
    ours = not distributed.is_initialized()  # else Ray has, and has chosen each process's device
    if ours and kind == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    # Some parts of torch take the group that there is when they are imported as a default, and so
    # keep it for ever: its threads outlive it, and one that still holds a tensor when Python ends
    # is killed, and the process with it. So these are imported before there is a group.
    import_module("torch._dynamo")
    if ours:
        distributed.init_process_group("nccl" if kind == "cuda" else "gloo")
    try:
        yield Ranks(distributed.get_rank(), distributed.get_world_size())
        distributed.barrier()  # that none leaves while another still talks to it
    except RuntimeError as error:
        if not any(sign in str(error) for sign in _PEER_LEFT):
            raise
        raise PeerGone("another process of this training has stopped; it says why") from error
    finally:
        if ours:
            distributed.destroy_process_group()


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _check_started(world: int, kind: str) -> None:
    """Refuse processes that `torchrun` did not start: it tells each what torch asks for."""
    numbers = ("RANK", "LOCAL_RANK") if kind == "cuda" else ("RANK",)
    most = dict.fromkeys(numbers, world - 1) | {"MASTER_PORT": 65535}
    for name in (*numbers, "MASTER_ADDR", "MASTER_PORT"):
        value = os.environ.get(name)
        if value is None:
            raise InputError(f"expected {name} beside WORLD_SIZE={world}, got none; {TODO}")
        highest = most.get(name)
        if highest is not None and not (_is_whole(value) and int(value) <= highest):
            raise InputError(
                f'expected {name} as a whole number from 0 to {highest}, got "{value}"; {TODO}'
            )
