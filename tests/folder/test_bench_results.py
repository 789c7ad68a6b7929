"""All lines of the committed history are records of their kind, and come back as they were."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.bench_results import (
    CheckoutRatios,
    GradientSpeeds,
    HistoryLine,
    NoiseSpeeds,
    RoundCost,
    RoundCosts,
    SpeedRatio,
    Startup,
    TimeShares,
    Workload,
)
from dpdl.peer.bench import PeerCosts

HISTORY = Path(__file__).parents[2] / "benchmarks" / "history.jsonl"
KINDS = {
    "gradients": GradientSpeeds,
    "noise": NoiseSpeeds,
    "rounds": RoundCosts,
    "startup": Startup,
    "against": CheckoutRatios,
    "peers": PeerCosts,
}


def test_the_committed_history_is_read_without_loss() -> None:
    counts: Counter[str] = Counter()
    for number, text in enumerate(HISTORY.read_text("utf-8").splitlines(), 1):
        content = json.loads(text)
        line = HistoryLine.from_json(content, f"line {number}")
        assert line.to_json() == content
        measured = KINDS[line.bench].from_json(line.measured, f"line {number}")
        assert measured.to_json() == line.measured
        counts[line.bench] += 1
    assert {"gradients", "noise", "rounds", "startup"} <= set(counts)


def test_a_cost_begins_with_its_workload() -> None:
    case = Workload("dpdl", "ring", 10)
    cost = RoundCost(
        **vars(case),
        seconds_per_round=0.1,
        share=TimeShares(0.7, 0.1, 0.1, 0.1),
        peak_memory_mb=300.0,
        gradient_path="fused",
        edges=30,
    )
    found = cost.to_json()
    assert list(found)[:6] == list(case.to_json())
    assert "evaluation_seconds_per_agent" not in found, "the oldest lines have none"
    assert found["share"]["gradients"] == 0.7
    assert RoundCost.from_json(json.loads(json.dumps(found))) == cost


def test_a_workload_has_defaults_and_refuses_other_kinds() -> None:
    found = Workload.from_json({"algorithm": "dpdl", "graph": "ring", "agents": 3})
    assert (found.model, found.batch, found.rounds) == ("lenet", 216, 5)
    with pytest.raises(InputError, match="agents must be a whole number"):
        Workload.from_json({"algorithm": "dpdl", "graph": "ring", "agents": "3"})


def test_ratios_come_back_from_json() -> None:
    row = SpeedRatio("gradients", "fused", "us per sample", 20.0, 10.0, 2.0)
    before = CheckoutRatios("abc", "def", 3, (row,))
    assert CheckoutRatios.from_json(json.loads(json.dumps(before.to_json()))) == before
