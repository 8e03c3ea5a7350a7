"""`hardy view`: a server that shows a page or a folder of pages to this machine alone."""

import os
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from hardy.errors import InputError
from hardy.places import locate
from hardy.progress import Track, untracked, watch
from hardy.report.gallery import sample_photo
from hardy.report.write import render_store

HOST = "127.0.0.1"
# Hosts that are answered: a page from elsewhere may resolve its own name to this machine.
_HOST_NAMES = {HOST, "localhost"}

Find = Callable[[str], tuple[bytes, str] | None]  # from a path to content and MIME type


def one_page(page: bytes) -> Find:
    """Find the page at "/", and nothing else."""
    return lambda path: (page, "text/html; charset=utf-8") if path == "/" else None


def folder_of_pages(folder: Path) -> Find:
    """Find files of the folder, and nothing that a path or a link leads to outside it; nor what is
    hidden, such as a repository or keys."""
    root = folder.resolve()

    def find(path: str) -> tuple[bytes, str] | None:
        with suppress(OSError, ValueError):  # such as a name with a null byte
            target = root.joinpath(unquote(path).lstrip("/") or "index.html").resolve()
            inside = target.relative_to(root)  # else a ValueError
            if not any(part.startswith(".") for part in inside.parts) and target.is_file():
                return target.read_bytes(), guess_type(target.name)[0] or "text/plain"
        return None

    return find


class _PageHandler(BaseHTTPRequestHandler):
    server: "PageServer"

    def __init__(self, *request: Any) -> None:
        """Answer, and ignore that a browser closes the connection in the middle."""
        with suppress(ConnectionError):
            super().__init__(*request)

    def do_GET(self) -> None:
        host = self.headers.get("Host", "").rsplit(":", 1)[0]
        found = None
        with suppress(ValueError):  # of an address that is none, such as http://[
            found = self.server.find(urlsplit(self.path).path) if host in _HOST_NAMES else None
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        content, kind = found
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing, so that the terminal shows the address alone."""


class PageServer(ThreadingHTTPServer):
    """Listens on this machine alone once it is made; `serve_forever` answers."""

    def __init__(self, find: Find, port: int = 0) -> None:
        self.find = find
        try:
            super().__init__((HOST, port), _PageHandler)
        except OSError as error:
            why = f"cannot listen on port {port}: {error.strerror}; name another with `port`"
            raise InputError(why) from error

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_address[1]}/"


def view(
    path: str | os.PathLike[str],
    *,
    port: int = 0,
    photo: str | os.PathLike[str] | None = None,
    track: Track = watch,
) -> PageServer:
    """Show a store, a run, a page or a leaderboard in a browser: a server for this machine alone.

    It listens at its `address` until it is closed; port 0 is any that is free. A page that is made
    here shows what the suites do to a `photo`, as that of `hardy.report` does.

    ```python
    import hardy
    import numpy as np

    images = np.zeros((20, 32, 32, 3), np.uint8)
    hardy.evaluate("fake:10", suite="cifar10_c", images=images, labels=[0] * 20, only=["fog"])
    with hardy.view("runs") as server:
        print(server.address)  # server.serve_forever() answers until Ctrl-C
    ```
    """
    shown = sample_photo() if photo is None else Path(photo)
    return PageServer(pages_of(locate(path), shown, track), port)


def pages_of(path: Path, photo: Path | None = None, track: Track = untracked) -> Find:
    """Find a page or a folder of pages as they are; of a store or a run, make the report."""
    if (path / "index.html").is_file():
        return folder_of_pages(path)
    there = path.read_bytes() if path.is_file() else render_store(path, photo, track=track)
    return one_page(there)
