"""Messages that hold arrays, whose contents travel as they lie in memory, and are not copied."""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

_ALIGNED = 64  # bytes: arrays begin at multiples of it
_COUNT = struct.Struct("<Q")


class Kind(IntEnum):
    """What a message to a process holds."""

    SETUP = 0
    ITEM = 1


def pack_message(message: Any) -> list[memoryview]:
    """A message, and behind it what its arrays hold, which is not copied."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    return [memoryview(head), *(buffer.raw() for buffer in buffers)]


def send_message(connection: socket.socket, views: Sequence[memoryview]) -> None:
    sizes = np.array([len(view) for view in views], "<u8").tobytes()
    connection.sendall(_COUNT.pack(len(views)) + sizes)
    for view in views:
        connection.sendall(view)
        connection.sendall(bytes(-len(view) % _ALIGNED))


def receive_message(connection: socket.socket) -> Any:
    """What was sent; EOFError where the other side is gone."""
    (count,) = _COUNT.unpack(_received(connection, _COUNT.size))
    sizes = np.frombuffer(_received(connection, 8 * count), "<u8").tolist()
    ends = np.cumsum([size + -size % _ALIGNED for size in sizes]).tolist()
    everything = _received(connection, ends[-1])
    starts = [0, *ends[:-1]]
    head, *buffers = (
        everything[start : start + size] for start, size in zip(starts, sizes, strict=True)
    )
    return pickle.loads(head, buffers=buffers)


def _received(connection: socket.socket, size: int) -> memoryview:
    """So many bytes, which may be written to, aligned in memory."""
    room = np.empty(size + _ALIGNED, np.uint8)
    first = -room.ctypes.data % _ALIGNED
    view = room.data[first : first + size]
    got = 0
    while got < size:
        more = connection.recv_into(view[got:], size - got, socket.MSG_WAITALL)
        if not more:
            raise EOFError
        got += more
    return view
