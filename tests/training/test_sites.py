"""Agents whose records are in places of their own: the same bits, and nobody reads another's file."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.training.placement import Work
from dpdl.training.result import Result
from dpdl.training.train import resume, train
from dpdl.transport.threads import Threads, run_threads
from tests.sites import write_sites, write_test


@dataclass
class Guard:
    """Lets a file be opened by one thread only; all others get a `PermissionError`."""

    allowed: dict[str, int] = field(default_factory=dict)  # file -> thread
    opened: set[tuple[str, int]] = field(default_factory=set)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not self.allowed:
            return
        name, thread = str(arguments[0]), threading.get_ident()
        if name not in self.allowed:
            return
        if self.allowed[name] != thread:
            raise PermissionError(f"{name} is not this thread's")
        self.opened.add((name, thread))


GUARD = Guard()


@pytest.fixture
def guard() -> Iterator[Guard]:
    if not hasattr(sys, "_dpdl_guarded"):  # an audit hook cannot be removed
        sys.addaudithook(GUARD)
        sys._dpdl_guarded = True  # type: ignore[attr-defined]
    yield GUARD
    GUARD.allowed.clear()
    GUARD.opened.clear()


def experiment(folder: Path, **values: Any) -> Experiment:
    shared: dict[str, Any] = {
        "dataset": "digits",
        "sites": write_sites(folder, (50, 48, 50, 49, 50)),
        "test": write_test(folder),
        "records": "45",
        "algorithm": "dp-dpsgd",
        "sigma": 1.0,
        "batch": 16,
        "rounds": 4,
        "eval_every": 2,
    }
    return from_mapping(shared | values)


def everything(result: Result) -> list[dict[str, Any]]:
    """The metrics without what a clock says."""
    lines = [
        dict(result.metrics[k].to_json())
        if hasattr(result.metrics[k], "to_json")
        else dict(result.metrics[k])
        for k in range(len(result.metrics))
    ]
    return [{k: v for k, v in line.items() if k != "seconds"} for line in lines]


@pytest.mark.parametrize("algorithm", ["dp-dpsgd", "dpdl", "muffliato", "dp-netfleet"])
def test_five_threads_that_read_only_their_own_file_have_the_bits_of_one_process(
    algorithm: str, tmp_path: Path, guard: Guard
) -> None:
    e = experiment(tmp_path, algorithm=algorithm)
    alone = train(e)
    assert e.sites

    def in_threads(work: Work) -> None:
        def own(transport: Threads) -> None:
            guard.allowed[e.sites[transport.rank]] = threading.get_ident()
            ready.wait()
            work(transport)

        ready = threading.Barrier(5)
        run_threads(5, own, apart=True)

    apart = train(e, placement=in_threads)
    assert torch.equal(alone.models, apart.models)
    assert everything(alone) == everything(apart)
    assert guard.opened == set(guard.allowed.items())
    assert len(set(guard.allowed.values())) == 5


def test_the_guard_stops_who_reads_the_file_of_another(
    tmp_path: Path, guard: Guard
) -> None:
    e = experiment(tmp_path)
    assert e.sites
    guard.allowed.update(dict.fromkeys(e.sites, -1))
    with pytest.raises(InputError, match="is not this thread's"):
        train(e)


def test_where_every_site_tests_by_itself_placements_agree_as_well(
    tmp_path: Path,
) -> None:
    e = experiment(tmp_path, test=None, records="38")
    alone, apart = train(e), train(e, placement=lambda work: run_threads(5, work, True))
    assert everything(alone) == everything(apart)
    threads = train(e, placement="threads:2")
    assert everything(alone) == everything(threads)


def test_secure_sites_apart_test_what_process_0_has(tmp_path: Path) -> None:
    e = experiment(tmp_path, test=None, records="38", randomness="secure")
    apart = train(e, placement=lambda work: run_threads(5, work, True))
    assert apart.summary["accuracy"]["average_model"] is not None
    assert apart.summary["train_loss"] is None


def test_a_run_goes_on_with_the_same_records_only(tmp_path: Path) -> None:
    e = experiment(tmp_path)
    assert e.sites
    whole = train(e, out=tmp_path / "whole")
    train(experiment(tmp_path, rounds=2), out=tmp_path / "run")
    longer = resume(tmp_path / "run", rounds=4)
    assert torch.equal(longer.models, whole.models)
    with np.load(e.sites[3]) as found:
        x, y = found["x"].copy(), found["y"]
    x[0, 0, 0, 0] += 1
    np.savez(e.sites[3], x=x, y=y)
    with pytest.raises(InputError, match="other records of agent 3"):
        resume(tmp_path / "run", rounds=6)


def test_sites_may_be_given_in_python(tmp_path: Path) -> None:
    e = experiment(tmp_path)
    assert e.sites
    bare = from_mapping({k: v for k, v in e.as_dict().items() if k != "sites"})
    given = train(bare, sites=[Path(file) for file in e.sites])
    assert torch.equal(given.models, train(e).models)
