from __future__ import annotations

import http.client
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hardy.errors import InputError
from hardy.report.serve import Find, PageServer, folder_of_pages, one_page


@contextmanager
def serving(find: Find) -> Iterator[http.client.HTTPConnection]:
    with PageServer(find) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        connection = http.client.HTTPConnection(*listening.server_address[:2], timeout=600)
        try:
            yield connection
        finally:
            connection.close()
            listening.shutdown()
            thread.join()


def get(connection: http.client.HTTPConnection, path: str, **headers: str) -> tuple[int, bytes]:
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_one_page_and_nothing_else() -> None:
    with serving(one_page(b"<p>page")) as connection:
        assert get(connection, "/?x=1") == (200, b"<p>page")
        assert get(connection, "/run.json")[0] == 404
        connection.request("HEAD", "/")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
        assert answer.getheader("Content-Length") == "7"
        connection.request("POST", "/", b"")
        assert connection.getresponse().status == 501


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "/link.txt",
        "/linked/secret.txt",
        "/%00",
        "/sub",
        "/" + "a" * 5000,
    ],
)
def test_nothing_outside_the_folder_is_there(tmp_path: Path, path: str) -> None:
    site = tmp_path / "site"
    (site / "sub").mkdir(parents=True)
    (site / "index.html").write_text("index")
    (site / "sub" / "more.html").write_text("more")
    (tmp_path / "secret.txt").write_text("secret")
    (site / "link.txt").symlink_to(tmp_path / "secret.txt")
    (site / "linked").symlink_to(tmp_path)
    with serving(folder_of_pages(site)) as connection:
        assert get(connection, path)[0] == 404
        assert get(connection, "/") == (200, b"index")
        assert get(connection, "/sub/more.html") == (200, b"more")


@pytest.mark.parametrize("path", ["/.env", "/.git/config", "/sub/.key", "/%2eenv", "/to-hidden"])
def test_what_is_hidden_is_not_there(tmp_path: Path, path: str) -> None:
    site = tmp_path / ".site"  # its own name is the user's affair
    for name in ("index.html", ".env", ".git/config", "sub/.key"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(name)
    (site / "to-hidden").symlink_to(".env")
    with serving(folder_of_pages(site)) as connection:
        assert get(connection, path)[0] == 404
        assert get(connection, "/") == (200, b"index.html")


def test_other_host_names_are_not_answered() -> None:
    with serving(one_page(b"page")) as connection:
        assert get(connection, "/", Host="evil.example")[0] == 404
        assert get(connection, "/", Host="localhost:80")[0] == 200


def test_only_this_machine_reaches_it_and_a_taken_port_is_told() -> None:
    with PageServer(one_page(b"")) as listening:
        assert listening.address.startswith("http://127.0.0.1:")
        port = listening.server_address[1]
        with pytest.raises(InputError, match=f"port {port}.*`port`"):
            PageServer(one_page(b""), port)
        with socket.socket() as probe, pytest.raises(OSError, match="refused"):
            probe.connect(("127.0.0.2", port))


def test_a_browser_that_goes_away_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    page = one_page(b"x" * 30_000_000)
    with serving(page) as connection:
        with socket.create_connection((connection.host, connection.port)) as leaving:
            leaving.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            leaving.recv(10)
            # Linger 0: the connection is reset, as by a closed tab.
            leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert get(connection, "/")[0] == 200
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "line",
    [b"GET http://[ HTTP/1.1", b"GET //[x]a/ HTTP/1.1", b"GET /\xff\0 HTTP/1.1", b"GET /", b"\xff"],
)
def test_a_malformed_request_is_answered_without_a_word_here(
    line: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "index.html").write_text("index")
    with serving(folder_of_pages(tmp_path)) as connection:
        with socket.create_connection((connection.host, connection.port)) as asking:
            asking.sendall(line + b"\r\nHost: localhost\r\n\r\n")
            assert asking.recv(10)
        assert get(connection, "/")[0] == 200
    assert capsys.readouterr().err == ""
