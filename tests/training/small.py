"""A small run that many tests make: five agents, twelve rounds, a module of 77 parameters."""

from __future__ import annotations

import signal
from typing import Any

import dpdl
from dpdl.planning.plan import Plan, plan
from dpdl.records import Record
from dpdl.tasks.data import Dataset
from tests.conftest import small_module

SMALL = dpdl.Experiment(
    dataset="digits",
    graph="ring",
    agents=5,
    rounds=12,
    batch=8,
    lr=0.1,
    clip=1.0,
    sigma=0.5,
    alpha_d=1.0,
    eval_every=4,
    checkpoint_every=3,
    partition="dirichlet-agent",
)


def train(blobs: Dataset, experiment: dpdl.Experiment = SMALL, **more) -> dpdl.Result:
    return dpdl.train(experiment, data=blobs, model=small_module(), **more)


def changed(**options) -> dpdl.Experiment:
    return dpdl.Experiment(**{**SMALL.as_dict(), **options})


def without_time(value: Any) -> Any:
    """A copy of metrics or a summary without what depends on the clock or the place."""
    if isinstance(value, Record):
        value = value.to_json()
    if isinstance(value, dict):
        return {
            k: without_time(v)
            for k, v in value.items()
            if k not in ("seconds", "run_dir", "ledger_head")
        }
    return [without_time(v) for v in value] if isinstance(value, list) else value


class StopAt:
    """A watcher that behaves like a person who presses Ctrl-C after a round."""

    def __init__(self, round: int) -> None:
        self.round = round

    def __call__(self, t: int, metrics) -> None:
        if t == self.round:
            signal.raise_signal(signal.SIGINT)


def planned(blobs: Dataset, experiment: dpdl.Experiment = SMALL, **more: Any) -> Plan:
    return plan(experiment, **{"data": blobs, "model": small_module(), **more})
