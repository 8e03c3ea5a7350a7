"""A net is tried on the training images before anything is written."""

import copy

import torch
from torch import nn

from hardy.errors import InputError
from hardy.train.hyperparameters import Hyperparameters
from hardy.train.processes import Ranks
from hardy.train.teacher import Teacher
from hardy.train.training_data import TrainingSet


def try_out(
    net: nn.Module,
    data: TrainingSet,
    hyper: Hyperparameters,
    device: torch.device,
    ranks: Ranks,
    teacher: Teacher | None = None,
) -> None:
    """Refuse a net that cannot take the images, or a teacher of others, before anything is written.

    A copy of the net is given two images in training mode; or one, where a batch, or the last one
    of an epoch, leaves one to a process: a net that ends in one pixel cannot normalise that.
    """
    whole, last = min(hyper.batch, len(data)), len(data) % hyper.batch
    parts = [size // ranks.world // hyper.accumulate for size in (whole, last)]
    few = 1 if 1 in parts or (hyper.accumulate > 1 and 0 in parts) else 2
    tried = copy.deepcopy(net).train()
    drawn = [device] if device.type == "cuda" else []  # by dropout
    images = torch.zeros(few, *data.shape, device=device)
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=drawn):
            logits = tried(images)
    except Exception as error:  # a net of any library, which may raise anything
        raise InputError(
            f"{hyper.net} cannot train on {few} of the images, {data.shape[1]} x {data.shape[2]} "
            f"pixels ({error}); choose another net, images of another size, or another batch "
            f"than {hyper.batch} of {len(data)}"
        ) from error
    if not isinstance(logits, torch.Tensor) or logits.shape != (few, data.classes):
        raise InputError(
            f"expected {hyper.net} to give {data.classes} numbers for an image in training, got "
            f"{type(logits).__name__} {tuple(getattr(logits, 'shape', ()))}; choose another net"
        )
    if teacher is not None:
        teacher.check_fits(data, device)
