"""What `dpdl bench peers` measures is what it says; how fast anything is, no test asserts."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from dpdl.peer.bench import (
    DPDL,
    DPSGD,
    PeerCost,
    delay_cost,
    medians,
    peer_cost,
    sync_cost,
)
from dpdl.peer.bench_sites import PeerCase

TINY = PeerCase(DPSGD, "digits", "mlp", 8, 3, 10)


@pytest.mark.slow
def test_bytes_and_processor_are_those_of_a_peer_and_a_round() -> None:
    found = peer_cost(TINY)
    assert found.parameters == 4810
    assert found.needed_bytes == 2 * 4810 * 4  # one row to each of two neighbours
    assert 1 < found.wire_ratio < 1.5  # headers weigh something beside so small a row
    assert found.wire_bytes == pytest.approx(found.wire_ratio * found.needed_bytes)
    assert found.cpu_ms > 0
    assert found.alone_cpu_ms > 0


def test_repeats_are_one_measurement_with_their_medians() -> None:
    def one(cpu: float, alone: float, wire: float) -> PeerCost:
        return PeerCost(
            "digits", "mlp", 4810, DPSGD, 40, wire, 100.0, wire / 100, cpu, alone,
            (cpu - 15) / alone, (cpu,), (alone,),
        )  # fmt: skip

    found = medians(
        [one(30.0, 2.0, 104.0), one(17.0, 1.0, 101.0), one(18.0, 3.0, 102.0)]
    )
    assert (found.cpu_ms, found.alone_cpu_ms, found.wire_ratio) == (18.0, 2.0, 1.02)
    assert found.cpu_ms_each == (30.0, 17.0, 18.0)
    assert found.alone_cpu_ms_each == (2.0, 1.0, 3.0)
    assert found.cpu_ratio == (18.0 - 15.0) / 2.0
    assert found.allowed_cpu_ms == pytest.approx(1.3 * 2.0 + 15.0)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace counts fsyncs")
@pytest.mark.parametrize(("algorithm", "most"), [(DPDL, 6), (DPSGD, 3)])
def test_a_round_takes_few_fsyncs(algorithm: str, most: int) -> None:
    found = sync_cost(replace(TINY, algorithm=algorithm, rounds=16))
    assert 2 < found.a_round < most + 0.5  # peers are not at the same place of a round


@pytest.mark.slow
def test_a_slow_link_takes_time() -> None:
    found = delay_cost(replace(TINY, rounds=12), 100.0, 1)
    assert found.round_ms > 100.0
    assert found.round_ms > found.round_ms_without
