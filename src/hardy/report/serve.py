"""`hardy view`: a page or a folder of pages on this machine alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from hardy.errors import InputError

HOST = "127.0.0.1"
# A page from elsewhere that resolves its own name to this machine is not answered.
NAMES = {HOST, "localhost"}

Find = Callable[[str], "Found | None"]


class Found(NamedTuple):
    content: bytes
    type: str


def one_page(page: bytes) -> Find:
    """The page at "/", and nothing else."""
    return lambda path: Found(page, "text/html; charset=utf-8") if path == "/" else None


def folder_of_pages(folder: Path) -> Find:
    """Files of the folder; whatever leads out of it, links included, is not there."""
    root = folder.resolve()

    def find(path: str) -> Found | None:
        try:
            target = root.joinpath(unquote(path).lstrip("/") or "index.html").resolve()
            if not target.is_relative_to(root) or not target.is_file():
                return None
            return Found(target.read_bytes(), guess_type(target.name)[0] or "text/plain")
        except (OSError, ValueError):  # such as a name with a null byte
            return None

    return find


def server(find: Find, port: int = 0) -> ThreadingHTTPServer:
    """Listens from now on; port 0 is any that is free."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(with_content=True)

        def do_HEAD(self) -> None:
            self._answer(with_content=False)

        def handle(self) -> None:
            """A browser that goes away in the middle is no fault of anybody's."""
            with suppress(ConnectionError):
                super().handle()

        def finish(self) -> None:
            with suppress(ConnectionError):
                super().finish()

        def _answer(self, with_content: bool) -> None:
            host = self.headers.get("Host", "").rsplit(":", 1)[0]
            found = find(urlsplit(self.path).path) if host in NAMES else None
            if found is None:
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", found.type)
            self.send_header("Content-Length", str(len(found.content)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if with_content:
                self.wfile.write(found.content)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the terminal belongs to whoever reads it."""

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        raise InputError(
            f"cannot listen on port {port}: {error.strerror}; name another with --port"
        ) from error


def address(listening: ThreadingHTTPServer) -> str:
    return f"http://{HOST}:{listening.server_address[1]}/"
