"""Results as Markdown tables."""

from __future__ import annotations

from dataclasses import replace

from dpdl.pages.compared_cells import ComparedCell
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.studies.reproduce.claims import Claim
from dpdl.studies.reproduce.markdown import claim_tables, markdown_tables
from tests.studies.reproduce.small import CELL

ROW = ComparedCell(
    *CELL,
    mode="sound",
    ours=96.03,
    spread=None,
    paper=91.8,
    paper_spread=0.6,
    difference=4.23,
    within=False,
    beyond=False,
    proven=Epsilon(0.49996),
    seeds=(0,),
    note=None,
)


def test_a_line_for_every_graph_and_epsilon_and_a_column_for_every_algorithm() -> None:
    rows = [
        replace(ROW, epsilon=1.0, algorithm="decor", beyond=True, ours=97.64),
        replace(ROW, algorithm="muffliato", spread=0.31, paper=86.2),
        ROW,
        replace(ROW, graph="complete", epsilon=1.0),
        replace(ROW, graph="complete", epsilon=1.0, algorithm="decor", beyond=True),
    ]
    (table,) = markdown_tables(rows).values()
    assert table.split("\n") == [
        "| graph | epsilon | `dpdl` | `muffliato` | `decor` |",
        "| --- | --- | --- | --- | --- |",
        "| complete | 1 | 96.0 (91.8) | - | 96.0 |",
        "| ring | 0.5 | 96.0 (91.8) | 96.0 ± 0.3 (86.2) | - |",
    ]


def test_a_line_needs_an_algorithm_of_the_paper() -> None:
    beyond = replace(ROW, algorithm="decor", beyond=True)
    assert markdown_tables([beyond, replace(ROW, epsilon=1.0)]) == markdown_tables(
        [replace(ROW, epsilon=1.0)]
    )
    assert markdown_tables([beyond]) == {}


def test_claims_have_a_column_for_every_epsilon() -> None:
    claim = Claim(
        *CELL._replace(algorithm="concord"),
        claimed=91.8,
        average_model=97.52,
        agents_mean=97.51,
        agents_worst=97.5,
        seeds=(0,),
        spread=None,
        proven={},
        reached=True,
        reached_by_every_agent=True,
    )
    claims = [
        replace(claim, agents=20, agents_worst=None),
        replace(claim, epsilon=1.0, spread=0.068),
        claim,
        replace(claim, dataset="cifar10", epsilon=8.0),
    ]
    found = claim_tables(claims)
    assert list(found) == ["claims: mnist, concord", "claims: cifar10, concord"]
    assert found["claims: mnist, concord"].split("\n") == [
        "| graph | N | alpha_d | epsilon 0.5 | epsilon 1 |",
        "| --- | --- | --- | --- | --- |",
        "| ring | 10 | 0.25 | 97.50 (91.8) | 97.50 ± 0.07 (91.8) |",
        "| ring | 20 | 0.25 | ? (91.8) | - |",
    ]


def test_modes_data_sets_and_numbers_of_agents_have_tables_of_their_own() -> None:
    rows = [
        ROW,
        replace(ROW, agents=20),
        replace(ROW, alpha_d=1.0),
        replace(ROW, mode="as-published"),
    ]
    assert list(markdown_tables(rows)) == [
        "sound: mnist, N = 10, alpha_d = 0.25",
        "sound: mnist, N = 20, alpha_d = 0.25",
        "sound: mnist, N = 10, alpha_d = 1",
        "as-published: mnist, N = 10, alpha_d = 0.25",
    ]


def test_what_algorithm_1_proves_stands_beside_what_it_claims() -> None:
    rows = [
        replace(ROW, mode="algorithm1", proven=Epsilon(4.1331)),
        replace(ROW, mode="algorithm1", epsilon=1.0, proven=Epsilon(5615.98)),
        replace(ROW, mode="algorithm1", epsilon=2.0, proven=UNKNOWN),
        replace(ROW, mode="algorithm1", epsilon=4.0, proven=UNBOUNDED),
    ]
    (table,) = markdown_tables(rows).values()
    assert table.split("\n")[0] == "| graph | epsilon | `dpdl` | proven epsilon |"
    assert [line.split(" | ")[-1] for line in table.split("\n")[2:]] == [
        "4.13 |",
        "5,616 |",
        "- |",
        "unbounded |",
    ]
