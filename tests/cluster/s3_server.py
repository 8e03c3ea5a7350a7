"""A local S3 server, and a line to it that fails when told to."""

from __future__ import annotations

import random
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

BUCKET = "bucket"
CUT_AT = 400  # bytes: the head of an answer, and perhaps a little of what follows
_REFUSAL = (
    b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/xml\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%s"
)
_BODY = b"<Error><Code>InternalError</Code><Message>told to</Message></Error>"


@contextmanager
def s3_server() -> Iterator[int]:
    """The port of a server with one empty bucket."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        port = server.get_host_and_port()[1]
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
        client.create_bucket(Bucket=BUCKET)
        yield port
    finally:
        server.stop()


class FaultyLine(socketserver.ThreadingTCPServer):
    """Passes connections on to a port, one request each; a share of them is answered by an error,
    late, or in half."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int, faults: Callable[[], str]) -> None:
        """`faults` names what becomes of the next request: "", "500", "slow" or "cut"."""
        super().__init__(("127.0.0.1", 0), _Request)
        self.target = port
        self.faults = faults
        self.counts: dict[str, int] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, *_: Any) -> None:
        """Say nothing: connections are cut here on purpose."""


class _Request(socketserver.BaseRequestHandler):
    server: FaultyLine

    def handle(self) -> None:
        head, rest = _read_head(self.request)
        if not head:
            return
        fault = self.server.faults()
        self.server.counts[fault] = self.server.counts.get(fault, 0) + 1
        if fault == "500":
            self.request.sendall(_REFUSAL % (len(_BODY), _BODY))
            return
        if fault == "slow":
            time.sleep(1)
        lines = [one for one in head.split(b"\r\n") if not one.lower().startswith(b"connection:")]
        with socket.create_connection(("127.0.0.1", self.server.target)) as line:
            line.sendall(b"\r\n".join([lines[0], b"Connection: close", *lines[1:]]) + rest)
            threading.Thread(target=_pass_on, args=(self.request, line), daemon=True).start()
            _pass_on(line, self.request, CUT_AT if fault == "cut" else None)


def _read_head(line: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        some = line.recv(65536)
        if not some:
            return b"", b""
        data += some
    head, end, rest = data.partition(b"\r\n\r\n")
    return head + end, rest


def _pass_on(source: socket.socket, target: socket.socket, most: int | None = None) -> None:
    """All that comes, or so many bytes of it."""
    with suppress(OSError):
        while most is None or most > 0:
            some = source.recv(65536)
            if not some:
                return
            target.sendall(some[:most])
            most = None if most is None else most - len(some)


def now_and_then(share: float, kinds: tuple[str, ...], seed: int = 0) -> Callable[[], str]:
    """A fault for that share of requests, of any of the kinds."""
    chance, lock = random.Random(seed), threading.Lock()

    def next_fault() -> str:
        with lock:
            return chance.choice(kinds) if chance.random() < share else ""

    return next_fault
