"""The style of a page has both grounds, and takes every colour from them."""

from __future__ import annotations

import re

from dpdl.pages.look import STYLE
from dpdl.pages.theme import DARK, LIGHT


def test_every_colour_is_a_variable_of_both_grounds() -> None:
    used = set(re.findall(r"var\(--([\w-]+)\)", STYLE))
    assert used - {"line", "light", "dark"} <= set(LIGHT)
    rules = re.sub(r":root \{[^}]*\}", "", STYLE)
    assert not re.findall(r"#[0-9A-Fa-f]{3,6}\b", rules)


def test_a_dark_ground_is_for_screens_of_those_who_prefer_it() -> None:
    first, second = re.findall(r":root \{([^}]*)\}", STYLE)
    assert all(f"--{name}: {colour};" in first for name, colour in LIGHT.items())
    assert all(f"--{name}: {colour};" in second for name, colour in DARK.items())
    place = STYLE.index(second)
    before = STYLE[:place].rsplit("@media", 1)[1]
    assert before.startswith(" screen and (prefers-color-scheme: dark)"), (
        "paper is white"
    )
