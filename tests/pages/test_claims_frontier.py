"""The picture of all claims: the paper's, ours, and what central training has reached."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from dpdl.errors import InputError
from dpdl.pages.captions import Words
from dpdl.pages.claims_frontier import CENTRAL, Place, claims_figure, draw_claims

WORDS = Words("title", "what is proven")
RING = Place("mnist", "ring", 10, 0.25, 0.5, 91.8, 97.0)
MISSING = Place("cifar10", "complete", 30, 1.0, 8.0, 71.8, None)


def of(axes, gid: str) -> dict[float, float]:
    """Heights of what is drawn, by place."""
    found = [line for line in axes.lines if line.get_gid() == gid]
    return {float(one.get_xdata()[0]): float(one.get_ydata()[0]) for one in found}


def test_a_claim_is_there_whether_or_not_it_was_measured() -> None:
    mnist, cifar10 = claims_figure([RING, MISSING], WORDS).axes
    assert list(of(mnist, "claim").values()) == [91.8]
    assert list(of(mnist, "ours").values()) == [97.0]
    assert list(of(cifar10, "claim").values()) == [71.8]
    assert of(cifar10, "ours") == {}


def test_every_data_set_has_its_central_results() -> None:
    figure = claims_figure([RING, MISSING], WORDS)
    for axes, name in zip(figure.axes, ("mnist", "cifar10"), strict=True):
        wanted = {one.epsilon: one.accuracy for one in CENTRAL if one.dataset == name}
        assert of(axes, "central") == wanted
        sources = {one.source for one in CENTRAL if one.dataset == name}
        assert {text.get_text() for text in axes.texts} == sources
    assert len(claims_figure([RING], WORDS).axes) == 1


def test_no_two_claims_stand_in_one_place_and_ours_is_over_its_claim() -> None:
    graphs, agents = ("complete", "bipartite", "ring"), (10, 20, 30)
    places = [
        Place("mnist", graph, n, alpha, epsilon, 90.0, 96.0)
        for graph in graphs
        for n in agents
        for alpha in (0.25, 1.0)
        for epsilon in (0.25, 0.5)
    ]
    (axes,) = claims_figure(places, WORDS).axes
    claims = of(axes, "claim")
    assert len(claims) == len(places)
    assert of(axes, "ours").keys() == claims.keys()
    assert all(abs(x - 0.25) < 0.1 or abs(x - 0.5) < 0.2 for x in claims)


def test_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no claims"):
        claims_figure([], WORDS)


def test_it_is_written(tmp_path: Path) -> None:
    path = draw_claims([RING, MISSING], tmp_path / "x.png", WORDS)
    with Image.open(path) as image:
        assert image.width > image.height > 400
