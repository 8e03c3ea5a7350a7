"""A checkpoint of a training: all that a resumed run needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hardy.errors import InputError
from hardy.models.weight_files import packed, unpacked
from hardy.train.record import check_log, run_hash, write_log, write_whole

if TYPE_CHECKING:
    from hardy.train.loop import Training


def save_checkpoint(training: Training, path: Path) -> None:
    """Save a checkpoint and the log; all processes must call this at once."""
    training.check_sound()
    parts = {
        "net": training.net.state_dict(),
        "momentum": _momentum(training),
        "draw": training.draw.state(),
        "method": training.method.state(),
    }
    tensors = {f"{part}.{name}": t for part, held in parts.items() for name, t in held.items()}
    if training.ranks.first:
        notes = {"log": json.dumps(training.log), "run": run_hash(path.parent)}
        write_tensors(path, tensors, notes)
        write_log(path.parent, training.log)
    training.saved = training.epoch


def _momentum(training: Training) -> dict[str, Tensor]:
    """The momentum of each weight; 0, which moves nothing, for those that are frozen."""
    state = training.optimizer.state
    return {
        name: state[weight]["momentum_buffer"] if weight in state else torch.zeros_like(weight)
        for name, weight in training.net.named_parameters()
    }


def restore(training: Training, path: Path) -> None:
    tensors, notes = read_tensors(path)

    def part(name: str) -> dict[str, Tensor]:
        start = f"{name}."
        return {key[len(start) :]: t for key, t in tensors.items() if key.startswith(start)}

    try:
        if notes["run"] != run_hash(path.parent):
            raise ValueError("it was saved by another")
        net, momentum, own = part("net"), part("momentum"), part("method")
        _check_alike(net, training.net.state_dict())
        _check_alike(momentum, dict(training.net.named_parameters()))
        _check_alike(own, training.method.state())
        training.net.load_state_dict(net)
        for name, weight in training.net.named_parameters():
            buffer = torch.empty_like(weight).copy_(momentum[name])
            training.optimizer.state[weight]["momentum_buffer"] = buffer
        training.method.restore(own)
        training.draw.restore(part("draw"))
        training.log = check_log(json.loads(notes["log"]))
        if len(training.log) > training.hyper.epochs:
            raise ValueError(f"its log is of {len(training.log)} epochs")
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} is no checkpoint of this run ({error!r}); delete it to begin anew"
        ) from error
    training.epoch = training.saved = len(training.log)


def _check_alike(found: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    """Refuse other types and shapes, which torch would cast and stretch without a word."""
    for name, tensor in own.items():
        its, ours = ((one.dtype, tuple(one.shape)) for one in (found[name], tensor))
        if its != ours:
            raise ValueError(f"{name} is {its} instead of {ours}")


def write_tensors(target: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    write_whole(target, packed(tensors, notes, target))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a checkpoint, and the notes beside them."""
    return unpacked(path, "delete it to begin anew")
