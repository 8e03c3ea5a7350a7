"""Damage to files: that of bytes, which any file may meet, and that of what a format means."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

# What a field of a record may hold that nobody expects there.
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**18, 10**400, 1.5, -0.0, 1e308),
    *(float("nan"), float("inf"), "", "x", "x" * 100_000, "\0", "\ud800", "../../etc", "/", "é"),
    *([], {}, [[]], [None], [0], [{}], {"": 0}, [[1, 2], [3]], ["a", 1], [1] * 10_000),
)
# Numbers that stand in headers: lengths, counts and offsets.
_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1)
_TOKENS = (*(b"0", b"-1", b"9" * 5000, b"nan", b"inf", b"[", b"]" * 3000, b"{", b'"', b"\0"),)


def mutate(data: bytes, kind: str, seed: int) -> bytes:
    """One file, damaged: by its format two times out of three, by its bytes else."""
    draw = random.Random(seed)
    by_format = _BY_KIND.get(kind)
    if by_format is not None and draw.random() < 2 / 3:
        return by_format(data, draw)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        data = draw.choice(_BYTES)(data, draw)
    return data


def _flip(data: bytes, draw: random.Random) -> bytes:
    place = _place(data, draw)
    return data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :]


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: _place(data, draw)]


def _drop(data: bytes, draw: random.Random) -> bytes:
    place = _place(data, draw)
    return data[:place] + data[place + draw.choice((1, 4, 100, 5000)) :]


def _splice(data: bytes, draw: random.Random) -> bytes:
    start, place, length = _place(data, draw), _place(data, draw), draw.choice((1, 8, 200, 2000))
    return data[:place] + data[start : start + length] + data[place:]


def _number(data: bytes, draw: random.Random) -> bytes:
    """A length or a count of 1, 2, 4 or 8 bytes, in either order."""
    place, size = _place(data, draw), draw.choice((1, 2, 4, 8))
    value, order = draw.choice(_NUMBERS) & (256**size - 1), draw.choice(("little", "big"))
    return data[:place] + value.to_bytes(size, order) + data[place + size :]


def _token(data: bytes, draw: random.Random) -> bytes:
    """Digits, or a word, of a text become something else."""
    found = list(re.finditer(rb"[0-9]+|[A-Za-z_]+", data[:200_000]))
    if not found:
        return _flip(data, draw)
    one = draw.choice(found)
    return data[: one.start()] + draw.choice(_TOKENS) + data[one.end() :]


_BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_flip, _flip, _cut, _drop, _splice, _number, _number, _token),
)


def _place(data: bytes, draw: random.Random) -> int:
    """Somewhere; headers and footers are hit more often than what lies between them."""
    if not data:
        return 0
    near = min(len(data), draw.choice((64, 512, len(data), len(data))))
    place = draw.randrange(near)
    return place if draw.random() < 0.5 else len(data) - 1 - place


def _json(data: bytes, draw: random.Random) -> bytes:
    content = json.loads(data)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        content = _changed(content, draw)
    if draw.random() < 0.5 and isinstance(content, dict):
        content.pop("sha256", None)  # as one who knows of it would: the schema is all there is
    text = json.dumps(content)
    return text.encode() if draw.random() < 0.97 else b"[" * 100_000 + text.encode()


def _changed(content: Any, draw: random.Random) -> Any:
    """One field, anywhere in it, is another, or gone, or twice as long."""
    if isinstance(content, dict) and content and draw.random() < 0.9:
        name = draw.choice(sorted(content))
        if draw.random() < 0.15:
            return {key: value for key, value in content.items() if key != name}
        return {**content, name: _changed(content[name], draw)}
    if isinstance(content, list) and content and draw.random() < 0.7:
        place = draw.randrange(len(content))
        if draw.random() < 0.2:
            return content[:place] + content[place + 1 :]
        if draw.random() < 0.1:
            return content * 2
        return [*content[:place], _changed(content[place], draw), *content[place + 1 :]]
    return draw.choice(ODD)


def _lines(data: bytes, draw: random.Random) -> bytes:
    lines = data.split(b"\n")
    place = draw.randrange(len(lines))
    how = draw.randrange(4)
    if how == 0:
        return b"\n".join(lines[:place] + lines[place + 1 :])
    if how == 1:
        return b"\n".join([*lines, lines[place]])
    if how == 2 and lines[place].startswith(b"{"):
        return b"\n".join([*lines[:place], _json(lines[place], draw), *lines[place + 1 :]])
    return b"\n".join([*lines[:place], _token(lines[place], draw), *lines[place + 1 :]])


def _npy(data: bytes, draw: random.Random) -> bytes:
    """The header's text, with its length made right again."""
    size = int.from_bytes(data[8:10], "little")
    text = draw.choice((_token, _flip, _drop, _splice))(data[10 : 10 + size], draw)[:65_000]
    return data[:8] + len(text).to_bytes(2, "little") + text + data[10 + size :]


def _tail(data: bytes, draw: random.Random) -> bytes:
    """Parquet's footer, or a zip's directory: it says where all the rest lies."""
    size = min(len(data), draw.choice((64, 600, 3000)))
    end = data[-size:]
    for _ in range(draw.choice((1, 1, 2, 8))):
        end = draw.choice((_flip, _number))(end, draw)
    return data[:-size] + end


def _head(data: bytes, draw: random.Random) -> bytes:
    size = min(len(data), draw.choice((32, 512, 2048)))
    start = data[:size]
    for _ in range(draw.choice((1, 1, 2, 8))):
        start = draw.choice((_flip, _number))(start, draw)
    return start + data[size:]


_BY_KIND: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "json": _json,
    "lines": _lines,
    "toml": _lines,
    "text": _lines,
    "npy": _npy,
    "parquet": _tail,
    "zip": _tail,
    "head": _head,
}
