"""The benchmark says what it should; how fast anything is, no test asserts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from dpdl.bench.repeats import interleaved
from dpdl.bench.gradients import multiply_adds
from dpdl.bench.noise import speeds, ways
from dpdl.bench.rounds import Workload, measure, ratios
from dpdl.native import library
from tests.commands import dpdl


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_repeats_are_interleaved_and_the_first_is_not_counted() -> None:
    """By a clock that says how long each call takes: 100 s when it is the first, else 1 s for a and 2 s for b."""
    order: list[str] = []
    now = [0.0]

    def way(name: str, seconds: float):
        def call() -> None:
            now[0] += seconds if name in order else 100.0
            order.append(name)

        return call

    ways = {"a": way("a", 1.0), "b": way("b", 2.0)}
    found = interleaved(ways, 1, clock=lambda: now[0])
    assert "".join(order) == "abab"
    assert found == {"a": 1.0, "b": 2.0}


def test_operations_are_counted_as_the_layers_have_them() -> None:
    """0.76 million for LeNet, by counting products of every layer in a loop over its shapes."""
    total = 0
    for first, outputs, inputs in (
        (True, 24 * 24 * 6, 25),
        (False, 8 * 8 * 16, 6 * 25),
    ):
        total += outputs * inputs * (2 if first else 3)
    for inputs, outputs in ((256, 120), (120, 84), (84, 10)):
        total += 3 * inputs * outputs
    assert multiply_adds() == total


def test_gradients_are_reported_with_ratios_and_a_history(monkeypatch, capsys) -> None:
    words = [
        "--batch",
        "8",
        "--pairs",
        "2",
        "--repeats",
        "1",
        "--save",
        "h.jsonl",
        "--plot",
        "p.png",
        "--json",
    ]
    code, out, _ = dpdl(monkeypatch, capsys, "bench", "gradients", *words)
    facts = json.loads(out)
    us = facts["us_per_sample"]
    assert code == 0
    assert set(us) == {"fused", "plain", "torch_func", "opacus", "plain_backward"}
    if library() is not None:
        assert facts["ratio_opacus"] == pytest.approx(us["opacus"] / us["fused"])
        assert facts["peak_share"] > 0
    line = json.loads(Path("h.jsonl").read_text())
    assert line["bench"] == "gradients" and line["us_per_sample"] == us
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


def test_noise_is_reported_with_ratios_and_a_history(monkeypatch, capsys) -> None:
    words = ["--entries", "1000", "--repeats", "1", "--save", "h.jsonl"]
    code, out, _ = dpdl(monkeypatch, capsys, "bench", "noise", *words, "--json")
    facts = json.loads(out)
    ns = facts["ns_per_number"]
    assert code == 0
    assert set(ns) == {"secure", "secure_float64", "reproducible", "copy"}
    assert facts["ratio_reproducible"] == pytest.approx(
        ns["secure"] / ns["reproducible"]
    )
    assert facts["ratio_copy"]["secure"] == pytest.approx(ns["secure"] / ns["copy"])
    line = json.loads(Path("h.jsonl").read_text())
    assert line["bench"] == "noise" and line["ns_per_number"] == ns
    code, out, _ = dpdl(monkeypatch, capsys, "bench", "noise", *words)
    assert code == 0 and "times a copy" in out


class Watched:
    """Noise that writes down which rows it was asked to perturb."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, torch.dtype]] = []

    def perturb(self, row, std, *where, into) -> None:
        assert into.shape == row.shape and into.dtype == row.dtype
        self.rows.append((row.numel(), row.dtype))


def test_noise_is_timed_on_the_rows_it_names() -> None:
    secure, reproducible = Watched(), Watched()
    found = ways(1000, secure, reproducible)
    for way in found.values():
        way()
    assert list(found) == ["secure", "secure_float64", "reproducible", "copy"]
    assert secure.rows == [(1000, torch.float32), (1000, torch.float64)]
    assert reproducible.rows == [(1000, torch.float32)]


def test_noise_is_measured_per_number() -> None:
    seconds = {"secure": 8e-6, "reproducible": 4e-6, "copy": 1e-6}
    found = speeds(seconds, 1000)
    assert found["ns_per_number"] == pytest.approx(
        {"secure": 8, "reproducible": 4, "copy": 1}
    )
    assert found["ratio_copy"]["secure"] == pytest.approx(8)
    assert found["ratio_reproducible"] == pytest.approx(2)


def test_rounds_say_where_the_time_goes() -> None:
    facts = measure(Workload("dpdl-sound", "ring", 3, batch=4, rounds=1))
    assert sum(facts["share"].values()) == pytest.approx(1, abs=0.05)
    assert facts["peak_memory_mb"] > 50
    assert facts["edges"] == 9


def test_rounds_of_many_cases_are_drawn(monkeypatch, capsys) -> None:
    words = [
        "--algorithms",
        "dpdl,dp-dpsgd",
        "--graphs",
        "ring",
        "--agents",
        "3,4",
        "--batch",
        "2",
        "--repeats",
        "1",
    ]
    code, out, _ = dpdl(
        monkeypatch, capsys, "bench", "rounds", *words, "--plot", "p.png", "--json"
    )
    rows = json.loads(out)["rows"]
    assert code == 0
    assert [(row["algorithm"], row["agents"]) for row in rows] == [
        (a, n) for a in ("dpdl", "dp-dpsgd") for n in (3, 4)
    ]
    assert all(row["evaluation_seconds_per_agent"] > 0 for row in rows)
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


def test_ratios_are_of_dpdl_with_lenet() -> None:
    def row(graph: str, agents: int, seconds: float, **more: str) -> dict:
        share = {"gradients": 0.5, "noise": 0.2, "exchange": 0.1, "other": 0.2}
        case = {"algorithm": "dpdl", "model": "lenet", "graph": graph, "agents": agents}
        return {**case, "seconds_per_round": seconds, "share": share, **more}

    rows = [
        row("complete", 10, 0.5),
        row("complete", 30, 2.0),
        row("bipartite", 10, 1.0),
    ]
    others = [
        row("complete", 30, 9.0, model="cnn"),
        row("complete", 10, 9.0, algorithm="muffliato"),
    ]
    assert ratios([*rows, *others]) == pytest.approx(
        {"complete_30_over_10": 4.0, "overhead_bipartite_10": 0.3}
    )
    assert ratios(rows[:1]) == {}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["gradients", "--repeats", "0"], "at least 1"),
        (["noise", "--entries", "0"], "at least 1"),
        (["rounds", "--agents", "ten"], "whole numbers"),
        (["rounds", "--algorithms", "dpdll"], "dpdl"),
        (["rounds", "--model", "resnet"], "lenet"),
    ],
)
def test_wrong_input_is_refused(
    monkeypatch, capsys, words: list[str], hint: str
) -> None:
    code, _, err = dpdl(monkeypatch, capsys, "bench", *words)
    assert code == 2 and hint in err
