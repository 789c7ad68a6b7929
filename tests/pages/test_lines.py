"""One look per algorithm: no two are alike, and all eyes can tell them apart on both grounds."""

from __future__ import annotations

import itertools
import json

import pytest

from dpdl import algorithms
from dpdl.pages.lines import AVERAGE, FREE, LOOKS, SHAPES, as_json, look_of, looks
from dpdl.pages.theme import DARK, LIGHT
from dpdl.paper.cells import algorithms_of_paper
from tests.pages.eyes import apart, contrast

PAIRS = list(itertools.combinations(sorted(LOOKS), 2))


def test_every_algorithm_has_a_look() -> None:
    assert set(LOOKS) == set(algorithms.NAMES)


@pytest.mark.parametrize("what", ["dash", "marker"])
def test_no_two_algorithms_share_colour_and(what: str) -> None:
    for ground in ("colour", "dark"):
        pairs = {(getattr(x, ground), getattr(x, what)) for x in LOOKS.values()}
        assert len(pairs) == len(LOOKS)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_what_has_the_same_dashes_differs_in_colour_for_all_eyes(
    one: str, other: str
) -> None:
    a, b = LOOKS[one], LOOKS[other]
    if a.dash == b.dash:
        assert apart(a.colour, b.colour) >= 8
        assert apart(a.dark, b.dark) >= 8


def test_the_papers_five_differ_in_everything() -> None:
    five = [LOOKS[name] for name in (*algorithms_of_paper(), "dpdl-sound", "decor")]
    for values in zip(*five, strict=True):
        assert len(set(values)) == 7


@pytest.mark.parametrize("name", sorted(LOOKS))
def test_a_line_stands_out_from_both_grounds(name: str) -> None:
    look = LOOKS[name]
    assert contrast(look.colour, LIGHT["ground"]) >= 3
    assert contrast(look.dark, DARK["ground"]) >= 4.5


def test_an_algorithm_of_ones_own_keeps_its_look() -> None:
    alone = look_of("mine:Own")
    assert looks(["dpdl", "mine:Own", "other:One"])["mine:Own"] == alone
    assert (alone.colour, alone.dash) not in {
        (x.colour, x.dash) for x in LOOKS.values()
    }


def test_own_ones_of_one_picture_look_different() -> None:
    names = [f"mine:Own{k}" for k in range(len(FREE))]
    found = looks([*names, *LOOKS])
    assert len({(x.colour, x.dash) for x in found.values()}) == len(found)
    assert list(found) == [*names, *LOOKS]
    assert looks(names[::-1])[names[3]] == found[names[3]]
    more = looks(f"mine:Own{k}" for k in range(60))
    assert len(more) == 60 and set(more.values()) <= set(FREE)


def test_a_script_is_given_plain_values() -> None:
    found = json.loads(json.dumps(as_json(["dp-cga", "mine:Own"])))
    assert list(found) == ["dp-cga", "mine:Own"]
    assert found["dp-cga"] == {
        "colour": "#BF3A00",
        "dark": "#FF7034",
        "dash": [5, 2],
        "marker": "square",
    }
    assert found["mine:Own"]["marker"] in SHAPES


def test_the_average_of_models_looks_like_no_algorithm() -> None:
    taken = {(x.colour, x.dash) for x in (*LOOKS.values(), *FREE)}
    assert (AVERAGE.colour, AVERAGE.dash) not in taken
    assert contrast(AVERAGE.colour, LIGHT["ground"]) >= 3
    assert contrast(AVERAGE.dark, DARK["ground"]) >= 4.5


def test_matplotlib_takes_every_look() -> None:
    from matplotlib.lines import Line2D

    for look in (*LOOKS.values(), *FREE):
        line = Line2D([0], [0], ls=look.linestyle, marker=look.letter, c=look.colour)
        assert line.get_color() == look.colour
        assert line.is_dashed() == bool(look.dash)
