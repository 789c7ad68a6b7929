"""Results as Markdown tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpdl.studies.reproduce.markdown import tables
from tests.commands import dpdl as command
from tests.studies.reproduce.small import CELL, entered

ROW: dict[str, Any] = {
    **CELL._asdict(),
    **{
        "mode": "sound",
        "ours": 96.03,
        "spread": None,
        "paper": 91.8,
        "beyond": False,
        "proven": 0.49996,
    },
}


def test_a_line_for_every_graph_and_epsilon_and_a_column_for_every_algorithm() -> None:
    rows = [
        {**ROW, "epsilon": 1.0, "algorithm": "decor", "beyond": True, "ours": 97.64},
        {**ROW, "algorithm": "muffliato", "spread": 0.31, "paper": 86.2},
        ROW,
        {**ROW, "graph": "complete", "epsilon": 1.0},
    ]
    (table,) = tables(rows).values()
    assert table.split("\n") == [
        "| graph | epsilon | `dpdl` | `muffliato` | `decor` |",
        "| --- | --- | --- | --- | --- |",
        "| complete | 1 | 96.0 (91.8) | - | - |",
        "| ring | 0.5 | 96.0 (91.8) | 96.0 ± 0.3 (86.2) | - |",
        "| ring | 1 | - | - | 97.6 |",
    ]


def test_modes_data_sets_and_numbers_of_agents_have_tables_of_their_own() -> None:
    rows = [
        ROW,
        {**ROW, "agents": 20},
        {**ROW, "alpha_d": 1.0},
        {**ROW, "mode": "as-published"},
    ]
    assert list(tables(rows)) == [
        "sound: mnist, N = 10, alpha_d = 0.25",
        "sound: mnist, N = 20, alpha_d = 0.25",
        "sound: mnist, N = 10, alpha_d = 1",
        "as-published: mnist, N = 10, alpha_d = 0.25",
    ]


def test_what_algorithm_1_proves_stands_beside_what_it_claims() -> None:
    rows = [
        {**ROW, "mode": "algorithm1", "proven": 4.1331},
        {**ROW, "mode": "algorithm1", "epsilon": 1.0, "proven": 5615.98},
        {**ROW, "mode": "algorithm1", "epsilon": 2.0, "proven": None},
    ]
    (table,) = tables(rows).values()
    assert table.split("\n")[0] == "| graph | epsilon | `dpdl` | proven epsilon |"
    assert [line.split(" | ")[-1] for line in table.split("\n")[2:]] == [
        "4.13 |",
        "5,616 |",
        "- |",
    ]


def test_the_command_prints_them(monkeypatch, capsys, tmp_path: Path) -> None:
    entered(tmp_path, CELL, 0.9)
    code, out, _ = command(
        monkeypatch, capsys, "reproduce", "status", "--markdown", "--out", str(tmp_path)
    )
    assert code == 0 and out.startswith(
        "*as-published: mnist, N = 10, alpha_d = 0.25*\n\n| graph | epsilon | `dpdl` |\n"
    )
    assert "| ring | 0.5 | 90.0 (91.8) |" in out
