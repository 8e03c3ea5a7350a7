"""Steps on a GPU, recorded once and replayed: the host then has next to nothing to do in a step.

A step of a small net is some thousand kernels of a few microseconds each, which the host cannot
launch as fast as they run. What is recorded must never wait for the device, and must find its
tensors where they were: whatever it changes, it changes in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from hardy.train.ranks import Ranks

# Called as it is so often before: kernels are compiled and chosen, momentum gets its place.
WARM_UP = 3


class Recorded:
    """A function of tensors that returns nothing; each call must bring the same shapes. Its random
    numbers come from `generator`."""

    def __init__(self, function: Callable[..., None], generator: torch.Generator) -> None:
        self.function, self.generator = function, generator
        self.calls = 0
        self.graph: Any = None
        self.inputs: tuple[Tensor, ...] = ()

    def __call__(self, *tensors: Tensor) -> None:
        if torch.cuda.is_current_stream_capturing():  # as a part of something that is recorded
            self.function(*tensors)
            return
        self.calls += 1
        if self.calls <= WARM_UP:
            self.function(*tensors)
            return
        if self.graph is None:
            self._record(tensors)
        for held, tensor in zip(self.inputs, tensors, strict=True):
            held.copy_(tensor)
        self.graph.replay()

    def _record(self, tensors: tuple[Tensor, ...]) -> None:
        self.inputs = tuple(tensor.clone() for tensor in tensors)
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(self.generator)
        # "thread_local": a thread that decodes images elsewhere in the process does no harm.
        with torch.cuda.graph(
            self.graph,
            stream=torch.cuda.current_stream(),
            capture_error_mode="thread_local",
        ):
            self.function(*self.inputs)


def can_record(device: torch.device, ranks: Ranks) -> bool:
    """Several processes exchange gradients in a step; and what is asked to give the same each time
    goes the plain way."""
    alone = device.type == "cuda" and ranks.world == 1
    return alone and not torch.are_deterministic_algorithms_enabled()


@contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """Recording is refused on the default stream, and steps before it must be on the same one."""
    if device.type != "cuda":
        yield
        return
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream(device).wait_stream(stream)
