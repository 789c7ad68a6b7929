"""The pages that are made to be given away, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.pages.document import as_html
from dpdl.pages.public_page import public_page
from dpdl.pages.run_section import of_run
from dpdl.pages.statement import statement
from dpdl.pages.statement_evidence import read
from tests.pages.browser import DESK, PHONE, Browser, needed

pytestmark = needed
NARROW = (360, 740)


@pytest.fixture(scope="module")
def given(planted: Path, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("given")
    found = read(planted)
    pages = {
        "public": public_page([of_run(found.summary, found.settings, planted)], "foot"),
        "statement": as_html(statement(found, "0.0", "2020-02-02")),
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, "utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.mark.parametrize("size", [DESK, PHONE, NARROW])
@pytest.mark.parametrize("name", ["public", "statement"])
def test_it_fits_and_asks_nobody(
    browser: Browser, given: dict[str, Path], name: str, size: tuple[int, int]
) -> None:
    browser.open(given[name], size)
    width, room = browser.ask("[document.documentElement.scrollWidth, innerWidth]")
    assert width <= room == size[0]
    loud = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    assert [event for event in browser.events if event.get("method") in loud] == []
    asked = [
        e["params"]["request"]["url"]
        for e in browser.events
        if e.get("method") == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith("data:")] == [
        given[name].as_uri()
    ]


def test_an_alarm_is_the_first_thing_on_a_phone(
    browser: Browser, given: dict[str, Path]
) -> None:
    browser.open(given["statement"], NARROW)
    top, colour = browser.ask(
        "(() => { const box = document.querySelector('.alarm'); "
        "return [box.getBoundingClientRect().top, getComputedStyle(box).borderLeftColor]; })()"
    )
    assert top < NARROW[1] and colour == "rgb(179, 38, 30)"
    head, sign, weight = browser.ask(
        "(() => { const head = document.querySelector('.alarm .head'); return ["
        "head.textContent, head.querySelector('svg').getBoundingClientRect().width, "
        "getComputedStyle(head).fontWeight]; })()"
    )
    assert head == "No privacy: the noise is not secret", "not by its colour alone"
    assert sign > 15 and weight == "700"
