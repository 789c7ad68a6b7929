"""Pieces for notebooks are well formed, escaped, and have no colour of their own."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from dpdl.training.notebook_html import HEIGHT, MARGIN, WIDTH, card, curve, table

NASTY = "<script>alert(\"1\")</script> & 'x'"


def parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


def test_every_text_is_escaped() -> None:
    inside = [table((NASTY,), [(NASTY,)]), curve(NASTY, [(1, 2), (2, 3)])]
    html = card(NASTY, inside, [NASTY])
    assert "<script" not in html
    tree = parsed(html)
    shown = "".join(tree.itertext())
    assert shown.count(NASTY) == 6
    assert tree.find(".//svg").get("aria-label") == NASTY


def test_no_colour_is_set_so_dark_and_light_are_the_readers() -> None:
    html = card("a", [table(("b",), [("c",)]), curve("d", [(1, 2), (2, 3)])], ["e"])
    assert not re.search(r"#[0-9a-f]{3}|rgb|white|black", html)
    assert 'stroke="currentColor"' in html and "color:inherit" in html
    assert not re.search(r"<script|http|url\(", html)


def test_a_curve_goes_from_corner_to_corner() -> None:
    tree = parsed(curve("up", [(1, 0.0), (3, 5.0), (5, 10.0)]))
    points = [
        tuple(map(float, pair.split(",")))
        for pair in tree.find(".//polyline").get("points").split()
    ]
    assert points == [
        (MARGIN, HEIGHT - MARGIN),
        (WIDTH / 2, HEIGHT / 2),
        (WIDTH - MARGIN, MARGIN),
    ]


def test_a_curve_without_height_runs_through_the_middle() -> None:
    tree = parsed(curve("flat", [(1, 2.0), (2, 2.0)]))
    points = tree.find(".//polyline").get("points").split()
    assert {point.split(",")[1] for point in points} == {f"{HEIGHT / 2:.1f}"}


@pytest.mark.parametrize("points", [[], [(1, 2)]])
def test_a_single_point_has_no_curve(points: list) -> None:
    assert curve("one", points) == ""


def test_a_table_may_have_no_head() -> None:
    assert "<th" not in table((), [("a", "b")])
    assert "<th" in table(("x",), [])
