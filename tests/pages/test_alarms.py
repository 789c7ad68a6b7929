"""A warning is seen as one: by its sign, its heading and its words."""

from __future__ import annotations

from dpdl.pages.alarms import SIGN, Alarm, alarm
from tests.pages.parsing import parsed


def test_a_warning_has_a_sign_a_heading_and_its_words() -> None:
    html = alarm(Alarm("Gradients <b> are sent.", "No & privacy"))
    parsed(html)
    assert html.index(SIGN) < html.index("No &amp; privacy") < html.index("&lt;b&gt;")
    assert 'role="note"' in html and 'aria-hidden="true"' in SIGN


def test_a_warning_without_a_heading_says_that_it_is_one() -> None:
    assert ">Warning</p>" in alarm(Alarm("Look out."))
