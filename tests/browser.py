"""Drives a headless Chromium through its debugging protocol: real pages, real keys, no driver."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 60  # seconds for one answer; the machine may be loaded
KEYS = {
    "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowUp": 38, "ArrowDown": 40, "Tab": 9,
}  # fmt: skip


class Browser:
    """One tab. ``trouble`` holds what its console, its policy and its scripts complained about.

    ``requests`` holds the URLs that were asked for, the page itself among them.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._loaded = 0
        self.trouble: list[str] = []
        self.requests: list[str] = []
        created = self._call("Target.createTarget", url="about:blank")
        self._session = self._call(
            "Target.attachToTarget", targetId=created["targetId"], flatten=True
        )["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    _session: str | None = None

    def open(self, page: Path, *, dark: bool = False, width: int = 1400, height: int = 900) -> None:
        """Load a file, in the light or the dark scheme, and wait for it."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self.trouble.clear()
        self.requests.clear()
        before = self._loaded
        self._call("Page.navigate", url=page.resolve().as_uri())
        while self._loaded == before:
            self._hear()

    def run(self, script: str) -> Any:
        """Evaluate an expression in the page; its value, by JSON."""
        done = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release one key."""
        text = {"text": key} if len(key) == 1 else {}
        code = {"windowsVirtualKeyCode": KEYS[key]} if key in KEYS else {}
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def point(self, selector: str, *, click: bool = False) -> None:
        """Move the pointer onto the first element of a selector, and click it if asked."""
        x, y = self.run(
            f"(() => {{ const node = document.querySelector({json.dumps(selector)});"
            "node.scrollIntoView({block: 'nearest'}); const box = node.getBoundingClientRect();"
            "return [box.left + Math.min(60, box.width / 2), box.top + box.height / 2]; })()"
        )
        kinds = ("mouseMoved", "mousePressed", "mouseReleased") if click else ("mouseMoved",)
        for kind in kinds:
            button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def picture(self, path: Path) -> None:
        """Write a PNG of what is on screen."""
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot")["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            heard = self._hear()
            if heard.get("id") == number:
                assert "error" not in heard, heard["error"]
                result: dict[str, Any] = heard["result"]
                return result

    def _hear(self) -> dict[str, Any]:
        heard: dict[str, Any] = json.loads(self._socket.recv(timeout=PATIENCE))
        method, about = heard.get("method"), heard.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded += 1
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.trouble.append(json.dumps(about["exceptionDetails"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.trouble.append(about["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
            self.trouble.append(json.dumps(about["args"]))
        return heard


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Start a headless Chromium with an empty profile; skips the test where there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses its sandbox to root
    process = subprocess.Popen(
        [
            program, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={profile}",
            "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            *root, "about:blank",
        ],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        socket_of = _address(profile, process)
        with connect(socket_of, max_size=None, proxy=None, open_timeout=PATIENCE) as socket:
            yield Browser(socket)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _address(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Where Chromium listens: it writes port and path into its profile."""
    file = profile / "DevToolsActivePort"
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, "Chromium ended before it listened"
        lines = file.read_text().splitlines() if file.exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.05)
    raise TimeoutError("Chromium does not listen")
