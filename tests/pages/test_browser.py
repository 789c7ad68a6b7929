"""The page in a real browser, which is asked over its DevTools pipe."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from dpdl.pages.page import page
from dpdl.pages.paper_tables import of_mode
from dpdl.paper.cells import Cell, published
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from tests.pages.browser import DESK, PHONE, Browser, needed
from tests.pages.cells import FIVE, RANKING, curve
from tests.pages.cells import cell as measured

pytestmark = needed


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """Ten cells; what is proven is unknown, a number, or nothing."""
    cells = []
    for graph in ("ring", "complete"):
        for k, name in enumerate(FIVE):
            cell = Cell("mnist", graph, 10, 0.25, 0.5, name)
            theirs = published()[cell]
            numbers = {
                "paper": theirs.accuracy,
                "ours": theirs.accuracy + 10 - 5 * k,
                "difference": 10.0 - 5 * k,
            }
            special = {"dpdl": UNKNOWN, "dp-cga": UNBOUNDED}
            proven = special.get(name, Epsilon(10.0 - k))
            seeds = tuple(range(k + 1))
            whose = {"graph": graph, "algorithm": name}
            cells.append(measured(**whose, **numbers, proven=proven, seeds=seeds))
    section = of_mode("sound", "proven", 540, cells, [RANKING])
    made = tmp_path_factory.mktemp("page") / "page.html"
    made.write_text(page("Cells", "About", [section], "foot"), "utf-8")
    return made


TABLE = "const table = document.querySelector('table.live');"
COLUMN = "[...table.tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[{}].textContent)"


def column(browser: Browser, number: int) -> list[str]:
    found: list[str] = browser.ask(
        f"(() => {{ {TABLE} return {COLUMN.format(number)}; }})()"
    )
    return found


def click(browser: Browser, number: int) -> list[str | None]:
    """Click a head; the aria-sort of all heads."""
    heads = "[...table.tHead.rows[0].cells]"
    found: list[str | None] = browser.ask(
        f"(() => {{ {TABLE} {heads}[{number}].querySelector('button').click(); "
        f"return {heads}.map(h => h.getAttribute('aria-sort')); }})()"
    )
    return found


def search(browser: Browser, words: str) -> str:
    """Type into the field of the first table; what is said beside it."""
    browser.ask("document.querySelector('input[type=search]').select()")
    browser.call("Input.insertText", text=words)
    said: str = browser.ask("document.querySelector('.search output').textContent")
    return said


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_the_page_loads_in_peace_and_fits(
    browser: Browser, path: Path, size: tuple[int, int]
) -> None:
    browser.open(path, size)
    width, room = browser.ask("[document.documentElement.scrollWidth, innerWidth]")
    assert width <= room == size[0]
    wider = browser.ask(
        "[...document.querySelectorAll('.wide')].map(box => box.scrollWidth > box.clientWidth)"
    )
    assert any(wider) == (size == PHONE), (
        "on a phone tables and figures scroll by themselves; a desk has room"
    )
    assert browser.ask("[...document.images].every(image => image.naturalWidth > 100)")
    loud = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    assert [event for event in browser.events if event.get("method") in loud] == []
    asked = [
        e["params"]["request"]["url"]
        for e in browser.events
        if e.get("method") == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_a_figure_of_many_panels_stays_readable(
    browser: Browser, tmp_path: Path, size: tuple[int, int]
) -> None:
    places = itertools.product((10, 20, 30), (0.25, 0.5, 1.0))
    cells = [
        measured(curve(2.3, 1.0), agents=agents, epsilon=epsilon)
        for agents, epsilon in places
    ]
    made = tmp_path / "page.html"
    made.write_text(
        page("Cells", "About", [of_mode("sound", "proven", 540, cells, [])], "foot"),
        "utf-8",
    )
    browser.open(made, size)
    wide, tall, box, room = browser.ask(
        "(() => { const box = document.querySelector('.tall'), image = box.querySelector('img'); "
        "return [image.width, image.height, box.clientWidth, document.documentElement.scrollWidth]; })()"
    )
    assert wide >= 700 and tall > 34 * 16 and room <= size[0]
    assert (wide > box) == (size == PHONE), "a phone scrolls it, a desk has room"


def test_a_head_sorts_its_column_by_value_and_back(
    browser: Browser, path: Path
) -> None:
    browser.open(path, DESK)
    given = column(browser, 8)
    assert given[:5] == ["+10.00", "+5.00", "0.00", "-5.00", "-10.00"]
    marks = click(browser, 8)
    assert column(browser, 8) == sorted(given, key=float), (
        "as words, +10.00 would be before +5.00"
    )
    assert marks == [*[None] * 8, "ascending", *[None] * 3]
    assert click(browser, 8)[8] == "descending"
    assert column(browser, 8) == sorted(given, key=float, reverse=True)
    assert click(browser, 5)[5:9] == ["ascending", None, None, None]
    assert column(browser, 5) == sorted(column(browser, 5))
    assert column(browser, 8)[:2] == ["+5.00", "+5.00"], "rows stay whole"


def test_what_has_no_number_has_its_place_too(browser: Browser, path: Path) -> None:
    browser.open(path, DESK)
    click(browser, 10)
    assert (
        column(browser, 10)
        == ["unknown"] * 2 + ["6"] * 2 + ["7"] * 2 + ["8"] * 2 + ["unbounded"] * 2
    )
    click(browser, 1)
    assert column(browser, 1) == ["complete"] * 5 + ["ring"] * 5
    assert column(browser, 10)[:5] == column(browser, 10)[5:], (
        "equal rows keep their order"
    )


def test_typing_hides_rows_without_all_the_words(browser: Browser, path: Path) -> None:
    browser.open(path, DESK)
    everything = column(browser, 5)
    assert search(browser, "  RING dp-") == "3 of 10 rows"
    assert column(browser, 1) == ["ring"] * 3 and sorted(column(browser, 5)) == [
        "dp-cga",
        "dp-dpsgd",
        "dp-netfleet",
    ]
    click(browser, 5)
    assert len(column(browser, 1)) == 3, "sorting brings no row back"
    assert search(browser, "mnistring") == "0 of 10 rows", (
        "words do not reach across cells"
    )
    assert search(browser, " ") == "10 of 10 rows" and sorted(
        column(browser, 5)
    ) == sorted(everything)


def test_every_live_table_has_its_own_field(browser: Browser, path: Path) -> None:
    browser.open(path, DESK)
    tables, fields, named = browser.ask(
        "[document.querySelectorAll('table.live').length, document.querySelectorAll('.search input').length, "
        "[...document.querySelectorAll('.search input')].every(field => field.labels.length === 1)]"
    )
    assert (tables, fields, named) == (2, 2, True)
    search(browser, "nothing")
    assert browser.ask(
        "[...document.querySelectorAll('.search output')].map(o => o.textContent)"
    ) == [
        "0 of 10 rows",
        "1 of 1 rows",
    ]


def test_a_keyboard_is_enough(browser: Browser, path: Path) -> None:
    browser.open(path, DESK)
    browser.ask("document.querySelector('.search input').focus()")
    browser.press("Tab")  # the box that may scroll
    browser.press("Tab")
    assert browser.ask("document.activeElement.textContent") == "data set"
    browser.press("Tab")
    browser.press("Enter", "\r")
    assert (
        browser.ask("document.activeElement.closest('th').getAttribute('aria-sort')")
        == "ascending"
    )
    assert column(browser, 1) == ["complete"] * 5 + ["ring"] * 5


def test_without_script_the_page_is_complete(browser: Browser, path: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(path, DESK)
        assert len(column(browser, 5)) == 10
        assert browser.ask("document.querySelectorAll('button, input').length") == 0
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
