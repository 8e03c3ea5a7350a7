"""What a model's config may not say: anybody may have written it, and libraries obey it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hardy.errors import InputError, printable
from hardy.limits import FIGURE, LAYERS

AS_FACTORY = "write a function that makes the model: torch:FILE.py:make"
# By these keys a config leads libraries to code or weights elsewhere, or changes what its other
# keys mean.
_LEADING_AWAY = (
    "auto_map",
    "attribute_map",
    "quantization_config",
    "use_pretrained_backbone",
)
_WAYS = "_implementation"  # in the names of keys that choose how something is computed
# Other ways are kernels of the hub, or end there where a package is missing.
_KNOWN_WAYS = (None, False, True, "eager", "sdpa", "flex_attention", "grouped_mm", "batched_mm")
_NAMES = ("architecture", "backbone")  # of networks that a library knows
_LABELS = ("id2label", "label2id")
_IN_A_ROW = "layer|depth|repeat|num_block"  # in the names of keys that count layers
_DEEPEST = 100
_MAY_LACK = 10_000_000  # numbers that a model makes itself, such as a new head on a backbone
_ADDRESS = set(":/\\")


def check_config(config: Mapping[str, Any], where: object) -> None:
    """Refuse a config that names code or a repository elsewhere, or a size that no model has, at
    any depth."""
    for key, value in _entries(config, where):
        if isinstance(value, int):
            limit = LAYERS if re.search(_IN_A_ROW, key) else FIGURE
            limit.check(value, f"{where}, {printable(key[:40])}")
        if _leads_away(key, value):
            shown = printable(f"{key}: {value}"[:80])
            raise InputError(
                f"{where}: expected a model that is all there, got one that leads to code or "
                f"weights elsewhere ({shown}), which Hardy does not follow, not even with "
                f"`trust=True`; remove that from the file, or, where you trust it, {AS_FACTORY}"
            )


def _leads_away(key: str, value: Any) -> bool:
    if _WAYS in key:
        return any(way not in _KNOWN_WAYS for way in _parts(value))
    if key in _NAMES and isinstance(value, str):
        return bool(_ADDRESS & set(value))
    return key in _LEADING_AWAY and bool(value)


def _parts(value: Any) -> list[Any]:
    """One way for all, or one for each part of a model."""
    return list(value.values()) if isinstance(value, Mapping) else [value]


def check_claim(numbers: int, held: int, where: object) -> None:
    """Refuse a model of more numbers than the bytes of its weights, where it may lack but a few."""
    if numbers > held + _MAY_LACK:
        raise InputError(
            f"{where}: expected a config that belongs to the weights, got one that claims "
            f"{numbers:,} numbers, where the weights have {held:,} bytes; take another copy of both"
        )


def check_depth(config: Any, where: object) -> None:
    """Refuse what is nested so deeply that a library would run out of stack."""
    for _ in _entries(config, where):
        pass


def _entries(config: Any, where: object) -> Iterator[tuple[str, Any]]:
    """Keys and values at any depth; those in a list have the key of the list. Labels are free."""
    waiting = [("", config, 0)]
    while waiting:
        key, one, depth = waiting.pop()
        if depth > _DEEPEST:
            raise InputError(
                f"{where}: expected a config nested at most {_DEEPEST} deep, got more; take "
                "another copy of it"
            )
        yield key, one
        if isinstance(one, Mapping):
            waiting.extend((k, v, depth + 1) for k, v in one.items() if k not in _LABELS)
        elif isinstance(one, list):
            waiting.extend((key, inner, depth + 1) for inner in one)
