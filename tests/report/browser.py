"""Debian's chromium, driven over its DevTools protocol: enough to load, look and click.

A browser library would bring a driver of its own to keep in step; this is a socket and a dozen
messages.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SECONDS = 600.0


class Page:
    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._number = 0
        self.problems: list[str] = []  # console errors, exceptions, failed or outside requests
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=SECONDS))
            self._note(message)
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                found: dict[str, Any] = message["result"]
                return found

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.problems.append(json.dumps(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.problems.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "data:", "http://127.0.0.1:")):
                    self.problems.append(f"outside request: {url[:200]}")

    def open(self, url: str, width: int, *, height: int = 900, dark: bool = False) -> None:
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def resize(self, width: int, height: int = 900) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def run(self, script: str) -> Any:
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"]))
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        end = time.monotonic() + SECONDS
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition}; so far {self.problems}")
            time.sleep(0.1)

    def press(self, key: str) -> None:
        codes = {"Enter": (13, "\r"), "Tab": (9, ""), "ArrowRight": (39, ""), "ArrowDown": (40, "")}
        code, text = codes[key]
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                text=text if kind == "keyDown" else "",
            )

    def picture(self, target: Path, *, whole: bool = False) -> None:
        clip = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {**size, "scale": 1}, "captureBeyondViewport": True}
        data = self.call("Page.captureScreenshot", format="png", **clip)["data"]
        target.write_bytes(base64.b64decode(data))


@contextmanager
def chromium() -> Iterator[Page]:
    """A page of a browser of our own, which ends with the block."""
    from websockets.sync.client import connect

    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                CHROMIUM,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
                "--force-color-profile=srgb",
                "--remote-debugging-port=0",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = _port(Path(profile))
            with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=SECONDS) as answer:
                pages = json.load(answer)
            address = next(one for one in pages if one["type"] == "page")["webSocketDebuggerUrl"]
            with connect(address, max_size=None, proxy=None) as socket:
                yield Page(socket)
        finally:
            process.terminate()
            process.wait(timeout=SECONDS)


def _port(profile: Path) -> int:
    """The browser writes it down once it listens."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            return int((profile / "DevToolsActivePort").read_text().splitlines()[0])
        except (OSError, IndexError, ValueError):
            time.sleep(0.05)
    raise TimeoutError("chromium did not open its port")
