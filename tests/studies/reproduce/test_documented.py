"""The numbers in `docs/reproduction.md` are those in `results/`."""

from __future__ import annotations

import itertools
from pathlib import Path

from dpdl.studies.reproduce import beside_paper, recipes
from dpdl.studies.reproduce.claims import Claim, claims
from dpdl.studies.reproduce.markdown import claim_tables, markdown_tables

ROOT = Path(__file__).parents[3]


def test_the_page_has_all_tables_of_the_results_and_no_others() -> None:
    text = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    found = markdown_tables(
        beside_paper.compared(
            ROOT / "results", beside_paper.every_cell(), recipes.MODES
        )
    )
    for title, table in found.items():
        assert f"*{title}*\n\n{table}\n\n" in text, title
    assert text.count("| graph | epsilon | `") == len(found) >= 3


def test_the_page_has_every_claim_and_how_many_are_reached() -> None:
    text = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    found = claims(ROOT / "results", beside_paper.every_cell())
    tables = claim_tables(found.cells)
    for title, table in tables.items():
        assert f"*{title}*\n\n{table}\n\n" in text, title
    assert text.count("| graph | N | alpha_d |") == len(tables) >= 2
    assert found.sentence in " ".join(text.split())


def test_the_page_has_what_conspirators_learn() -> None:
    text = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    cells = claims(ROOT / "results", beside_paper.every_cell()).cells
    for epsilon, agents in itertools.product((0.5, 4.0), (10, 20, 30)):
        threats = ("neighbour", "neighbours:2", f"neighbours:{agents // 2}")
        proven = {
            tuple(
                f"{one.proven[threat].value:.3g}"
                for threat in (*threats, f"neighbours:{agents - 1}")
            )
            for one in cells
            if (one.cell.epsilon, one.cell.agents) == (epsilon, agents)
        }
        assert len(proven) == 1, "it depends on the number of agents alone"
        row = f"| {agents} | {epsilon:g} | {' | '.join(*proven)} |"
        assert row in text


def test_the_readme_says_how_far_claims_and_proofs_are_apart() -> None:
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    cells = claims(ROOT / "results", beside_paper.every_cell())
    count = cells.of
    assert cells.measured == cells.reached == cells.reached_by_every_agent == count
    assert f"All {count} accuracies that the paper claims for DPDL" in text
    algorithm1 = beside_paper.compared(
        ROOT / "results", beside_paper.every_cell(), ("algorithm1",)
    )
    times = [row.proven.value / row.epsilon for row in algorithm1]
    assert f"is {min(times):.0f} to {round(max(times), -2):,.0f} times what is" in text


def test_the_page_has_the_narrowest_claims() -> None:
    text = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    cells = claims(ROOT / "results", beside_paper.every_cell()).cells
    assert all(len(one.seeds) >= 3 for one in cells), "as the page says"

    def margin(one: Claim) -> float:
        assert one.agents_worst is not None
        return one.agents_worst - one.claimed

    first, second = sorted(cells, key=margin)[:2]
    words = " ".join(text.split())
    assert f"by their mean with {margin(first):.2f} points to spare" in words
    for one in (first, second):
        assert (
            f"{one.agents_worst:.2f} for {one.claimed:.1f} ({one.cell.agents}" in words
        )
