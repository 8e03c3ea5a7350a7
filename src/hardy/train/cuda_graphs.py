"""Steps on a GPU, recorded once and replayed: the host then has next to nothing to do in a step.

A step of a small net is some thousand kernels of a few microseconds each, which the host cannot
launch as fast as they run. What is recorded must never wait for the device, and must find its
tensors where they were: whatever it changes, it changes in place.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from hardy.engine.ops import out_of_memory
from hardy.errors import HardyError
from hardy.train.hyperparameters import Hyperparameters
from hardy.train.processes import Ranks

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
        stream = torch.cuda.current_stream()
        with torch.cuda.graph(self.graph, stream=stream, capture_error_mode="thread_local"):
            self.function(*self.inputs)


def can_record(device: torch.device, ranks: Ranks) -> bool:
    """Whether steps can be recorded: not where several processes exchange gradients in a step, nor
    where the same is to come out each time."""
    alone = device.type == "cuda" and ranks.world == 1
    return alone and not torch.are_deterministic_algorithms_enabled()


@contextmanager
def running(device: torch.device, *, deterministic: bool = False) -> Iterator[None]:
    """The circumstances in which steps run, and only they, since others would notice too.

    Steps have a stream of their own, because recording is refused on the default one and the steps
    before it must be on the same. Convolutions are tried in several ways and the fastest is kept,
    unless everything is to give the same each time, more slowly.
    """
    before = torch.are_deterministic_algorithms_enabled()
    benchmark = torch.backends.cudnn.benchmark
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # which cuBLAS asks for
    torch.use_deterministic_algorithms(deterministic or before)
    torch.backends.cudnn.benchmark = not torch.are_deterministic_algorithms_enabled()
    try:
        with warnings.catch_warnings(), _own_stream(device):
            # Who asks for float32 is not to be advised, by torch's compiler, to take less.
            warnings.filterwarnings("ignore", "TensorFloat32 tensor cores", UserWarning)
            yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.backends.cudnn.benchmark = benchmark


@contextmanager
def _own_stream(device: torch.device) -> Iterator[None]:
    if device.type != "cuda":
        yield
        return
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream(device).wait_stream(stream)


@contextmanager
def fitting(hyper: Hyperparameters, device: torch.device) -> Iterator[None]:
    """Where memory does not suffice to train, the error says so in words."""
    try:
        yield
    except RuntimeError as error:
        if not any(map(out_of_memory, _with_causes(error))):
            raise
        raise HardyError(
            f"not enough memory on {device} to train {hyper.net} in batches of {hyper.batch}; "
            "take a smaller batch, in another folder if something has been saved in this one"
        ) from error


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it followed from: a failure inside a recording makes that fail too."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
