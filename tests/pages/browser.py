"""A real browser, which is asked over its DevTools pipe."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
needed = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the PATH")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
]
"""A browser that asks nobody anything; it is given an empty folder of its own."""
SECONDS = 30
PHONE, DESK = (390, 844), (1280, 900)


class Browser:
    """One Chromium with one page; messages are JSON objects that end with a zero byte."""

    def __init__(self, folder: Path) -> None:
        to_it, tell = os.pipe()
        hear, from_it = os.pipe()
        ends = [
            fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_it, from_it)
        ]  # neither is 3 or 4

        def place() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        quiet: dict[str, Any] = {
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        self._process = subprocess.Popen(
            [str(CHROMIUM), *OPTIONS, f"--user-data-dir={folder}"],
            preexec_fn=place,
            close_fds=False,
            **quiet,
        )
        for end in (to_it, from_it, *ends):
            os.close(end)
        self._tell, self._hear, self._rest, self._count = tell, hear, b"", 0
        self._session: dict[str, str] = {}
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = {
            "sessionId": self.call(
                "Target.attachToTarget", targetId=target, flatten=True
            )["sessionId"]
        }
        for part in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{part}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        message = {
            "id": self._count,
            "method": method,
            "params": params,
            **self._session,
        }
        os.write(self._tell, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while b"\0" not in self._rest:
            assert select.select([self._hear], [], [], max(0, end - time.monotonic()))[
                0
            ], "the browser is silent"
            piece = os.read(self._hear, 1 << 16)
            assert piece, "the browser has gone"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def open(self, path: Path, size: tuple[int, int]) -> None:
        self.visit(path.as_uri(), size)

    def visit(self, url: str, size: tuple[int, int]) -> None:
        width, height = size
        wide = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": width <= PHONE[0],
        }
        self.call("Emulation.setDeviceMetricsOverride", **wide)
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(
            event.get("method") == "Page.loadEventFired" for event in self.events
        ):
            self.events.append(self._next())

    def ask(self, expression: str) -> Any:
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def settle(self) -> None:
        """Until what a script has asked to draw is drawn."""
        frame = (
            "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
        )
        self.call("Runtime.evaluate", expression=frame, awaitPromise=True)

    def prefer(self, theme: str) -> None:
        """From the next page on: `light` or `dark`."""
        wanted = {"name": "prefers-color-scheme", "value": theme}
        self.call("Emulation.setEmulatedMedia", features=[wanted])

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        held = {"button": "left", "buttons": 1, "clickCount": 1}
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, **held)
        self.mouse("mouseMoved", *end, **held)
        self.mouse("mouseReleased", *end, **{**held, "buttons": 0})

    def wheel(self, x: float, y: float, down: float) -> None:
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=down)

    def press(self, key: str, text: str = "") -> None:
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36}
        code = codes.get(key, {"ArrowLeft": 37, "ArrowRight": 39}.get(key, 0))
        keys = {"key": key, "windowsVirtualKeyCode": code}
        self.call(
            "Input.dispatchKeyEvent",
            type="keyDown",
            **keys,
            **({"text": text} if text else {}),
        )
        self.call("Input.dispatchKeyEvent", type="keyUp", **keys)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(SECONDS)
        os.close(self._tell)
        os.close(self._hear)
