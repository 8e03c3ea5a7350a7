"""What a model's config may not say: anybody may have written it, and libraries obey it."""

from collections.abc import Iterator, Mapping
from typing import Any

from hardy.errors import InputError, printable

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
_DEEPEST = 100
_ADDRESS = set(":/\\")


def check_config(config: Mapping[str, Any], where: object) -> None:
    """Refuse a config that names code or a repository elsewhere, at any depth."""
    for key, value in _entries(config, where):
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


def check_depth(config: Any, where: object) -> None:
    """Refuse what is nested so deeply that a library would run out of stack."""
    for _ in _entries(config, where):
        pass


def _entries(config: Any, where: object) -> Iterator[tuple[str, Any]]:
    """Keys and values at any depth."""
    waiting = [(config, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > _DEEPEST:
            raise InputError(
                f"{where}: expected a config nested at most {_DEEPEST} deep, got more; take "
                "another copy of it"
            )
        if isinstance(one, Mapping):
            yield from one.items()
            waiting.extend((inner, depth + 1) for inner in one.values())
        elif isinstance(one, list):
            waiting.extend((inner, depth + 1) for inner in one)
