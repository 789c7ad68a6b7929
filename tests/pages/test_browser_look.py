"""Pages on both grounds, wide and narrow: what is written can be read, and nothing is cut."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dpdl.pages.document import as_html
from dpdl.pages.public_page import whole_page
from dpdl.pages.statement import statement
from dpdl.pages.statement_evidence import read
from dpdl.pages.theme import DARK, LIGHT
from dpdl.studies.pages import sections_of
from tests.pages.attacked import leave_attack
from tests.pages.browser import Browser, needed
from tests.pages.cells import CELL, enter
from tests.pages.eyes import contrast

pytestmark = needed
WIDTHS = [360, 768, 1280]
THEMES = {"light": LIGHT, "dark": DARK}


@pytest.fixture(scope="module")
def pages(planted: Path, tmp_path_factory) -> dict[str, Path]:
    """A run that was attacked, its statement, and a reproduced cell."""
    place = tmp_path_factory.mktemp("pages")
    run = place / "run"
    shutil.copytree(planted, run)
    (run / "attack").mkdir()
    leave_attack(run / "attack")
    enter(place / "results", CELL, 0.0)
    found = {
        "run": whole_page("run", sections_of(run), "foot"),
        "results": whole_page("results", sections_of(place / "results"), "foot"),
        "statement": as_html(statement(read(run), "0.0", "2020-02-02")),
    }
    for name, text in found.items():
        (place / f"{name}.html").write_text(text, "utf-8")
    return {name: place / f"{name}.html" for name in found}


TEXTS = """
[...document.querySelectorAll("h1, h2, h3, p, li, td, th, dt, dd, a, figcaption, span")]
  .filter(one => one.textContent.trim() && one.getClientRects().length)
  .map(one => {
    let ground = one;
    while (ground && getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)")
      ground = ground.parentElement;
    const colour = getComputedStyle(one).color;
    return [colour, ground ? getComputedStyle(ground).backgroundColor : "none"].join("|");
  })
"""
"""The colour of every text, and what is behind it."""


def hexadecimal(colour: str) -> str:
    red, green, blue = (int(x) for x in colour[4:-1].split(","))
    return f"#{red:02X}{green:02X}{blue:02X}"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ["run", "results", "statement"])
def test_every_text_stands_out_from_its_ground(
    browser: Browser, pages: dict[str, Path], name: str, theme: str
) -> None:
    browser.prefer(theme)
    browser.open(pages[name], (1280, 900))
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert hexadecimal(ground) == THEMES[theme]["ground"]
    pairs = set(browser.ask(TEXTS))
    assert len(pairs) > 2
    for pair in pairs:
        text, behind = map(hexadecimal, pair.split("|"))
        assert contrast(text, behind) >= 4.5, pair


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["run", "results", "statement"])
def test_the_page_never_scrolls_sideways(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    browser.open(pages[name], (width, 800))
    wide, room = browser.ask("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room == width
    outside = browser.ask(
        "[...document.querySelectorAll('table, img, .alarm, .said')].filter(one => "
        "!one.closest('.wide') && one.getBoundingClientRect().right > innerWidth).length"
    )
    assert outside == 0


def test_a_phone_scrolls_pictures_in_their_own_boxes(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["run"], (360, 800))
    widths = browser.ask(
        "[...document.querySelectorAll('figure .wide')].map(box => "
        "[box.clientWidth, box.scrollWidth, box.tabIndex])"
    )
    real = [box for box in widths if box[1] > box[0]]
    assert len(real) >= 3, "their print would be too small otherwise"
    assert all(room <= 360 and tab == 0 for room, _, tab in widths)


def test_the_attack_comes_before_the_settings(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["run"], (1280, 900))
    heads = browser.ask(
        "[...document.querySelectorAll('h2')].map(head => head.textContent)"
    )
    assert heads[1:] == [
        "What your neighbour could rebuild",
        "Settings and versions",
        "Not covered by epsilon",
    ]
    assert browser.ask("[...document.querySelectorAll('nav a')].length") == 4


def test_names_of_options_are_on_one_line(
    browser: Browser, pages: dict[str, Path]
) -> None:
    for width in (320, 360, 390):
        browser.open(pages["run"], (width, 800))
        lines = browser.ask(
            "[...document.querySelectorAll('.name, dt')].map(one => { const range = "
            "document.createRange(); range.selectNodeContents(one); "
            "return [one.textContent, new Set([...range.getClientRects()]"
            ".map(box => box.top)).size]; })"
        )
        assert ["--public", 1] in lines
        assert [name for name, count in lines if count > 1] == []


def test_the_key_of_an_algorithm_has_the_colour_of_its_ground(
    browser: Browser, pages: dict[str, Path]
) -> None:
    found = []
    for theme in THEMES:
        browser.prefer(theme)
        browser.open(pages["results"], (1280, 900))
        found.append(
            browser.ask("getComputedStyle(document.querySelector('.key path')).stroke")
        )
    assert [hexadecimal(colour) for colour in found] == ["#0072B2", "#3B8FF0"]
