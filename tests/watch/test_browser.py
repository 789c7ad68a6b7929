"""The live page in a real browser: what a person sees, and what it costs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpdl.graph import ring
from dpdl.watch.server import Address, WatchServer
from dpdl.watch.watched_folder import WatchedFolder
from tests.pages.browser import DESK, Browser, needed
from tests.watch.growing import Growing

pytestmark = needed
SIZES = [(360, 740), (768, 1024), (1280, 900)]
SECONDS = 60
LOUD = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A large run that goes on, and two small ones that are over."""
    folder = tmp_path_factory.mktemp("runs")
    for name, last in (("small-a", 30), ("small-b", 40)):
        run = Growing(folder / name)
        run.go(1, last)
        run.finish()
    return folder


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[..., WatchServer]]:
    started: list[tuple[WatchServer, threading.Thread]] = []

    def start(folder: Path, public: bool = False) -> WatchServer:
        server = WatchServer(WatchedFolder(folder, public), Address())
        thread = threading.Thread(target=server.serve)
        thread.start()
        started.append((server, thread))
        return server

    yield start
    for server, thread in started:
        server.shutdown()
        thread.join(20)


@pytest.fixture(scope="module")
def small(serve, runs: Path) -> WatchServer:
    """The page of the small runs."""
    return serve(runs)


def wait(browser: Browser, condition: str) -> Any:
    """Until an expression is true; its value."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if found := browser.ask(condition):
            return found
        time.sleep(0.1)
    raise AssertionError(f"never: {condition}")


POINTS = "Number((document.querySelector('[data-panel={}] svg') || {{dataset: {{}}}}).dataset.points)"


def opened(browser: Browser, server: WatchServer, size: tuple[int, int] = DESK) -> None:
    browser.visit(server.url, size)
    wait(browser, f"{POINTS.format('score')} > 0")


def texts(browser: Browser, selector: str) -> list[str]:
    found: list[str] = browser.ask(
        f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)"
    )
    return found


# ------------------------------------------------------------------ what is seen
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
def test_the_page_fits_every_width_in_both_themes(
    browser: Browser, small: WatchServer, size: tuple[int, int], theme: str
) -> None:
    browser.prefer(theme)
    browser.visit("about:blank", size)
    opened(browser, small, size)
    width, room = browser.ask("[document.documentElement.scrollWidth, innerWidth]")
    assert width <= room == size[0]
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if theme == "light" else "rgb(21, 25, 30)")
    assert [e for e in browser.events if e.get("method") in LOUD] == []
    asked = [
        e["params"]["request"]["url"]
        for e in browser.events
        if e.get("method") == "Network.requestWillBeSent"
    ]
    here = small.url.partition("?")[0]
    assert asked
    assert all(url.startswith(here) for url in asked)


def test_runs_stand_side_by_side_and_can_be_hidden(
    browser: Browser, small: WatchServer
) -> None:
    opened(browser, small)
    assert sorted(texts(browser, "#table tbody button")) == ["small-a", "small-b"]
    legend = "[data-panel=score] .curves-legend button"
    assert texts(browser, legend) == ["small-a", "small-b"]
    browser.ask(f"document.querySelector('{legend}').click()")
    line = "[data-panel=score] path[data-name=small-a]"
    wait(browser, f"!document.querySelector('{line}')")
    pressed = browser.ask(
        f"document.querySelector('{legend}').getAttribute('aria-pressed')"
    )
    assert pressed == "false"
    browser.ask("document.querySelector('#table input').click()")
    wait(browser, f"document.querySelectorAll('{legend}').length === 2")


def test_what_is_not_covered_is_marked(browser: Browser, small: WatchServer) -> None:
    opened(browser, small)
    marked = browser.ask(
        "[...document.querySelectorAll('.panel.private')].map(p => p.dataset.panel)"
    )
    assert marked == ["loss", "noise", "clip", "seconds"]
    shown = "[...document.querySelectorAll('.panel .mark:not([hidden])')].length"
    assert browser.ask(shown) == 4


def test_a_public_page_has_nothing_else(browser: Browser, serve, runs: Path) -> None:
    opened(browser, serve(runs, public=True))
    seen = browser.ask(
        "[...document.querySelectorAll('.panel:not([hidden])')].map(p => p.dataset.panel)"
    )
    assert seen == ["world", "score", "epsilon", "distance", "bytes"]
    text = browser.ask("document.body.innerText")
    assert "small-a" not in text
    assert "training loss" not in text


def test_hover_and_keys_read_values(browser: Browser, serve, tmp_path: Path) -> None:
    run = Growing(tmp_path / "run")
    run.go(1, 20)
    opened(browser, serve(run.path))
    browser.ask("document.querySelector('[data-panel=loss]').scrollIntoView()")
    box = "document.querySelector('[data-panel=loss] .curves-plot')"
    x, y, wide = browser.ask(
        f"(() => {{ const b = {box}.getBoundingClientRect(); "
        "return [b.left, b.top + 100, b.width]; })()"
    )
    browser.mouse("mouseMoved", x + wide - 20, y)
    tip = wait(browser, f"{box}.querySelector('.curves-tip').innerText")
    assert tip.split("\n")[0] == "round 20"
    assert "0.1 (0.05 to 0.15)" in tip
    browser.ask(f"{box}.focus()")
    browser.press("Home")
    said = "document.querySelector('[data-panel=loss] .curves-said').textContent"
    assert wait(browser, said) == "round 1: mean of agents 2"
    browser.press("ArrowRight")
    assert wait(browser, f"{said}.includes('round 2:') && {said}")


def test_drag_and_wheel_zoom_all_charts_together(
    browser: Browser, serve, tmp_path: Path
) -> None:
    run = Growing(tmp_path / "run", rounds=100)
    run.go(1, 100)
    opened(browser, serve(run.path))
    browser.ask("document.querySelector('[data-panel=score]').scrollIntoView()")
    plot = "document.querySelector('[data-panel=score] .curves-plot')"
    x, y, wide = browser.ask(
        f"(() => {{ const b = {plot}.getBoundingClientRect(); "
        "return [b.left, b.top + 100, b.width]; })()"
    )
    whole = browser.ask(POINTS.format("loss"))
    browser.drag((x + wide * 0.4, y), (x + wide * 0.7, y))
    reset = "!document.querySelector('[data-panel={}] .curves-tools button:last-child').hidden"
    for panel in ("score", "loss", "bytes"):
        wait(browser, reset.format(panel))
    wait(browser, f"{POINTS.format('loss')} < {whole} / 2")
    browser.ask(f"{plot}.focus()")
    browser.press("Escape")
    wait(browser, f"{POINTS.format('loss')} === {whole}")
    browser.wheel(x + wide / 2, y, -120)
    wait(browser, f"{POINTS.format('loss')} < {whole}")


def test_dark_and_light_can_be_switched(browser: Browser, small: WatchServer) -> None:
    browser.prefer("light")
    opened(browser, small)
    ground = "getComputedStyle(document.body).backgroundColor"
    seen = []
    for _ in range(3):
        browser.ask("document.getElementById('theme').click()")
        seen.append(browser.ask(ground))
    light, dark = "rgb(255, 255, 255)", "rgb(21, 25, 30)"
    assert seen == [light, dark, light]


def test_numbers_are_a_table_too(browser: Browser, small: WatchServer) -> None:
    opened(browser, small)
    for name, rows in (("numbers", 40), ("each", 3)):
        browser.ask(f"document.querySelector('#{name} summary').click()")
        wait(
            browser,
            f"document.querySelectorAll('#{name} tbody tr').length === {rows}",
        )
    heads = texts(browser, "#numbers th[scope=col]")
    assert heads[:2] == ["round", "score, mean"]
    assert "loss, mean *" in heads


# ------------------------------------------------------------------ what happens to runs
def test_a_run_grows_and_another_one_appears(
    browser: Browser, serve, tmp_path: Path
) -> None:
    run = Growing(tmp_path / "one")
    run.go(1, 5)
    opened(browser, serve(tmp_path))
    title = "document.title.split(' ')[0]"
    assert browser.ask(title) == "5/40" or browser.ask(title) == "4/40"
    run.go(6, 12)
    wait(browser, f"{title} === '12/40'")
    Growing(tmp_path / "two").go(1, 3)
    wait(browser, "document.querySelectorAll('#table tbody tr').length === 2")


def test_a_server_that_ends_is_told(browser: Browser, tmp_path: Path) -> None:
    run = Growing(tmp_path / "one")
    run.go(1, 5)
    server = WatchServer(WatchedFolder(tmp_path), Address())
    thread = threading.Thread(target=server.serve)
    thread.start()
    opened(browser, server)
    server.shutdown()
    thread.join(20)
    live = "document.getElementById('live')"
    wait(browser, f"{live}.dataset.state === 'lost'")
    assert "no answer" in browser.ask(f"{live}.textContent")


# ------------------------------------------------------------------ large runs
def test_a_large_run_stays_fluid(browser: Browser, serve, tmp_path: Path) -> None:
    """200 agents and 5,000 rounds: counted in points, bytes and elements, not in seconds."""
    run = Growing(tmp_path / "large", ring(200), rounds=6000)
    run.go(1, 5000)
    server = serve(run.path)
    opened(browser, server, DESK)
    wait(browser, "document.querySelectorAll('#world circle.known').length === 200")
    width = browser.ask(
        "document.querySelector('[data-panel=score] .curves-plot').clientWidth"
    )
    for panel, lines in (("score", 4), ("loss", 3), ("bytes", 1)):
        assert 0 < browser.ask(POINTS.format(panel)) <= 4 * lines * width
    assert browser.ask("document.querySelectorAll('*').length") < 1500
    watched = server.watched.runs[0]
    before, events = watched.bytes_read, len(browser.events)
    run.go(5001, 5003)
    wait(browser, "document.title.startsWith('5,003/')")
    assert watched.bytes_read - before < 20_000
    sizes = [
        e["params"]["encodedDataLength"]
        for e in browser.events[events:]
        if e.get("method") == "Network.loadingFinished"
    ]
    assert sizes
    assert max(sizes) < 20_000
