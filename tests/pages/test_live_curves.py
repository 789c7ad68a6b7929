"""Curves of a page that has its numbers inside, beside a picture for paper."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dpdl.pages.lines import AVERAGE, LOOKS
from dpdl.pages.live_curves import (
    MOST,
    LiveCurve,
    LiveFigure,
    chosen,
    enlivened,
    loss_curves,
    score_curves,
)
from dpdl.pages.page import Section, page, private, public
from tests.folder.measured import metrics
from tests.pages.browser import DESK, Browser, needed

STILL = '<figure><div class="small"><img alt="still"></div><figcaption>x</figcaption></figure>'
ROUNDS = [metrics(t, t / 100, loss=3 / t) for t in range(1, 51)]


def data_of(html: str) -> dict:
    (text,) = re.findall(r'class="curves-data">(.*?)</script>', html)
    found: dict = json.loads(text)
    return found


def test_the_numbers_are_those_of_the_run() -> None:
    found = data_of(enlivened(STILL, score_curves(ROUNDS, "dpdl"), ROUNDS))
    assert found["options"] == {"label": "test accuracy", "percent": True, "x": "round"}
    mean, average = found["lines"]
    assert mean["x"] == list(range(1, 51))
    assert mean["y"] == pytest.approx([m.score.mean for m in ROUNDS])
    assert mean["low"] == pytest.approx([m.score.worst for m in ROUNDS])
    assert mean["high"] == pytest.approx([m.score.best for m in ROUNDS])
    assert "low" not in average
    assert mean["colour"] != average["colour"]
    assert mean["dash"] != average["dash"]
    other = data_of(enlivened(STILL, score_curves(ROUNDS, "dp-cga"), ROUNDS))["lines"]
    assert other[0]["colour"] == LOOKS["dp-cga"].colour
    assert other[1]["colour"] == average["colour"]


def test_a_loss_that_nobody_may_know_leaves_a_gap() -> None:
    rounds = [metrics(1, loss=2.5), metrics(2)]
    (line,) = data_of(enlivened(STILL, loss_curves("dpdl"), rounds))["lines"]
    assert line["y"] == [2.5, None]


def test_the_still_picture_and_its_caption_are_kept() -> None:
    html = enlivened(STILL, loss_curves("dpdl"), ROUNDS)
    assert (
        '<div class="curves-still"><div class="small"><img alt="still"></div></div>'
        in html
    )
    assert html.endswith("<figcaption>x</figcaption></figure>")


def test_no_name_can_end_the_script() -> None:
    nasty = LiveFigure("</script><b>", (LiveCurve("<!--", lambda m: m.round, AVERAGE),))
    html = enlivened(STILL, nasty, ROUNDS)
    assert "<b>" not in html
    assert "<!--" not in html
    assert data_of(html)["options"]["label"] == "</script><b>"


def test_of_very_many_rounds_some_are_in_the_page() -> None:
    rounds = [metrics(t) for t in range(1, 3 * MOST)]
    found = [m.round for m in chosen(rounds)]
    assert len(found) == MOST
    assert (found[0], found[-1]) == (1, 3 * MOST - 1)
    assert found == sorted(set(found))
    assert chosen(rounds[:MOST]) == rounds[:MOST]


# ------------------------------------------------------------------ in a browser
@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A page with a score, which is public, and a loss, which is not."""
    parts = [
        public(enlivened(STILL, score_curves(ROUNDS, "dpdl"), ROUNDS)),
        private("loss", enlivened(STILL, loss_curves("dpdl"), ROUNDS)),
    ]
    made = tmp_path / "page.html"
    section = Section("run", "Run", parts)
    made.write_text(page("Title", "About", [section], "foot"), "utf-8")
    return made


def test_a_page_without_such_figures_has_no_such_script() -> None:
    text = page("Title", "About", [Section("run", "Run", [public(STILL)])], "foot")
    assert "<script" not in text
    assert "curves" not in text


SEEN = "[...document.querySelectorAll('{}')].map(e => e.getBoundingClientRect().height > 50)"
IMAGES, PLOTS = SEEN.format(".curves-still"), SEEN.format(".curves-plot")


@needed
def test_with_a_script_curves_are_drawn_and_nothing_is_asked_for(
    browser: Browser, path: Path
) -> None:
    browser.open(path, DESK)
    browser.settle()
    assert browser.ask(PLOTS) == [True, True]
    assert not any(browser.ask(IMAGES))
    assert browser.ask(
        "[...document.querySelectorAll('.curves-plot > svg')].every(s => s.dataset.points > 50)"
    )
    loud = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    assert [e for e in browser.events if e.get("method") in loud] == []
    asked = [
        e["params"]["request"]["url"]
        for e in browser.events
        if e.get("method") == "Network.requestWillBeSent"
    ]
    assert asked == [path.as_uri()]


@needed
def test_values_can_be_read_and_lines_hidden(browser: Browser, path: Path) -> None:
    browser.open(path, DESK)
    browser.settle()
    box = "document.querySelector('.curves-plot').getBoundingClientRect()"
    x, y, wide = browser.ask(f"[{box}.left, {box}.top + 90, {box}.width]")
    browser.mouse("mouseMoved", x + wide - 16, y)
    browser.settle()
    tip = browser.ask("document.querySelector('.curves-tip').innerText").split("\n")
    assert tip[0] == "round 50"
    assert "50.00% (40.00% to 60.00%)" in tip
    browser.ask("document.querySelectorAll('.curves-legend button')[1].click()")
    browser.settle()
    names = "[...document.querySelectorAll('figure:first-of-type path[data-name]')]"
    first = browser.ask(f"{names}.map(p => p.dataset.name)")
    assert first[0] == "mean of agents"
    assert "average of all models" not in first


@needed
def test_a_drag_zooms_and_a_double_click_resets(browser: Browser, path: Path) -> None:
    browser.open(path, DESK)
    browser.settle()
    points = "Number(document.querySelector('.curves-plot > svg').dataset.points)"
    whole = browser.ask(points)
    box = "document.querySelector('.curves-plot').getBoundingClientRect()"
    x, y, wide = browser.ask(f"[{box}.left, {box}.top + 90, {box}.width]")
    browser.drag((x + 0.5 * wide, y), (x + 0.7 * wide, y))
    browser.settle()
    assert browser.ask(points) < whole / 2
    others = "Number(document.querySelectorAll('.curves-plot > svg')[1].dataset.points)"
    assert browser.ask(others) > 100, "each figure of a page zooms by itself"
    for count in (1, 2):
        held = {"button": "left", "clickCount": count}
        browser.mouse("mousePressed", x + 0.5 * wide, y, **held)
        browser.mouse("mouseReleased", x + 0.5 * wide, y, **held)
    browser.settle()
    assert browser.ask(points) == whole


@needed
def test_paper_has_the_still_pictures(browser: Browser, path: Path) -> None:
    path.write_text(path.read_text().replace("<img", '<img width="300" height="200"'))
    browser.open(path, DESK)
    browser.settle()
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.ask(IMAGES) == [True, True]
    assert not any(browser.ask(PLOTS))
    browser.call("Emulation.setEmulatedMedia", media="")


@needed
def test_without_a_script_there_are_still_pictures(
    browser: Browser, path: Path
) -> None:
    path.write_text(path.read_text().replace("<img", '<img width="300" height="200"'))
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(path, DESK)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.ask(IMAGES) == [True, True]
