from __future__ import annotations

import os
import time

import numpy as np
import pytest

from dpdl.errors import RunFailed
from dpdl.peer.bench_sites import (
    BenchSites,
    PeerCase,
    count_syncs,
    free_ports,
    processor_seconds,
    write_random,
)

TRACE = """\
12 fsync(3</x/runs/ab/round.key>) = 0
12 fdatasync(4</x/runs/ab/run.sqlite-wal>) = 0
13 fdatasync(4</x/m.npz.dpdl-ledger/ledger.sqlite-wal>) = 0
12 fsync(5</x/runs/ab/private/status.json.tmp>) = 0
12 fsync(5</x/round.key-is-a-folder/private>) = 0
"""


def test_syncs_of_rounds_are_told_from_those_of_the_clock() -> None:
    assert count_syncs(TRACE) == (3, 2)


def test_the_processor_time_of_a_process_grows() -> None:
    before, until = processor_seconds(os.getpid()), time.process_time() + 0.05
    while time.process_time() < until:
        pass
    assert 0.02 <= processor_seconds(os.getpid()) - before < 5


def test_ports_are_different() -> None:
    assert len(set(free_ports(5))) == 5


def test_random_records_have_ten_classes(tmp_path) -> None:
    write_random(tmp_path / "some.npz", (1, 8, 8), 20)
    found = np.load(tmp_path / "some.npz")
    assert found["x"].shape == (20, 1, 8, 8)
    assert set(found["y"].tolist()) == set(range(10))


def test_a_peer_that_ends_ends_the_measurement(tmp_path) -> None:
    case = PeerCase("dp-dpsgd", "digits", "mlp", 8, 3, 4)
    sites = BenchSites(case, tmp_path)
    (sites.runs[1].path / "initial.safetensors").write_bytes(b"nothing")
    try:
        sites.start()
        with pytest.raises(RunFailed, match=r"has ended: .*initial\.safetensors"):
            sites.wait_for(3)
    finally:
        sites.close()
