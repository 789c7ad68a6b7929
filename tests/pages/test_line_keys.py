"""The key of a line on a page has the look that pictures give it."""

from __future__ import annotations

from dpdl.pages.line_keys import LineKey, line_key
from dpdl.pages.lines import LOOKS, SHAPES
from tests.pages.parsing import parsed


def test_a_key_has_both_colours_the_dashes_and_the_marker() -> None:
    html = line_key(LineKey("dp-cga", LOOKS["dp-cga"]))
    parsed(html)
    assert "--light: #BF3A00; --dark: #FF7034" in html
    assert 'stroke-dasharray="10 4"' in html, "a line is two units wide"
    assert SHAPES["square"].path in html
    assert html.endswith("dp-cga</span>")


def test_a_solid_line_has_no_dashes_and_a_name_is_escaped() -> None:
    html = line_key(LineKey("<x>", LOOKS["dpdl"]))
    assert 'stroke-dasharray="none"' in html and "&lt;x&gt;</span>" in html
