"""The process of its own that `array_processes` asks: what it does, until nobody asks any more."""

from __future__ import annotations

import os
import pickle
import socket
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from hardy.errors import HardyError
from hardy.execute.array_messages import Kind, pack_message, receive_message, send_message
from hardy.execute.carried_warnings import (
    CarriedWarning,
    noting_warnings,
    set_filters,
    without_warnings,
)


def serve(connection: socket.socket) -> None:
    """Do what is asked until nobody asks any more."""
    with connection, noting_warnings() as noted:
        _serve(connection, noted)


def _serve(connection: socket.socket, noted: list[CarriedWarning]) -> None:
    work: Callable[[Any], Any]
    while True:
        try:
            kind, item = receive_message(connection)
        except (EOFError, OSError):
            return
        try:
            if kind == Kind.SETUP:
                work, result = _set_up(item), None
            else:
                result = work(item)
            answer = pack_message((True, result, noted))
        except Exception as error:
            answer = pack_message((False, _told(error), noted))
        noted.clear()
        try:
            send_message(connection, answer)
        except OSError:
            return


def _set_up(pickled: bytes) -> Callable[[Any], Any]:
    with without_warnings():
        setup, filters = pickle.loads(pickled)
        work: Callable[[Any], Any] = setup()
    set_filters(filters)
    return work


def _told(error: Exception) -> Exception:
    """The error, if it can travel."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return HardyError(f"{type(error).__name__}: {error}")
    return error


def _take_connection() -> socket.socket:
    """The socket that came as stdin; whatever this process begins does not get it in turn: it would
    read what is asked here, and keep it open when this process dies."""
    connection = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return connection


if __name__ == "__main__":
    asked = _take_connection()
    with without_warnings():
        for needed in sys.argv[1:]:
            import_module(needed)
    serve(asked)
