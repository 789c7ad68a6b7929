from __future__ import annotations

from dpdl import graph
from dpdl.peer.view import View

NAMES = ("mercy", "olav", "vita", "anna")


def test_neighbours_are_named_in_the_order_of_their_agents():
    view = View(1, NAMES, graph.build("ring", 4, "metropolis", 0))
    assert view.neighbours("mercy") == ("olav", "anna")
    assert view.neighbours("vita") == ("olav", "anna")
    assert view.rank("vita") == 2
