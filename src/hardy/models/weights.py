"""Weights into a module: by its own names, and only where they fit. This file imports torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from hardy.errors import InputError
from hardy.models.weight_files import read_weights

_Shape = tuple[int, ...] | None

# Before each name: of DataParallel, of torch.compile, and of modules that prepare the images.
_PREFIXES = ("module.", "_orig_mod.", "model.", "net.")
SHOWN = 3  # names of tensors in a message
_LAST_LAYER = 2  # tensors


def load_checkpoint(
    module: torch.nn.Module, path: Path, todo: str, unreadable: str = "take another copy of it"
) -> None:
    """Load weights into a module. Errors advise `todo` where the file is of another model, and
    `unreadable` where it is damaged."""
    own = module.state_dict()
    weights = _renamed(read_weights(path, unreadable), own, path)
    missing = [
        name
        for name in own
        # A count that evaluation does not read, and that old files do not have.
        if name not in weights and not name.endswith("num_batches_tracked")
    ]
    surplus = [name for name in weights if name not in own]
    misshapen = {
        name: (_shape(weights[name]), _shape(own[name]))
        for name in own
        if name in weights and _shape(weights[name]) != _shape(own[name])
    }
    shapes = [f"{name} is {its} instead of {ours}" for name, (its, ours) in misshapen.items()]
    faults = [
        f"{len(names)} {what} ({', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''})"
        for what, names in (("missing", missing), ("unknown", surplus), ("misshapen", shapes))
        if names
    ]
    if faults:
        why = "" if missing or surplus else _other_classes(list(misshapen.values()))
        raise InputError(
            f"{path} does not fit the model: of {len(own)} expected tensors {', '.join(faults)}"
            f"{why}; {todo}"
        )
    for name, tensor in own.items():
        if name in weights:
            _check_values(weights[name], tensor, f"{path}: {name}")
    module.load_state_dict(weights, strict=False)


def _check_values(found: torch.Tensor, own: torch.Tensor, where: str) -> None:
    """Refuse values that lose something when cast to the module's type, as torch would."""
    plain = found.layout == torch.strided and not found.is_quantized and not found.is_meta
    if not plain or (own.is_floating_point() and not found.is_floating_point()):
        kind = "sparse" if found.layout != torch.strided else "meta" if found.is_meta else ""
        raise InputError(
            f"{where}: expected a plain tensor of {own.dtype}, got one of "
            f"{f'{kind} ' if kind else ''}{found.dtype}; save the weights as such"
        )
    if own.is_floating_point():
        bad = ~torch.isfinite(found.to(own.dtype))
        # A mask may have infinities, and has them in a new model too.
        if bool((bad & torch.isfinite(own).to(bad.device)).any()):
            raise InputError(
                f"{where}: expected numbers, got weights that are none (nan or infinite as "
                f"{own.dtype}); take a checkpoint from before they were"
            )


def _renamed(weights: dict[str, Any], own: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The weights by the model's own names: prefixes are taken off where it knows the rest."""
    renamed: dict[str, Any] = {}
    for name, tensor in weights.items():
        known = _without_prefixes(name, own)
        if known in renamed:
            raise InputError(
                f"{path} holds {known} twice, by itself and behind a prefix; expected the weights "
                "of one model: load it yourself and save those alone"
            )
        renamed[known] = tensor
    return renamed


def _without_prefixes(name: str, own: Mapping[str, Any]) -> str:
    rest = name
    while rest not in own:
        prefix = next((prefix for prefix in _PREFIXES if rest.startswith(prefix)), None)
        if prefix is None:
            return name
        rest = rest.removeprefix(prefix)
    return rest


def _other_classes(shapes: list[tuple[_Shape, _Shape]]) -> str:
    """A remark for the case that only the length of the last layer, weight and bias, differs."""
    lengths = {(its[0], ours[0]) for its, ours in shapes if its and ours and its[1:] == ours[1:]}
    if len(shapes) > _LAST_LAYER or len(lengths) != 1:
        return ""
    ((its, ours),) = lengths
    return f": it is for {its} classes and the model for {ours}"


def _shape(value: Any) -> _Shape:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None
