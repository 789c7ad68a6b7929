"""What left, and who received it."""

from __future__ import annotations

from dpdl.pages.statement_messages import receivers


def test_many_agents_are_not_listed_one_by_one() -> None:
    (words,) = receivers([[1], *[[0, 2]] * 98, [98]])
    assert "1 to 2 of them" in words.text
