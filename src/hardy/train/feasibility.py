"""Whether a net takes the images at all, before a run of it is begun; and whether they fit."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from hardy.engine.ops import out_of_memory
from hardy.errors import HardyError, InputError
from hardy.train.processes import Ranks
from hardy.train.settings import Recipe
from hardy.train.training_data import Data


def try_out(net: nn.Module, data: Data, recipe: Recipe, device: torch.device, ranks: Ranks) -> None:
    """A pass of a copy, in training mode, with few images; with one, where a batch, or the last one
    of an epoch, leaves one to a process: a net that ends in one pixel cannot normalise that."""
    whole, last = min(recipe.batch, len(data.images)), len(data.images) % recipe.batch
    few = 1 if 1 in (whole // ranks.world, last // ranks.world) else 2
    tried = copy.deepcopy(net).train()
    drawn = [device] if device.type == "cuda" else []  # by dropout
    images = torch.zeros(few, *data.shape, device=device)
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=drawn):
            logits = tried(images)
    except Exception as error:  # a net of any library, which may raise anything
        raise InputError(
            f"{recipe.net} cannot train on {few} of the images, {data.shape[1]} x {data.shape[2]} "
            f"pixels ({error}); choose another net, images of another size, or another batch "
            f"than {recipe.batch} of {len(data.images)}"
        ) from error
    if not isinstance(logits, torch.Tensor) or logits.shape != (few, data.classes):
        raise InputError(
            f"expected {recipe.net} to give {data.classes} numbers for an image in training, got "
            f"{type(logits).__name__} {tuple(getattr(logits, 'shape', ()))}; choose another net"
        )


@contextmanager
def fitting(recipe: Recipe, device: torch.device) -> Iterator[None]:
    """While a net trains: in words, where memory does not suffice."""
    try:
        yield
    except RuntimeError as error:
        if not any(map(out_of_memory, _with_causes(error))):
            raise
        raise HardyError(
            f"not enough memory on {device} to train {recipe.net} in batches of {recipe.batch}; "
            "take a smaller batch, in another folder if something has been saved in this one"
        ) from error


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """What fails in a recording is followed by that the recording failed."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
