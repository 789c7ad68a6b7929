"""Rounds say where their time goes; ratios are those that the targets are about."""

from __future__ import annotations

import time

import pytest

from dpdl.bench.rounds import Stopwatch, measure_workload, time_shares, with_ratios
from dpdl.errors import RunFailed
from dpdl.folder.bench_results import RoundCost, TimeShares, Workload


def row(graph: str, agents: int, seconds: float, **more: str) -> RoundCost:
    case = {"algorithm": "dpdl", "model": "lenet", "graph": graph, "agents": agents}
    return RoundCost(
        **{**case, **more},
        seconds_per_round=seconds,
        share=TimeShares(0.5, 0.2, 0.1, 0.2),
        peak_memory_mb=300.0,
        gradient_path="fused",
        edges=30,
    )


def test_rounds_are_measured_in_a_process_of_their_own() -> None:
    found = measure_workload(Workload("dpdl-sound", "ring", 3, batch=4, rounds=1))
    share = found.share
    total = share.gradients + share.noise + share.exchange + share.other
    assert share.secrets == 0
    assert total == pytest.approx(1, abs=0.05)
    assert found.peak_memory_mb > 50 and found.edges == 9
    assert found.evaluation_seconds_per_agent > 0


@pytest.mark.parametrize("algorithm", ["concord", "decor"])
def test_the_noise_of_pairs_has_a_share_of_its_own(algorithm: str) -> None:
    found = measure_workload(Workload(algorithm, "ring", 3, batch=4, rounds=1)).share
    assert found.secrets > 0 and found.noise > 0
    total = found.gradients + found.noise + found.exchange + found.other
    assert total + found.secrets == pytest.approx(1, abs=0.05)


def test_work_within_work_of_its_name_counts_once() -> None:
    watch = Stopwatch()
    inner = watch.timed("secrets", lambda: time.sleep(0.02))
    watch.timed("secrets", inner)()
    assert 0.02 <= watch.seconds["secrets"] < 0.04


def test_a_workload_that_fails_is_named() -> None:
    with pytest.raises(RunFailed, match=r"dpdl on rign of 3: .*rign"):
        measure_workload(Workload("dpdl", "rign", 3, batch=4, rounds=1))


def test_time_on_several_cores_is_divided_by_their_number() -> None:
    parts = [{"gradients": 2.0, "noise": 1.0, "secrets": 0.25, "exchange": 0.5}] * 2
    found = time_shares(parts, total=5.0, count=2)
    assert found == TimeShares(0.4, 0.2, 0.2, pytest.approx(0.1), 0.1)
    assert time_shares(parts, total=1.0, count=1).other == 0.0


def test_ratios_are_of_dpdl_with_lenet() -> None:
    rows = [
        row("complete", 10, 0.5),
        row("complete", 30, 2.0),
        row("bipartite", 10, 1.0),
    ]
    others = [
        row("complete", 30, 9.0, model="cnn"),
        row("complete", 10, 9.0, algorithm="muffliato"),
    ]
    found = with_ratios([*rows, *others])
    assert found.complete_30_over_10 == pytest.approx(4.0)
    assert found.overhead_bipartite_10 == pytest.approx(0.3)
    few = with_ratios(rows[:1]).to_json()
    assert list(few) == ["rows"], "what was not measured has no key"
